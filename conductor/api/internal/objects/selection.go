// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// selection is the set of records in a list.
type selection struct {
	node  *string               // the UUID of the node to which the records belong, or of the parent of nodes, empty for none; nil for any
	one   bool                  // at most one record is selected, so that the sort key and the marker are ignored
	last  bool                  // the response has no link to the next page
	tests []func(o record) bool // a record is selected if all of them return true
}

// where excludes the records for which test returns false.
func (s *selection) where(test func(o record) bool) { s.tests = append(s.tests, test) }

// ofNode excludes the records of other nodes.
func (s *selection) ofNode(uuid string) {
	s.node = &uuid
	s.where(func(o record) bool { return o.(conductor.Object).Meta().NodeUUID == uuid })
}

// whereNode excludes the records of the nodes for which test returns false.
func (s *selection) whereNode(r *rest.Request, test func(n *conductor.Node) bool) error {
	nodes, err := r.Conductor.Nodes(r.Context())
	if err != nil {
		return err
	}
	of := map[string]bool{}
	for _, n := range nodes {
		if test(n) {
			of[n.UUID] = true
		}
	}
	s.where(func(o record) bool { return of[o.(conductor.Object).Meta().NodeUUID] })
	return nil
}

// has reports whether a record is selected.
func (s *selection) has(o record) bool {
	return !slices.ContainsFunc(s.tests, func(test func(record) bool) bool { return !test(o) })
}

// page returns a page of the selected records. It refuses a sort key that the resource does not have.
func (s *selection) page(r *rest.Request, x *resource, p rest.Page) ([]record, error) {
	if s.one {
		p.Marker, p.SortKey = "", ""
	}
	key, err := x.sortKey(r, p.SortKey)
	if err != nil {
		return nil, err
	}
	if key == nil {
		within := conductor.Range{Of: s.node, After: p.Marker, Backwards: p.Direction == "desc"}
		records, err := x.store.in(r, within, p.Size, s.has)
		if errors.Is(err, conductor.NotFound) {
			return nil, x.notFound(p.Marker)
		}
		return records, err
	}
	records, err := x.store.all(r, func(o record) bool { return x.store.meta(o).UUID == p.Marker || s.has(o) })
	if err != nil {
		return nil, err
	}
	keys := make(map[record]any, len(records))
	for _, o := range records {
		keys[o] = key(o)
	}
	compare := func(a, b record) int { return compareValues(keys[a], keys[b]) }
	records, found := rest.Cut(p, records, compare, func(o record) string { return x.store.meta(o).UUID })
	if !found {
		return nil, x.notFound(p.Marker)
	}
	return records, nil
}

// parent is the kind of resource above a list, such as the node above its ports.
type parent struct {
	group  string // filters with this group are ignored
	filter string // the filter that the path sets, in place of choose; empty for none
	// choose selects the records below the parent that the path names.
	choose func(r *rest.Request, s *selection) error
}

// ofNode selects the records of the node in the path.
var ofNode = &parent{group: "node", choose: func(r *rest.Request, s *selection) error {
	n, err := r.FindNode(r.Param(0))
	if err == nil {
		s.ofNode(n.UUID)
	}
	return err
}}

// ofPortNode selects the ports or port groups of the node in the path. If the node does not exist, Ironic says that the
// port group None does not exist: it has one text for the lists below a node and those below a port group.
//
// Source: check_port_list_policy in ironic/api/controllers/v1/utils.py.
var ofPortNode = &parent{group: "node", choose: func(r *rest.Request, s *selection) error {
	err := ofNode.choose(r, s)
	if err != nil && fault.Of(err).Status == http.StatusNotFound {
		return fault.NotFound("Portgroup None could not be found.")
	}
	return err
}}

// ofPortGroup selects the ports of the port group in the path.
var ofPortGroup = &parent{group: "portgroup", choose: func(r *rest.Request, s *selection) error {
	return selectPortGroup(r, r.Param(0), s)
}}

// selectPortGroup selects the ports of a port group. A port that moves to another node keeps its group.
func selectPortGroup(r *rest.Request, ident string, s *selection) error {
	group, err := portGroupResource.find(r, ident)
	if err != nil {
		return err
	}
	uuid := group.(*conductor.PortGroup).UUID
	s.where(func(o record) bool { return o.(*conductor.Port).PortGroupUUID == uuid })
	return nil
}
