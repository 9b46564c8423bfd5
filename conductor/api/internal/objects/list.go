// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// listing is a request for a list of a resource's records.
type listing struct {
	*resource
	parent  *parent // nil for the list of all records
	details bool    // the path ends in /detail
}

// parent describes the resource above a list, such as the node above its ports.
type parent struct {
	group string // the filters with this group are ignored
	// choose selects the records of the resource that the path names.
	choose func(r *rest.Request, s *selection) error
}

// selection is the set of records in a list.
type selection struct {
	node  string // the UUID of the node to which the records belong; empty for any
	one   bool   // at most one record is selected, so that the sort key and the marker are ignored
	tests []func(o conductor.Object) bool
}

func (s *selection) where(test func(o conductor.Object) bool) { s.tests = append(s.tests, test) }

// ofNode selects the records of a node.
func (s *selection) ofNode(uuid string) {
	s.node = uuid
	s.where(func(o conductor.Object) bool { return o.Meta().NodeUUID == uuid })
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

// serve answers the request.
func (l listing) serve(r *rest.Request) (rest.Answer, error) {
	names := slices.Clone(rest.PageArgs)
	if !l.details {
		names = append(names, "fields")
		if l.list.defaults != nil {
			names = append(names, "detail")
		}
	}
	for _, f := range l.list.filters {
		if f.since <= r.Highest {
			names = append(names, f.name)
		}
	}
	a := r.QueryArgs(names...)
	l.checkTypes(a, true)
	marker := (*rest.Args).UUID
	if l.list.marker != nil {
		marker = l.list.marker
	}
	p, fields := a.Page(marker), rest.FieldSet(a.List("fields"))
	l.checkTypes(a, false)
	detail := a.Boolean("detail")
	if err := r.Accept(a); err != nil {
		return rest.Answer{}, err
	}
	s := &selection{}
	if l.parent != nil {
		if err := l.parent.choose(r, s); err != nil {
			return rest.Answer{}, err
		}
	}
	fields, err := l.chooseFields(r, a, p, fields, detail)
	if err != nil {
		return rest.Answer{}, err
	}
	if err := p.Check(r); err != nil {
		return rest.Answer{}, err
	}
	if err := l.checkOrder(r, p); err != nil {
		return rest.Answer{}, err
	}
	if err := l.applyFilters(a, r, s); err != nil {
		return rest.Answer{}, err
	}
	var compare func(a, b conductor.Object) int
	if !s.one {
		if compare, err = l.order(r, p.SortKey); err != nil {
			return rest.Answer{}, err
		}
	}
	objects, err := s.page(r, l.resource, p, compare)
	if err != nil {
		return rest.Answer{}, err
	}
	if len(objects) > 0 {
		if err := l.checkFields(r, fields); err != nil {
			return rest.Answer{}, err
		}
	}
	return l.page(r, p, objects, fields, l.parameters(p, a, detail)), nil
}

// checkTypes checks the types of the filters that come before the parameters of the page, or of the others.
func (l listing) checkTypes(a *rest.Args, early bool) {
	for _, f := range l.list.filters {
		if early == (l.list.early == nil || slices.Contains(l.list.early, f.name)) {
			f.decode(a, f.name)
		}
	}
}

// checkOrder refuses a marker that names no record, and a sort key whose values have no order.
func (l listing) checkOrder(r *rest.Request, p rest.Page) error {
	var unsortable error
	if f := l.field(p.SortKey); f != nil {
		_, isObject := f.zero.(map[string]any)
		_, isList := f.zero.([]any)
		if isObject || isList {
			unsortable = fault.Invalid("The sort_key value %s is an invalid field for sorting", p.SortKey)
		}
	}
	switch {
	case l.list.sortKeyFirst && unsortable != nil:
		return unsortable
	case p.Marker == "":
		return unsortable
	case !rest.IsUUID(p.Marker):
		return l.notFound(p.Marker)
	}
	if _, err := find(r, l.resource, p.Marker); err != nil {
		return err
	}
	return unsortable
}

// chooseFields returns the fields to show. It refuses parameters and fields that are newer than the API version.
func (l listing) chooseFields(r *rest.Request, a *rest.Args, p rest.Page, fields rest.FieldSet, detail *bool) (rest.FieldSet, error) {
	if err := l.allowFields(r, fields); err != nil {
		return nil, err
	}
	if f := l.field(p.SortKey); f != nil && !l.list.newSortKeys && !f.is(readOnly) && f.since > r.Version && f.since <= r.Highest {
		return nil, fault.NotAcceptable
	}
	for _, f := range l.list.filters {
		switch {
		case !a.Has(f.name) || f.since <= r.Version:
		case f.old != nil:
			return nil, f.old
		default:
			return nil, fault.TooOld(f.since)
		}
	}
	above := strings.Split(r.URL.Path, "/")
	switch {
	case l.details && above[len(above)-2] != l.path: // a record has no details
		return nil, fault.NoSuchResource
	case l.details:
		return nil, nil
	case l.list.detailSince == 0 && len(fields) > 0 && detail != nil && *detail:
		return nil, fault.Invalid("Can't fetch a subset of fields with 'detail' set")
	default:
		return r.ChooseFields(fields, detail, l.list.defaults, l.list.detailSince)
	}
}

// applyFilters applies the filters of the request.
func (l listing) applyFilters(a *rest.Args, r *rest.Request, s *selection) error {
	groups, chosen := map[string]bool{}, ""
	if l.parent != nil {
		chosen = l.parent.group
		groups[chosen] = true
	}
	for _, f := range l.list.filters {
		if f.group != "" && a.Given(f.name) {
			groups[f.group] = true
		}
	}
	delete(groups, "address") // it never conflicts
	if len(groups) > 1 && l.list.oneFilter {
		return fault.NotPermitted
	}
	for _, f := range l.list.filters {
		if !a.Has(f.name) || f.group != "" && (chosen != "" || !a.Given(f.name)) {
			continue
		}
		chosen = cmp.Or(chosen, f.group)
		f.apply(a, r, s)
	}
	return a.Err
}

// parameters returns the query parameters of the link to the next page.
func (l listing) parameters(p rest.Page, a *rest.Args, detail *bool) []string {
	parameters := p.SortParameters()
	if detail != nil {
		parameters = append(parameters, "detail="+fault.Repr(*detail))
	}
	for _, f := range l.list.filters {
		if v, ok := a.Values[f.name].(string); ok {
			parameters = append(parameters, f.name+"="+url.QueryEscape(v))
		}
	}
	return parameters
}

func (l listing) page(r *rest.Request, p rest.Page, objects []conductor.Object, fields rest.FieldSet, parameters []string) rest.Answer {
	next := l.path
	if l.details {
		next += "/detail"
	}
	return rest.Answer{Status: http.StatusOK, Write: func(w *wire.Writer) {
		w.Open()
		w.Key(path.Base(l.path)).OpenList()
		for _, o := range objects {
			l.show(w, r, o, fields)
		}
		w.CloseList()
		if len(objects) > 0 {
			p.WriteNext(w, r, next, fields, parameters, len(objects), objects[len(objects)-1].Meta().UUID)
		}
		w.Close()
	}}
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

// selectPortGroup selects the ports of a port group.
func selectPortGroup(r *rest.Request, ident string, s *selection) error {
	group, err := find(r, portGroupResource, ident)
	if err != nil {
		return err
	}
	m := group.Meta()
	s.ofNode(m.NodeUUID)
	s.where(func(o conductor.Object) bool { return o.(*conductor.Port).PortGroupUUID == m.UUID })
	return nil
}

// filter is a query parameter that filters a list.
type filter struct {
	name  string
	since states.APIVersion
	// group names the property that the filter tests, such as the node. Of the filters with a
	// group only the first that is given applies; those without one apply in addition.
	group string
	// old is the fault below the version since; nil stands for one that names it.
	old error
	// checkTypes checks the type of the parameter.
	decode func(a *rest.Args, name string)
	apply  func(a *rest.Args, r *rest.Request, s *selection)
}

// byNode filters records by node.
func byNode(name string) filter {
	f := filter{name: name, group: "node", decode: decodeIdent, apply: func(a *rest.Args, r *rest.Request, s *selection) {
		ident := a.Ident(name)
		if !rest.IsUUID(ident) && r.Version < since.Names {
			a.Err = fault.NotAcceptable
			return
		}
		n, err := r.NodeNamed(ident)
		if err != nil {
			a.Err = err
			return
		}
		s.ofNode(n.UUID)
	}}
	if name == "node_uuid" {
		f.decode = func(a *rest.Args, name string) { a.UUID(name) }
	}
	return f
}

// byText filters records by the value of a string field.
func byText(name string) filter {
	return filter{name: name, decode: decodeText, apply: func(a *rest.Args, _ *rest.Request, s *selection) {
		want := a.Text(name)
		s.where(func(o conductor.Object) bool { return fieldOf(o, name).load(o) == want })
	}}
}

// byAddress filters records by MAC address.
var byAddress = filter{
	name: "address", group: "address", decode: func(a *rest.Args, name string) { a.MAC(name) },
	apply: func(a *rest.Args, _ *rest.Request, s *selection) {
		address := a.MAC("address")
		s.where(func(o conductor.Object) bool { return fieldOf(o, "address").load(o) == address })
		s.one = true
	},
}

// ignoredProject is a parameter that Ironic accepts and ignores.
var ignoredProject = filter{name: "project", decode: func(*rest.Args, string) {}, apply: func(*rest.Args, *rest.Request, *selection) {}}

func decodeIdent(a *rest.Args, name string) { a.Ident(name) }
func decodeText(a *rest.Args, name string)  { a.Text(name) }
func decodeList(a *rest.Args, name string)  { a.List(name) }
