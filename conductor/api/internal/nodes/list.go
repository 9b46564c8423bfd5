// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// listing is a list of nodes: GET /v1/nodes, or of the nodes of the chassis in the path.
type listing struct {
	ofChassis bool
	details   bool // the path ends in /detail
}

// serve answers the request.
func (l listing) serve(r *rest.Request) (rest.Answer, error) {
	path, names := "nodes", slices.Clone(rest.PageArgs)
	for _, f := range filters {
		if f.since <= r.Highest {
			names = append(names, f.name)
		}
	}
	if l.details {
		path = "nodes/detail"
	} else {
		names = append(names, "fields", "detail")
	}
	a := r.QueryArgs(names...)
	if l.ofChassis {
		a.Values["chassis_uuid"] = r.Param(0)
	}
	// The types of these arguments are checked in Ironic's order.
	a.UUID("chassis_uuid")
	a.UUID("instance_uuid")
	a.Boolean("associated")
	a.Boolean("maintenance")
	a.Boolean("retired")
	a.UUID("marker")
	a.Integer("limit")
	fields, detail := rest.FieldSet(a.List("fields")), a.Boolean("detail")
	a.Boolean("sharded")
	p := a.Page((*rest.Args).UUID)
	if a.Err != nil {
		return rest.Answer{}, a.Err
	}
	if err := allowFields(r, fields); err != nil {
		return rest.Answer{}, err
	}
	if err := l.checkVersions(r, a, p.SortKey); err != nil {
		return rest.Answer{}, err
	}
	chosen := fields
	if !l.details {
		var err error
		if chosen, err = r.ChooseFields(fields, detail, defaultFields, since.Detail); err != nil {
			return rest.Answer{}, err
		}
	}
	if err := p.Check(r); err != nil {
		return rest.Answer{}, err
	}
	compare, wrongKey := order(r, p.SortKey)
	if slices.Contains(unordered, p.SortKey) {
		return rest.Answer{}, wrongKey
	}
	in := conductor.Range{After: p.Marker, Backwards: p.Direction == "desc"}
	children, parent := a.Boolean("include_children"), a.Text("parent_node")
	if children == nil || !*children {
		in.Of = &parent // empty for the nodes without a parent
	}
	all, err := r.Conductor.NodesIn(r.Context(), in)
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, rest.NodeNotFound(p.Marker)
	}
	if err != nil {
		return rest.Answer{}, err
	}
	tests, err := tests(r, a)
	if err = cmp.Or(err, wrongKey); err != nil {
		return rest.Answer{}, err
	}
	passes := func(n *node) bool {
		return !slices.ContainsFunc(tests, func(test func(*node) bool) bool { return !test(n) })
	}
	var nodes []*node
	if compare == nil {
		nodes = rest.First(all, p.Size, passes)
	} else {
		if nodes, err = r.Conductor.Nodes(r.Context()); err != nil {
			return rest.Answer{}, err
		}
		nodes = slices.DeleteFunc(nodes, func(n *node) bool {
			return n.UUID != p.Marker && (in.Of != nil && n.ParentNode != parent || !passes(n))
		})
		nodes, _ = rest.Cut(p, nodes, compare, func(n *node) string { return n.UUID })
	}
	if len(nodes) > 0 { // Ironic checks the fields of each node
		if err := checkFields(r, fields); err != nil {
			return rest.Answer{}, err
		}
	}
	if a.Given("instance_uuid") {
		p.Size = 0 // at most one node has an instance, so that no page follows
	}
	parameters := nextParameters(p, a, detail)
	// The answer is written in pieces, since a list with details may be large.
	return rest.Answer{Status: http.StatusOK, Write: func(w *wire.Writer) {
		w.Open()
		w.Key("nodes").OpenList()
		for _, n := range nodes {
			Write(r, w, n, chosen)
		}
		w.CloseList()
		if len(nodes) > 0 {
			p.WriteNext(w, r, path, chosen, parameters, len(nodes), nodes[len(nodes)-1].UUID)
		}
		w.Close()
	}}, nil
}

// nextParameters returns the parameters of the link to the next page.
func nextParameters(p rest.Page, a *rest.Args, detail *bool) []string {
	parameters := p.SortParameters()
	for _, name := range []string{"associated", "maintenance", "retired"} {
		if v := a.Boolean(name); v != nil && *v {
			parameters = append(parameters, name+"=True")
		}
	}
	if detail != nil {
		parameters = append(parameters, "detail="+fault.Repr(*detail))
	}
	for _, f := range filters {
		if v, ok := a.Values[f.name].(string); ok && !slices.ContainsFunc(parameters, func(p string) bool { return strings.HasPrefix(p, f.name+"=") }) {
			parameters = append(parameters, f.name+"="+url.QueryEscape(v))
		}
	}
	return parameters
}

// unordered are the fields whose values have no order. As a sort key they are refused before the marker is
// looked for, and other wrong sort keys after that.
//
// Source: invalid_sort_key_list in ironic/api/controllers/v1/node.py.
var unordered = []string{
	"properties", "driver_info", "extra", "instance_info", "driver_internal_info", "clean_step", "deploy_step",
	"raid_config", "target_raid_config", "traits", "network_data",
}

// order returns the comparison of a sort key, nil for the key "id", which is the order of
// creation.
func order(r *rest.Request, key string) (func(a, b *node) int, error) {
	if key == "id" {
		return nil, nil
	}
	f := fieldsByName[key]
	switch {
	case f != nil && f.compare != nil:
		return func(a, b *node) int { return f.compare(r, a, b) }, nil
	case slices.Contains(unordered, key):
		return nil, fault.Invalid("The sort_key value %s is an invalid field for sorting", key)
	default:
		return nil, fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(key))
	}
}
