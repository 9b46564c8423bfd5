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
	node  string                          // the UUID of the node to which the records belong; empty for any
	one   bool                            // at most one record is selected, so that the sort key and the marker are ignored
	tests []func(o conductor.Object) bool // a record is selected if all of them return true
}

// where excludes the records for which test returns false.
func (s *selection) where(test func(o conductor.Object) bool) { s.tests = append(s.tests, test) }

// ofNode excludes the records of other nodes.
func (s *selection) ofNode(uuid string) {
	s.node = uuid
	s.where(func(o conductor.Object) bool { return o.Meta().NodeUUID == uuid })
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
	s.where(func(o conductor.Object) bool { return of[o.Meta().NodeUUID] })
	return nil
}

// has reports whether a record is selected.
func (s *selection) has(o conductor.Object) bool {
	return !slices.ContainsFunc(s.tests, func(test func(conductor.Object) bool) bool { return !test(o) })
}

// page returns a page of the selected records. compare sorts them; if it is nil, they are in the order of creation.
func (s *selection) page(r *rest.Request, x *resource, p rest.Page, compare func(a, b conductor.Object) int) ([]conductor.Object, error) {
	if s.one {
		p.Marker = ""
	}
	if compare == nil {
		in := conductor.Range{After: p.Marker, Backwards: p.Direction == "desc"}
		if s.node != "" {
			in.Of = &s.node
		}
		all, err := r.Conductor.ObjectsIn(r.Context(), x.of.Kind(), in)
		if errors.Is(err, conductor.NotFound) {
			return nil, x.notFound(p.Marker)
		}
		if err != nil {
			return nil, err
		}
		return rest.First(all, p.Size, s.has), nil
	}
	objects, err := r.Conductor.Objects(r.Context(), x.of.Kind())
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(o conductor.Object) bool { return o.Meta().UUID != p.Marker && !s.has(o) })
	objects, found := rest.Cut(p, objects, compare, func(o conductor.Object) string { return o.Meta().UUID })
	if !found {
		return nil, x.notFound(p.Marker)
	}
	return objects, nil
}

// parent is the kind of resource above a list, such as the node above its ports.
type parent struct {
	group string // filters with this group are ignored
	// choose selects the records below the parent that the path names.
	choose func(r *rest.Request, s *selection) error
}

// ofNode selects the records of the node in the path.
var ofNode = &parent{"node", func(r *rest.Request, s *selection) error {
	n, err := r.Node(r.Param(0))
	if err == nil {
		s.ofNode(n.UUID)
	}
	return err
}}

// ofPortNode selects the ports or port groups of the node in the path. If the node does not exist, Ironic says that the port
// group None does not exist: it has one text for the lists below a node and those below a port group.
//
// Source: check_port_list_policy in ironic/api/controllers/v1/utils.py.
var ofPortNode = &parent{"node", func(r *rest.Request, s *selection) error {
	err := ofNode.choose(r, s)
	if err != nil && fault.Of(err).Status == http.StatusNotFound {
		return fault.NotFound("Portgroup None could not be found.")
	}
	return err
}}

// ofPortGroup selects the ports of the port group in the path.
var ofPortGroup = &parent{"portgroup", func(r *rest.Request, s *selection) error {
	return selectPortGroup(r, r.Param(0), s)
}}

// selectPortGroup selects the ports of a port group. A port that moves to another node keeps its group.
func selectPortGroup(r *rest.Request, ident string, s *selection) error {
	group, err := portGroupResource.find(r, ident)
	if err != nil {
		return err
	}
	uuid := group.Meta().UUID
	s.where(func(o conductor.Object) bool { return o.(*conductor.Port).PortGroupUUID == uuid })
	return nil
}
