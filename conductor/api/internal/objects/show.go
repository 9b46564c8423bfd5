// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// get answers a GET of one record.
func (x *resource) get(r *rest.Request) (rest.Answer, error) {
	return x.orders.get.Or(usual.get).Then(x.request, (*request).answered)(r)
}

// answered shows the record.
func (q *request) answered() (rest.Answer, error) {
	return q.answer(q.r, http.StatusOK, q.record, q.shown), nil
}

// fieldsDecode reads the requested fields. It refuses other parameters, and then a version that does not have the
// action.
func fieldsDecode(q *request) error {
	q.args = q.r.QueryArgs("fields")
	q.shown = q.args.List("fields")
	return q.r.CheckArgs(q.args)
}

// queryInSchema refuses a query that does not satisfy the schema of a series that has one.
func queryInSchema(q *request) error { return q.checkQuery(q.r, q.args) }

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

// isNewer reports whether the name belongs to a field that is newer than the version of the request.
func (x *resource) isNewer(r *rest.Request, name string) bool {
	f := x.field(name)
	return f != nil && !f.is(namedEarlier) && f.since > r.Version && f.since <= r.Highest
}

// checkFields refuses fields that the resource does not have. Ironic does so for each record that it
// shows, and therefore not if there is none.
func (x *resource) checkFields(r *rest.Request, fields rest.FieldSet) error {
	var unknown []string
	for _, name := range fields {
		f := x.field(name)
		switch {
		case f != nil && !f.is(hidden) && f.since <= r.Highest && (!x.schemas.bodyByVersion || f.since <= r.Version):
		case x.is(firstUnknown):
			return fault.Invalid("Field %s is not a valid field.", fault.Show(name))
		case !slices.Contains([]string{"uuid", "created_at", "updated_at", "links"}, name) &&
			!slices.ContainsFunc(x.links, func(l link) bool { return l.name == name }):
			unknown = append(unknown, fault.Show(name))
		}
	}
	return rest.InvalidFields(unknown)
}

// answer returns an answer that shows a record.
func (x *resource) answer(r *rest.Request, status int, o record, fields rest.FieldSet) rest.Answer {
	return rest.Answer{Status: status, Write: func(w *wire.Writer) { x.show(w, r, o, fields, false) }}
}

// show writes a record, alone or in a list, with the fields of the request's version.
func (x *resource) show(w *wire.Writer, r *rest.Request, o record, fields rest.FieldSet, inList bool) {
	until := r.Version // the newest version of the fields that are shown earlier
	if inList || r.Series < states.Gazpacho {
		until = r.Highest
	}
	m := x.store.meta(o)
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
		if f.name == "uuid" || f.is(hidden) || f.since > r.Version && !(f.is(shownEarlier) && f.since <= until) || !fields.Has(f.name) {
			continue
		}
		f.write(w, r, o)
	}
	path := cmp.Or(x.linked, x.path)
	w.Key("links").Links(r.Base(), path, "/", m.UUID)
	for _, link := range x.links {
		if r.Version < link.since || !fields.Has(link.name) {
			continue
		}
		w.Key(link.name)
		if link.nested {
			w.OpenList().Links(r.Base(), path, "/", m.UUID, "/", link.name)
			w.CloseList()
		} else {
			w.Links(r.Base(), path, "/", m.UUID, "/", link.name)
		}
	}
	w.Close()
}

// write writes the key and the value of a field.
func (f *field) write(w *wire.Writer, r *rest.Request, o record) {
	w.Literal(f.key)
	if f.text != nil {
		w.TextOrNull(f.text(r, o))
		return
	}
	if f.mask == nil && f.shown == nil {
		if text, ok := f.pointer(o).(*string); ok && *text != "" {
			w.Text(*text) // without an allocation
			return
		}
	}
	v := f.value(o)
	if f.mask != nil {
		v = f.mask(v)
	}
	if f.shown != nil {
		v = f.shown(r, o, v)
	}
	w.Value(v)
}
