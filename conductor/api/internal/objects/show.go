// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// get answers a GET of one record.
func (x *resource) get(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("fields")
	fields := rest.FieldSet(a.List("fields"))
	if err := r.CheckArgs(a); err != nil {
		return rest.Answer{}, err
	}
	q := &request{resource: x, r: r, shown: fields}
	if err := pass(q, x.orders.get, getOrder); err != nil {
		return rest.Answer{}, err
	}
	return x.answer(r, http.StatusOK, q.record, fields), nil
}

// fieldsAllowed refuses a GET of fields that are newer than the version of the request.
func fieldsAllowed(q *request) error { return q.allowFields(q.r, q.shown) }

// fieldsExist refuses a GET of fields that the resource does not have.
func fieldsExist(q *request) error { return q.checkFields(q.r, q.shown) }

// allowFields refuses fields that the version does not have.
func (x *resource) allowFields(r *rest.Request, fields rest.FieldSet) error {
	if fields != nil && r.Version < since.Fields {
		return fault.NotAcceptable
	}
	if slices.ContainsFunc(fields, func(name string) bool { return x.isNewer(r, name) }) {
		return fault.NotAcceptable
	}
	return nil
}

// isNewer reports whether the name is that of a field that is newer than the version of the request. Read-only fields do not
// count, as in Ironic.
func (x *resource) isNewer(r *rest.Request, name string) bool {
	f := x.field(name)
	return f != nil && !f.is(readOnly) && f.since > r.Version && f.since <= r.Highest
}

// checkFields refuses fields that the resource does not have. Ironic does so for each record that it
// shows, and therefore not if there is none.
func (x *resource) checkFields(r *rest.Request, fields rest.FieldSet) error {
	var unknown []string
	for _, name := range fields {
		_, isLink := x.links[name]
		f := x.field(name)
		if isLink || slices.Contains([]string{"uuid", "created_at", "updated_at", "links"}, name) {
			continue
		}
		if f == nil || f.is(hidden) || f.since > r.Highest {
			unknown = append(unknown, fault.Show(name))
		}
	}
	return rest.InvalidFields(unknown)
}

// answer returns an answer that shows a record.
func (x *resource) answer(r *rest.Request, status int, o conductor.Object, fields rest.FieldSet) rest.Answer {
	return rest.Answer{Status: status, Write: func(w *wire.Writer) { x.show(w, r, o, fields) }}
}

// show writes a record with the fields of the request's version.
func (x *resource) show(w *wire.Writer, r *rest.Request, o conductor.Object, fields rest.FieldSet) {
	m := o.Meta()
	w.Open()
	if fields.Has("uuid") {
		w.Key("uuid").Text(m.UUID)
	}
	if fields.Has("created_at") {
		w.Key("created_at").Time(&m.CreatedAt)
	}
	if fields.Has("updated_at") {
		w.Key("updated_at").Time(m.UpdatedAt)
	}
	for i := range x.fields {
		f := &x.fields[i]
		if f.name == "uuid" || f.is(hidden) || f.since > r.Version && !f.is(shownEarlier) || !fields.Has(f.name) {
			continue
		}
		if text, ok := f.pointer(o).(*string); ok && *text != "" && f.mask == nil {
			w.Key(f.name).Text(*text) // without an allocation
			continue
		}
		v := f.value(o)
		if f.mask != nil {
			v = f.mask(v)
		}
		w.Key(f.name).Value(v)
	}
	path := x.path + "/" + m.UUID
	w.Key("links").Links(r.Base(), path)
	for _, name := range slices.Sorted(maps.Keys(x.links)) {
		link := x.links[name]
		if r.Version < link.since || !fields.Has(name) {
			continue
		}
		w.Key(name)
		if link.nested {
			w.OpenList().Links(r.Base(), path+"/"+name)
			w.CloseList()
		} else {
			w.Links(r.Base(), path+"/"+name)
		}
	}
	w.Close()
}
