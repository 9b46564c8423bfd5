package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// listing is a request for a list of a resource's records.
type listing struct {
	*resource
	parent  parent // nil for the list of all records
	details bool   // the path ends in /detail
}

// parent selects the records below the resource that the path names.
type parent = func(r *request, s *selection) error

// selection is the set of records in a list.
type selection struct {
	node  string // the UUID of the node to which the records belong; empty for any
	one   bool   // at most one record is selected, so that the sort key is ignored
	tests []func(o conductor.Object) bool
}

func (s *selection) where(test func(o conductor.Object) bool) { s.tests = append(s.tests, test) }

// ofNode selects the records of a node.
func (s *selection) ofNode(uuid string) {
	s.node = uuid
	s.where(func(o conductor.Object) bool { return o.Meta().NodeUUID == uuid })
}

// objects returns the selected records of a kind, and always the record with the UUID marker.
func (s *selection) objects(r *request, kind conductor.Kind, marker string) ([]conductor.Object, error) {
	var objects []conductor.Object
	var err error
	if s.node != "" && marker == "" {
		objects, err = r.conductor.ObjectsOf(r.Context(), kind, s.node)
	} else {
		objects, err = r.conductor.Objects(r.Context(), kind)
	}
	return slices.DeleteFunc(objects, func(o conductor.Object) bool {
		return o.Meta().UUID != marker && slices.ContainsFunc(s.tests, func(test func(conductor.Object) bool) bool { return !test(o) })
	}), err
}

// serve answers the request.
func (l listing) serve(r *request) (answer, error) {
	names := slices.Clone(pageArgs)
	if !l.details {
		names = append(names, "fields")
		if l.defaults != nil {
			names = append(names, "detail")
		}
	}
	for _, f := range l.filters {
		if f.since <= r.highest {
			names = append(names, f.name)
		}
	}
	a := r.queryArgs(names...)
	l.decode(a, true)
	p, fields, detail := a.page(l.marker()), fieldSet(a.list("fields")), a.boolean("detail")
	l.decode(a, false)
	if err := r.accept(a); err != nil {
		return answer{}, err
	}
	s := &selection{}
	if l.parent != nil {
		if err := l.parent(r, s); err != nil {
			return answer{}, err
		}
	}
	fields, err := l.accept(r, a, p, fields, detail)
	if err != nil {
		return answer{}, err
	}
	if err := p.check(r); err != nil {
		return answer{}, err
	}
	if err := l.checkOrder(r, p); err != nil {
		return answer{}, err
	}
	if err := l.choose(a, r, s); err != nil {
		return answer{}, err
	}
	var compare func(a, b conductor.Object) int
	if !s.one {
		if compare, err = l.order(r, p.sortKey); err != nil {
			return answer{}, err
		}
	}
	objects, err := s.objects(r, l.of.Kind(), p.marker)
	if err != nil {
		return answer{}, err
	}
	objects, found := cut(p, objects, compare, func(o conductor.Object) string { return o.Meta().UUID })
	if !found {
		return answer{}, l.notFound(p.marker)
	}
	if len(objects) > 0 {
		if err := l.knowFields(r, fields); err != nil {
			return answer{}, err
		}
	}
	return l.page(r, p, objects, fields, l.parameters(p, a, detail)), nil
}

// decode checks the types of the filters that come before the parameters of the page, or of the others.
func (l listing) decode(a *args, early bool) {
	for _, f := range l.filters {
		if early == (l.early == nil || slices.Contains(l.early, f.name)) {
			f.decode(a, f.name)
		}
	}
}

// checkOrder refuses a marker that names no record, and a sort key whose values have no order.
func (l listing) checkOrder(r *request, p page) error {
	unsortable := l.sortable(p.sortKey)
	switch {
	case l.sortFirst && unsortable != nil:
		return unsortable
	case p.marker == "":
		return unsortable
	case !isUUID(p.marker):
		return l.notFound(p.marker)
	}
	if _, err := r.object(l.resource, p.marker); err != nil {
		return err
	}
	return unsortable
}

// marker returns the method of args for the marker of a list.
func (x *resource) marker() func(*args, string) string {
	if x.path == "deploy_templates" || x.path == "runbooks" {
		return (*args).name
	}
	return (*args).uuid
}

