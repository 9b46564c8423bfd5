// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

const (
	// pageSize is the number of nodes on a page of a list.
	pageSize = 50
	// maxExcerpt bounds the length of a last error in a list, in bytes.
	maxExcerpt = 200
)

// summary is a node in a list.
type summary struct {
	UUID        string       `json:"uuid"`
	Name        string       `json:"name"`
	State       states.State `json:"state"`
	Target      states.State `json:"target"` // null for none
	Since       time.Time    `json:"since,omitzero"`
	LastError   string       `json:"last_error"`
	Maintenance bool         `json:"maintenance"`
	Overdue     bool         `json:"overdue"` // whether the node is in its state for longer than expected
}

// summaryOf returns the entry of a node.
func (e *Explorer) summaryOf(n *conductor.Node) summary {
	return summary{n.UUID, n.Name, n.ProvisionState, n.TargetProvisionState, n.StateSince(), n.LastError, n.Maintenance, e.isOverdue(n)}
}

// isOverdue reports whether a node is in its state for longer than expected. A list asks it of all nodes, most of which
// are in states without an expected time.
func (e *Explorer) isOverdue(n *conductor.Node) bool {
	return e.expected[n.ProvisionState] > 0 && e.expected.Overdue(n.ProvisionState, n.StateSince(), time.Now())
}

// list is a page of nodes.
type list struct {
	Nodes []summary `json:"nodes"`
	Next  string    `json:"next"` // the position of the next page, empty if no further nodes follow
}

// nodes responds with a page of nodes, first the overdue ones, both oldest first. The query parameters are the state,
// a part of the name or UUID, failed, maintenance and overdue, which leave out other nodes unless they are empty; and
// after, the position that the page before has named. A node that becomes overdue while a client reads page after page
// is missing from its later pages.
func (e *Explorer) nodes(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	state, err := states.Parse(cmp.Or(query.Get("state"), states.NoState.String()))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	after, err := parsePosition(query.Get("after"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	nodes, err := e.conductor.Nodes(r.Context())
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "the nodes have not been read yet")
		return
	}
	find := strings.ToLower(query.Get("find"))
	wanted := func(n *conductor.Node, overdue bool) bool {
		return (state == states.NoState || n.ProvisionState == state) &&
			(query.Get("failed") == "" || e.conductor.Table().Phase(n.ProvisionState) == states.PhaseFailed) &&
			(query.Get("maintenance") == "" || n.Maintenance) &&
			(query.Get("overdue") == "" || overdue) &&
			(strings.Contains(strings.ToLower(n.Name), find) || strings.Contains(n.UUID, find))
	}
	found := list{Nodes: []summary{}}
	shown, next := pageOf(nodes, after, e.isOverdue, wanted)
	found.Next = next.String()
	for _, n := range shown {
		row := e.summaryOf(n)
		row.LastError = excerpt(masked.Text(row.LastError))
		found.Nodes = append(found.Nodes, row)
	}
	reply(w, http.StatusOK, found)
}

// position is a place in the list of nodes: after a node, which may have been deleted since, among the overdue nodes or
// among the others. The zero value is the beginning of the list.
type position struct {
	created time.Time
	uuid    string
	overdue bool
}

// String returns the position as "overdue,TIME,UUID" or "other,TIME,UUID", empty for the beginning.
func (p position) String() string {
	if p.uuid == "" {
		return ""
	}
	among := "other"
	if p.overdue {
		among = "overdue"
	}
	return among + "," + p.created.Format(time.RFC3339Nano) + "," + p.uuid
}

// parsePosition is the inverse of String.
func parsePosition(text string) (p position, err error) {
	if text == "" {
		return p, nil
	}
	among, rest, _ := strings.Cut(text, ",")
	created, uuid, _ := strings.Cut(rest, ",")
	if p.created, err = time.Parse(time.RFC3339Nano, created); err != nil || uuid == "" || among != "overdue" && among != "other" {
		return position{}, fmt.Errorf("after is %q: want what next of a page was", excerpt(text))
	}
	p.uuid, p.overdue = uuid, among == "overdue"
	return p, nil
}

// isBefore reports whether a node follows the position in the list of all nodes.
func (p position) isBefore(n *conductor.Node) bool {
	return cmp.Or(p.created.Compare(n.CreatedAt), cmp.Compare(p.uuid, n.UUID)) < 0
}

// pageOf returns the wanted nodes after a position, first the overdue ones, at most pageSize, and the position of the
// next page, the beginning if no further nodes follow.
func pageOf(
	nodes []*conductor.Node, p position, isOverdue func(*conductor.Node) bool, wanted func(n *conductor.Node, overdue bool) bool,
) (page []*conductor.Node, next position) {
	var overdue, others []*conductor.Node
	for _, n := range nodes {
		late := isOverdue(n)
		follows := p.uuid == "" || p.isBefore(n)
		if p.uuid != "" && p.overdue != late {
			follows = p.overdue // all others follow the overdue nodes
		}
		switch {
		case !follows || !wanted(n, late):
		case late:
			overdue = append(overdue, n)
		case len(others) <= pageSize:
			others = append(others, n)
		}
		if len(overdue) > pageSize {
			break
		}
	}
	page = append(overdue, others...)
	if len(page) > pageSize {
		page = page[:pageSize]
		last := page[pageSize-1]
		next = position{last.CreatedAt, last.UUID, len(overdue) >= pageSize}
	}
	return page, next
}

// excerpt returns the beginning of a text.
func excerpt(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	end := maxExcerpt
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// details is a node with its history and its explanation.
type details struct {
	summary
	Power             states.Power `json:"power"` // null if unknown
	MaintenanceReason string       `json:"maintenance_reason"`
	Driver            string       `json:"driver"`
	ResourceClass     string       `json:"resource_class"`
	Conductor         string       `json:"conductor"`
	Reservation       string       `json:"reservation"`
	explanation
}

// node responds with one node.
func (e *Explorer) node(w http.ResponseWriter, r *http.Request) {
	n, err := e.conductor.Node(r.Context(), r.PathValue("ident"))
	switch {
	case errors.Is(err, conductor.NotFound):
		refuse(w, http.StatusNotFound, "there is no such node")
		return
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, "the node cannot be read now")
		return
	}
	history, err := e.conductor.History(r.Context(), n.UUID)
	if err != nil && !errors.Is(err, conductor.NotFound) {
		refuse(w, http.StatusServiceUnavailable, "the node's history cannot be read now")
		return
	}
	explained := explain(e.conductor.Table(), n, history)
	if e.isOverdue(n) {
		explained.Why = append(explained.Why, fmt.Sprintf("The node is overdue: it was expected to leave this state within %v.",
			e.expected[n.ProvisionState]))
	}
	reply(w, http.StatusOK, details{
		summary: e.summaryOf(n), Power: n.Power, MaintenanceReason: n.MaintenanceReason, Driver: n.Driver,
		ResourceClass: n.ResourceClass, Conductor: n.Conductor, Reservation: n.Reservation,
		explanation: explained,
	})
}
