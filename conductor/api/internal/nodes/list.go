// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"iter"
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

// listRequest is a request for a list of nodes, with the results of its checks.
type listRequest struct {
	r      *rest.Request
	args   *rest.Args
	fields rest.FieldSet // the argument fields
	detail *bool         // the argument detail
	page   rest.Page

	shown   rest.FieldSet        // set by fieldsChosen
	within  conductor.Range      // set by markerExists
	all     iter.Seq[*node]      // the nodes in this range, set by markerExists
	tests   []func(n *node) bool // that a node in the list passes, set by filtersApply
	compare func(a, b *node) int // set by sortKeyExists; nil for the order of creation
}

// The checks of a request for a list, in Ironic's order.
//
// Source: get_all, detail and _get_nodes_collection in ironic/api/controllers/v1/node.py.
var (
	listOrder = []func(q *listRequest) error{
		listFieldsAllowed, sortKeyNotNewer, filtersValid(func(string) bool { return true }), fieldsChosen, pageValid, sortKeyHasOrder,
		markerExists, filtersApply, sortKeyExists,
	}
	detailOrder = []func(q *listRequest) error{
		filtersValid(func(name string) bool { return !slices.Contains(lateFilters, name) }), sortKeyNotNewer, belowNodes,
		filtersValid(func(name string) bool { return slices.Contains(lateFilters, name) }), pageValid, sortKeyHasOrder,
		markerExists, filtersApply, sortKeyExists,
	}
)

// serve answers the request.
func (l listing) serve(r *rest.Request) (rest.Answer, error) {
	path, order, names := "nodes", listOrder, slices.Clone(rest.PageArgs)
	for _, f := range filters {
		if f.since <= r.Highest {
			names = append(names, f.name)
		}
	}
	if l.details {
		path, order = "nodes/detail", detailOrder
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
	q := &listRequest{r: r, args: a, fields: a.List("fields"), detail: a.Boolean("detail")}
	a.Boolean("sharded")
	if q.page = a.Page((*rest.Args).UUID); a.Err != nil {
		return rest.Answer{}, a.Err
	}
	for _, check := range order {
		if err := check(q); err != nil {
			return rest.Answer{}, err
		}
	}
	nodes, err := q.nodes()
	if err != nil {
		return rest.Answer{}, err
	}
	if len(nodes) > 0 { // Ironic checks the fields of each node
		if err := checkFields(r, q.fields); err != nil {
			return rest.Answer{}, err
		}
	}
	if a.Given("instance_uuid") {
		q.page.Size = 0 // at most one node has an instance, so that no page follows
	}
	parameters := nextParameters(q.page, a, q.detail)
	// The answer is written in pieces, since a list with details may be large.
	return rest.Answer{Status: http.StatusOK, Write: func(w *wire.Writer) {
		w.Open()
		w.Key("nodes").OpenList()
		for _, n := range nodes {
			Write(r, w, n, q.shown)
		}
		w.CloseList()
		if len(nodes) > 0 {
			q.page.WriteNext(w, r, path, q.shown, parameters, len(nodes), nodes[len(nodes)-1].UUID)
		}
		w.Close()
	}}, nil
}

// listFieldsAllowed refuses fields that are newer than the version of the request.
func listFieldsAllowed(q *listRequest) error { return allowFields(q.r, q.fields) }

// sortKeyNotNewer refuses a sort key that is newer than the version of the request.
func sortKeyNotNewer(q *listRequest) error {
	if f := fieldsByName[q.page.SortKey]; f != nil && f.since > q.r.Version {
		return fault.NotAcceptable
	}
	return nil
}

// belowNodes refuses the path to the details of a node, which has none.
func belowNodes(q *listRequest) error {
	if parents := strings.Split(q.r.URL.Path, "/"); parents[len(parents)-2] != "nodes" {
		return fault.NoSuchResource
	}
	return nil
}

// fieldsChosen chooses the fields to show. It refuses contradictory arguments.
func fieldsChosen(q *listRequest) (err error) {
	q.shown, err = q.r.ChooseFields(q.fields, q.detail, defaultFields, since.Detail)
	return err
}

// pageValid refuses an invalid size or direction of the page.
func pageValid(q *listRequest) error { return q.page.Check(q.r) }

// sortKeyHasOrder refuses a field whose values have no order.
func sortKeyHasOrder(q *listRequest) error {
	if slices.Contains(unordered, q.page.SortKey) {
		return fault.Invalid("The sort_key value %s is an invalid field for sorting", q.page.SortKey)
	}
	return nil
}

// markerExists finds the nodes behind the marker, which must exist, with the parent of the request.
func markerExists(q *listRequest) (err error) {
	q.within = conductor.Range{After: q.page.Marker, Backwards: q.page.Direction == "desc"}
	if children, parent := q.args.Boolean("include_children"), q.args.Text("parent_node"); children == nil || !*children {
		q.within.Of = &parent // empty for the nodes without a parent
	}
	q.all, err = q.r.Conductor.NodesIn(q.r.Context(), q.within)
	if errors.Is(err, conductor.NotFound) {
		return rest.NodeNotFound(q.page.Marker)
	}
	return err
}

// sortKeyExists refuses a sort key that is no field with an order.
func sortKeyExists(q *listRequest) error {
	key := q.page.SortKey
	f := fieldsByName[key]
	switch {
	case key == "id":
		return nil
	case f == nil || f.compare == nil:
		return fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(key))
	default:
		q.compare = func(a, b *node) int { return f.compare(q.r, a, b) }
		return nil
	}
}

// nodes returns the nodes on the page.
func (q *listRequest) nodes() ([]*node, error) {
	passes := func(n *node) bool {
		return !slices.ContainsFunc(q.tests, func(test func(*node) bool) bool { return !test(n) })
	}
	if q.compare == nil {
		return rest.First(q.all, q.page.Size, passes), nil
	}
	nodes, err := q.r.Conductor.Nodes(q.r.Context())
	if err != nil {
		return nil, err
	}
	nodes = slices.DeleteFunc(nodes, func(n *node) bool {
		return n.UUID != q.page.Marker && (q.within.Of != nil && n.ParentNode != *q.within.Of || !passes(n))
	})
	nodes, _ = rest.Cut(q.page, nodes, q.compare, func(n *node) string { return n.UUID })
	return nodes, nil
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
