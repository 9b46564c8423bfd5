// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// historyOrders has the fields by which a history can be sorted since 2025.1. A nil order keeps the order
// of [conductor.Conductor.History], which has the oldest entry first: the history of a node has one node_id, and no
// updated_at.
//
// Source: NodeHistory in ironic/db/sqlalchemy/models.py.
var historyOrders = map[string]func(a, b *conductor.HistoryEntry) int{
	"id": nil, "node_id": nil, "updated_at": nil,
	"created_at": func(a, b *conductor.HistoryEntry) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"uuid":       historyText(func(e *conductor.HistoryEntry) string { return e.UUID }),
	"severity":   historyText(func(e *conductor.HistoryEntry) string { return e.Severity }),
	"event":      historyText(func(e *conductor.HistoryEntry) string { return e.Event }),
	"event_type": historyText(func(e *conductor.HistoryEntry) string { return e.EventType }),
	"conductor":  historyText(func(e *conductor.HistoryEntry) string { return e.Conductor }),
	"user":       historyText(func(e *conductor.HistoryEntry) string { return e.User }),

	"project":                historyText(func(e *conductor.HistoryEntry) string { return e.Project }),
	"state":                  historyText(func(e *conductor.HistoryEntry) string { return stateText(e.State) }),
	"target_provision_state": historyText(func(e *conductor.HistoryEntry) string { return stateText(e.TargetProvisionState) }),
	"duration_seconds": func(a, b *conductor.HistoryEntry) int {
		return cmp.Compare(secondsOrNone(a.DurationSeconds), secondsOrNone(b.DurationSeconds))
	},
}

// laterHistoryOrders are the fields that a history has since 2026.2.
var laterHistoryOrders = []string{"project", "state", "target_provision_state", "duration_seconds"}

// stateText returns the name of a state, empty for none, which comes first.
func stateText(s states.State) string {
	if s == states.NoState {
		return ""
	}
	return s.String()
}

// secondsOrNone returns a duration, or for none a number that comes first.
func secondsOrNone(seconds *int) int {
	if seconds == nil {
		return -1
	}
	return *seconds
}

func historyText(of func(*conductor.HistoryEntry) string) func(a, b *conductor.HistoryEntry) int {
	return func(a, b *conductor.HistoryEntry) int { return strings.Compare(of(a), of(b)) }
}

// listHistory answers GET /v1/nodes/NODE/history.
var listHistory = checks{historyArguments, nodeExists, pageValid, orderExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	entries, err := q.Conductor.History(q.Context(), q.node.UUID)
	if err != nil {
		return rest.Answer{}, err
	}
	entries, found := rest.Cut(q.page, entries, historyOrders[q.page.SortKey], func(e *conductor.HistoryEntry) string { return e.UUID })
	if !found {
		return rest.Answer{}, fault.NotFound("Node history record %s could not be found.", q.page.Marker)
	}
	var order []string
	if sortKey.given(q) || sortDir.given(q) {
		order = q.page.SortParameters()
	}
	all := detail.of(q)
	return rest.Object(func(w *wire.Writer) {
		wire.List(w.Key("history"), entries, func(entry *conductor.HistoryEntry) {
			writeHistory(q.Request, w, q.node, entry, all != nil && *all)
		})
		if len(entries) > 0 {
			path, last := "nodes/"+q.Param(0)+"/history", entries[len(entries)-1].UUID
			q.page.WriteNext(w, q.Request, rest.Next{Path: path, Parameters: order, Count: len(entries), Last: last})
		}
	}), nil
})

var (
	sortKey = text("sort_key")
	sortDir = text("sort_dir")
)

// historyArguments reads the arguments, to which the order belongs since 2025.1.
func historyArguments(q *request) error {
	of := []parameter{uuid("marker"), integer("limit")}
	if q.Series >= states.Epoxy {
		of = append(of, sortKey, sortDir)
	}
	return arguments(append(of, detail)...)(q)
}

// pageValid refuses an invalid size or direction of the page.
func pageValid(q *request) error {
	q.page = q.args.Page()
	return q.page.Check(q.Request)
}

// orderExists refuses a sort key that the history does not have in the series.
func orderExists(q *request) error {
	if _, known := historyOrders[q.page.SortKey]; !known || q.Series < states.Hibiscus && slices.Contains(laterHistoryOrders, q.page.SortKey) {
		return fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(q.page.SortKey))
	}
	return nil
}

// showHistory answers GET /v1/nodes/NODE/history/UUID.
var showHistory = checks{identValid("event"), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	o, err := q.Conductor.Object(q.Context(), conductor.KindHistory, q.Param(1))
	if errors.Is(err, conductor.NotFound) || err == nil && o.Meta().NodeUUID != q.node.UUID {
		return rest.Answer{}, fault.NotFound("Node history record %s could not be found.", fault.Show(q.Param(1)))
	}
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Value(func(w *wire.Writer) { writeHistory(q.Request, w, q.node, o.(*conductor.HistoryEntry), true) }), nil
})

// maxEvent is the maximum length in bytes of a history entry's event in lists without detail.
const maxEvent = 255

func writeHistory(r *rest.Request, w *wire.Writer, n *node, entry *conductor.HistoryEntry, detail bool) {
	event := entry.Event
	if !detail && len(event) > maxEvent {
		event = strings.ToValidUTF8(event[:maxEvent-4], "") + "..."
	}
	w.Open()
	w.Key("uuid").Text(entry.UUID)
	w.Key("created_at").Time(&entry.CreatedAt)
	w.Key("severity").TextOrNull(entry.Severity)
	w.Key("event").TextOrNull(event)
	if detail {
		w.Key("event_type").TextOrNull(entry.EventType)
		w.Key("conductor").TextOrNull(entry.Conductor)
		w.Key("user").TextOrNull(entry.User)
		if r.Version >= since.HistoryProject {
			w.Key("project").TextOrNull(entry.Project)
		}
		if r.Version >= since.HistoryState {
			w.Key("state").State(entry.State)
			w.Key("target_provision_state").State(entry.TargetProvisionState)
			if w.Key("duration_seconds"); entry.DurationSeconds != nil {
				w.Integer(*entry.DurationSeconds)
			} else {
				w.Null()
			}
		}
	}
	w.Key("links").OpenList()
	w.Link("self", r.Base(), "/v1/nodes/", n.UUID, "/history/", entry.UUID)
	w.CloseList()
	w.Close()
}
