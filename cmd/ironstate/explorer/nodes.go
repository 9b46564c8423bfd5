// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor"
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
	Since       *time.Time   `json:"since"`
	LastError   string       `json:"last_error"`
	Maintenance bool         `json:"maintenance"`
}

// summaryOf returns the entry of a node.
func summaryOf(n *conductor.Node) summary {
	since := n.ProvisionUpdatedAt
	if since == nil && !n.CreatedAt.IsZero() {
		since = &n.CreatedAt
	}
	return summary{n.UUID, n.Name, n.ProvisionState, n.TargetProvisionState, since, n.LastError, n.Maintenance}
}

// list is a page of nodes.
type list struct {
	Nodes []summary `json:"nodes"`
	More  bool      `json:"more"` // whether further nodes follow
}

// nodes responds with a page of nodes, oldest first. The query parameters are the state, a part of
// the name or UUID, failed and maintenance, which leave out other nodes unless they are empty, and
// the UUID after which the page starts.
func (e *Explorer) nodes(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	state, err := states.Parse(cmp.Or(query.Get("state"), states.NoState.String()))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	nodes, err := e.conductor.Nodes(r.Context())
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "the nodes have not been read yet")
		return
	}
	find, after := strings.ToLower(query.Get("find")), query.Get("after")
	found := list{Nodes: []summary{}}
	for _, n := range nodes {
		if after != "" {
			if n.UUID == after {
				after = ""
			}
			continue
		}
		if state != states.NoState && n.ProvisionState != state ||
			query.Get("failed") != "" && e.conductor.Table().Phase(n.ProvisionState) != states.PhaseFailed ||
			query.Get("maintenance") != "" && !n.Maintenance ||
			!strings.Contains(strings.ToLower(n.Name), find) && !strings.Contains(n.UUID, find) {
			continue
		}
		if len(found.Nodes) == pageSize {
			found.More = true
			break
		}
		row := summaryOf(n)
		row.LastError = excerpt(row.LastError)
		found.Nodes = append(found.Nodes, row)
	}
	reply(w, http.StatusOK, found)
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
	reply(w, http.StatusOK, details{
		summary: summaryOf(n), Power: n.Power, MaintenanceReason: n.MaintenanceReason, Driver: n.Driver,
		ResourceClass: n.ResourceClass, Conductor: n.Conductor, Reservation: n.Reservation,
		explanation: explain(e.conductor.Table(), n, history),
	})
}
