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
func listHistory(r *rest.Request) (rest.Answer, error) {
	names := []string{"detail", "limit", "marker"}
	if r.Series >= states.Epoxy {
		names = append(names, "sort_key", "sort_dir")
	}
	a := r.QueryArgs(names...)
	a.UUID("marker")
	p, detail := a.Page(), a.Boolean("detail")
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	if err := p.Check(r); err != nil {
		return rest.Answer{}, err
	}
	entries, err := r.Conductor.History(r.Context(), n.UUID)
	if err != nil {
		return rest.Answer{}, err
	}
	compare, known := historyOrders[p.SortKey]
	if !known || r.Series < states.Hibiscus && slices.Contains(laterHistoryOrders, p.SortKey) {
		return rest.Answer{}, fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(p.SortKey))
	}
	entries, found := rest.Cut(p, entries, compare, func(e *conductor.HistoryEntry) string { return e.UUID })
	if !found {
		return rest.Answer{}, fault.NotFound("Node history record %s could not be found.", p.Marker)
	}
	var order []string
	if a.Has("sort_key") || a.Has("sort_dir") {
		order = p.SortParameters()
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("history").OpenList()
		for _, entry := range entries {
			writeHistory(r, w, n, entry, detail != nil && *detail)
		}
		w.CloseList()
		if len(entries) > 0 {
			path, last := "nodes/"+r.Param(0)+"/history", entries[len(entries)-1].UUID
			p.WriteNext(w, r, rest.Next{Path: path, Parameters: order, Count: len(entries), Last: last})
		}
	}), nil
}

// showHistory answers GET /v1/nodes/NODE/history/UUID.
func showHistory(r *rest.Request) (rest.Answer, error) {
	event := r.Param(1)
	if err := rest.CheckIdent("event", event); err != nil {
		return rest.Answer{}, err
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	o, err := r.Conductor.Object(r.Context(), conductor.KindHistory, event)
	if errors.Is(err, conductor.NotFound) || err == nil && o.Meta().NodeUUID != n.UUID {
		return rest.Answer{}, fault.NotFound("Node history record %s could not be found.", fault.Show(event))
	}
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Value(func(w *wire.Writer) { writeHistory(r, w, n, o.(*conductor.HistoryEntry), true) }), nil
}

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