// accept refuses parameters newer than the API version, and returns the fields of the list.
func (l listing) accept(r *request, a *args, p page, fields fieldSet, detail *bool) (fieldSet, error) {
	if err := l.allowFields(r, fields); err != nil {
		return nil, err
	}
	if f := l.field(p.sortKey); f != nil && !f.readOnly && f.since > r.version && f.since <= r.highest {
		return nil, errNotAcceptable
	}
	for _, f := range l.filters {
		switch {
		case !a.has(f.name) || f.since <= r.version:
		case f.old != nil:
			return nil, f.old
		default:
			return nil, tooOld(f.since)
		}
	}
	above := strings.Split(r.URL.Path, "/")
	switch {
	case l.details && above[len(above)-2] != l.path: // a record has no details
		return nil, errNotFound
	case l.details:
		return nil, nil
	case l.detailSince == 0 && len(fields) > 0 && detail != nil && *detail:
		return nil, invalid("Can't fetch a subset of fields with 'detail' set")
	default:
		return r.chooseFields(fields, detail, l.defaults, l.detailSince)
	}
}

// choose applies the filters of the request.
func (l listing) choose(a *args, r *request, s *selection) error {
	groups, chosen := map[string]bool{}, ""
	if l.parent != nil {
		chosen = "parent"
		groups[chosen] = true
	}
	for _, f := range l.filters {
		if f.group != "" && a.given(f.name) {
			groups[f.group] = true
		}
	}
	delete(groups, "address") // it never conflicts
	if len(groups) > 1 && l.exclusive != nil {
		return l.exclusive
	}
	for _, f := range l.filters {
		if !a.has(f.name) || f.group != "" && (chosen != "" || !a.given(f.name)) {
			continue
		}
		chosen = cmp.Or(chosen, f.group)
		f.apply(a, r, s)
	}
	return a.err
}

// parameters returns the query parameters of the link to the next page.
func (l listing) parameters(p page, a *args, detail *bool) []string {
	parameters := p.sortParameters()
	if detail != nil {
		parameters = append(parameters, "detail="+repr(*detail))
	}
	for _, f := range l.filters {
		if v, ok := a.values[f.name].(string); ok {
			parameters = append(parameters, f.name+"="+url.QueryEscape(v))
		}
	}
	return parameters
}

func (l listing) page(r *request, p page, objects []conductor.Object, fields fieldSet, parameters []string) answer {
	path := l.path
	if l.details {
		path += "/detail"
	}
	return answer{status: http.StatusOK, write: func(w *writer) {
		w.open()
		w.key(l.list).openList()
		for _, o := range objects {
			l.write(w, r, o, fields)
		}
		w.closeList()
		if len(objects) > 0 {
			p.writeNext(w, r, path, fields, parameters, len(objects), objects[len(objects)-1].Meta().UUID)
		}
		w.close()
	}}
}

// ofNode selects the records of the node in the path.
func ofNode(r *request, s *selection) error {
	n, err := r.node(r.param(0))
	if err != nil {
		return err
	}
	s.ofNode(n.UUID)
	return nil
}

// ofPortGroup selects the ports of the port group in the path.
func ofPortGroup(r *request, s *selection) error { return r.selectPortGroup(r.param(0), s) }

// selectPortGroup selects the ports of a port group.
func (r *request) selectPortGroup(ident string, s *selection) error {
	group, err := r.object(portGroupResource, ident)
	if err != nil {
		return err
	}
	m := group.Meta()
	s.ofNode(m.NodeUUID)
	s.where(func(o conductor.Object) bool { return o.(*conductor.Port).PortGroupUUID == m.UUID })
	return nil
}

// byNode filters records by node.
func byNode(name string) objectFilter {
	f := objectFilter{name: name, group: "node", decode: decodeIdent, apply: func(a *args, r *request, s *selection) {
		ident := a.ident(name)
		if !isUUID(ident) && r.version < since.Names {
			a.err = errNotAcceptable
			return
		}
		n, err := r.nodeNamed(ident)
		if err != nil {
			a.err = err
			return
		}
		s.ofNode(n.UUID)
	}}
	if name == "node_uuid" {
		f.decode = func(a *args, name string) { a.uuid(name) }
	}
	return f
}

// byText filters records by the value of a string field.
func byText(name string) objectFilter {
	return objectFilter{name: name, decode: decodeText, apply: func(a *args, _ *request, s *selection) {
		want := a.text(name)
		s.where(func(o conductor.Object) bool { return load(o, name) == want })
	}}
}

// byAddress filters records by MAC address.
var byAddress = objectFilter{
	name: "address", group: "address", decode: func(a *args, name string) { a.mac(name) },
	apply: func(a *args, _ *request, s *selection) {
		address := a.mac("address")
		s.where(func(o conductor.Object) bool { return load(o, "address") == address })
		s.one = true
	},
}

// ignoredProject is a parameter that Ironic takes and does not use.
var ignoredProject = objectFilter{name: "project", decode: func(*args, string) {}, apply: func(*args, *request, *selection) {}}

func decodeIdent(a *args, name string) { a.ident(name) }
func decodeText(a *args, name string)  { a.text(name) }
func decodeList(a *args, name string)  { a.list(name) }
