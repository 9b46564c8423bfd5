// SPDX-License-Identifier: Apache-2.0

// Package objects serves the resources that are a [conductor.Object]: ports, port groups, chassis, volume
// connectors and targets, deploy templates, runbooks and allocations. A [resource] describes each of them, and
// the same handlers answer the requests for all of them.
package objects

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// resource describes one kind of object in the API. The descriptions are in resources.go. Ironic has separate code for each
// resource, so that the order of checks and some responses differ; a boolean below selects what one resource does otherwise
// than most.
type resource struct {
	of     conductor.Object  // an empty object of its type
	path   string            // below /v1; its last segment is the key of a list's items
	word   string            // in the names of arguments and the faults of schemas: "port"
	noun   string            // in the faults that name a record: "Port"
	since  states.APIVersion // the first version with the resource
	fields []field
	links  map[string]link // to the child resources of a record, by their path below it
	list   listRules
	write  writeRules
	// suffixed permits a path to omit the end of a name that ends in ".json".
	suffixed bool
	// fieldsFirst makes a GET of one record check the requested fields before it looks for the record.
	fieldsFirst bool
}

// link describes the links from a record to a child resource.
type link struct {
	since  states.APIVersion // the first version with the links
	nested bool              // the links are shown as a list within a list
}

// listRules are the rules for lists of a resource.
type listRules struct {
	// defaults are the fields in a list without detail.
	defaults []string
	// detailSince is the first version in which a list has the parameter detail; 0 stands for none.
	detailSince states.APIVersion
	// detailPath adds lists with all fields, whose path ends in /detail.
	detailPath bool
	// filters are the query parameters in addition to those of a page.
	filters []filter
	// early are the filters that are checked before the parameters of the page; nil stands for all. The others
	// are checked after these parameters.
	early []string
	// marker reads the marker of a page; nil stands for one that must be a UUID.
	marker func(a *rest.Args, name string) string
	// oneFilter refuses a list with filters of several groups. Otherwise the first filter applies.
	oneFilter bool
	// sortKeyFirst checks the sort key before the marker.
	sortKeyFirst bool
	// newSortKeys accepts a sort key that is newer than the API version.
	newSortKeys bool
}

// writeRules are the rules for requests that create, change or delete a record. A function refuses a request by
// an error, except for duplicate and tooNew. A nil function refuses nothing, unless its comment says otherwise.
type writeRules struct {
	// prepare modifies the body of a POST before it is checked.
	prepare func(r *rest.Request, body any) error
	// inOrder checks the properties of a body in the order of the resource's fields. Otherwise they are sorted by name.
	inOrder bool
	// quoteNode quotes the field node_uuid in the fault of a new record whose node does not exist. Otherwise the fault
	// says that the node was not found.
	quoteNode bool
	// forbidFirst refuses a POST below another record before it looks for the node in its body.
	forbidFirst bool
	// tooNew reports whether a POST or a patch uses a field newer than its API version; nil stands for hasNew.
	tooNew func(x *resource, r *rest.Request, object map[string]any, p patch.Patch) bool
	// anyIdent does not check the form of the identifier of the record to patch.
	anyIdent bool
	// loadFirst makes a PATCH look for the record before it checks the patch.
	loadFirst bool
	// patchSince is the first version in which a record can be patched.
	patchSince states.APIVersion
	// patched are the fields that a patch may change, in the order in which a fault lists them; nil stands for
	// all fields that are neither readOnly nor fixed, sorted by name.
	patched []string
	// checkValues checks the values of a patch before it is applied.
	checkValues func(r *rest.Request, p patch.Patch) error
	// checkPatched checks a patched record before the resource's schema does.
	checkPatched func(r *rest.Request, patched map[string]any) error
	// check checks a complete record. before is the record before the patch, nil for a new record.
	check func(r *rest.Request, before, o conductor.Object) error
	// allowNew checks a complete new record while no other request holds the lock of its node.
	allowNew func(r *rest.Request, o conductor.Object) error
	// allow checks a complete patched record while no other request holds the lock of its node.
	allow func(r *rest.Request, before, o conductor.Object) error
	// duplicate returns the fault text for a record with a unique key of another record.
	duplicate func(o conductor.Object) string
	// uuidFirst names the UUID in the fault of a new record of which the UUID and another key exist.
	uuidFirst bool
	// deletable checks a record that is about to be deleted.
	deletable func(r *rest.Request, o conductor.Object) error
}

// field is a field of a record as clients see it.
type field struct {
	name  string
	since states.APIVersion
	types []string
	flags fieldFlag
	max   int // the maximum length of a string; 0 is unlimited
	// zero is stored and shown in place of null.
	zero any
	// storedAs is the name of the field in the record, if it differs from name.
	storedAs string
	// schema returns the schema of the values; nil stands for one with types and max.
	schema func(s *rest.Service) *schema.Schema
	// convert returns the stored form of a value that satisfies the schema, or refuses the value. It is not
	// called for null.
	convert func(r *rest.Request, v any) (any, error)
	// mask returns the form of a value in responses. Faults do not repeat the value of a field with a mask.
	mask  func(v any) any
	index []int // of the field in the type of the record, set by init
}

// fieldFlag is a set of properties of a field.
type fieldFlag uint16

const (
	required     fieldFlag = 1 << iota // a POST must have the field
	readOnly                           // clients cannot set the field
	fixed                              // a POST may set the field, a patch cannot change it
	nullable                           // null is stored and shown, and a patch that removes the field sets it
	hidden                             // responses do not have the field
	shownEarlier                       // responses of versions below since have the field, too
	noColumn                           // lists cannot be sorted by the field, because Ironic's database has no column of the name
)

// is reports whether the field has a flag.
func (f *field) is(flag fieldFlag) bool { return f.flags&flag != 0 }

// field returns the resource's field with a name, or nil.
func (x *resource) field(name string) *field {
	for i := range x.fields {
		if x.fields[i].name == name {
			return &x.fields[i]
		}
	}
	return nil
}

// value returns the value of a record's field.
func (f *field) value(o conductor.Object) any {
	if v := f.load(o); v != nil || f.is(nullable) {
		return v
	}
	return f.zero
}

// column returns the name of the field in the record.
func (f *field) column() string { return cmp.Or(f.storedAs, f.name) }

// bodySchema returns the schema of the bodies that create a record.
func (x *resource) bodySchema(service *rest.Service) *schema.Schema {
	s := &schema.Schema{Types: []string{"object"}, Closed: true}
	for i := range x.fields {
		f := &x.fields[i]
		if f.is(readOnly) || f.since > service.Highest {
			continue
		}
		of := &schema.Schema{Types: f.types, MaxLength: f.max, Secret: f.mask != nil}
		if f.schema != nil {
			of = f.schema(service)
		}
		s.Properties = append(s.Properties, schema.Property{Name: f.name, Schema: of})
		if f.is(required) {
			s.Required = append(s.Required, f.name)
		}
	}
	if !x.write.inOrder {
		slices.SortFunc(s.Properties, func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.Sort(s.Required)
	return s
}

// setFields sets the record's fields to the values of an object that satisfies the schema, and the
// missing ones to their defaults.
func (x *resource) setFields(r *rest.Request, o conductor.Object, object map[string]any) (err error) {
	for _, first := range []bool{true, false} { // the order of Ironic's validators
		for i := range x.fields {
			f := &x.fields[i]
			if f.is(readOnly) || first != (f.name == "address" || f.name == "node_uuid") {
				continue
			}
			v, has := object[f.name]
			if v != nil && f.convert != nil {
				if v, err = f.convert(r, v); err != nil {
					return err
				}
			}
			switch {
			case has && v == nil && f.is(nullable):
				f.store(o, nil)
			case has || f.storedAs == "":
				if v == nil {
					v = f.zero
				}
				f.store(o, v)
			}
		}
	}
	return nil
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

// answer returns an answer that shows a record.
func (x *resource) answer(r *rest.Request, status int, o conductor.Object, fields rest.FieldSet) rest.Answer {
	return rest.Answer{Status: status, Write: func(w *wire.Writer) { x.show(w, r, o, fields) }}
}

// allowFields refuses fields that the version does not have.
func (x *resource) allowFields(r *rest.Request, fields rest.FieldSet) error {
	if fields != nil && r.Version < since.Fields {
		return fault.NotAcceptable
	}
	for _, name := range fields {
		if f := x.field(name); f != nil && !f.is(readOnly) && f.since > r.Version && f.since <= r.Highest {
			return fault.NotAcceptable
		}
	}
	return nil
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

// named reports whether the records of the resource have names in a version. A path can then name a record.
func (x *resource) named(version states.APIVersion) bool {
	f := x.field("name")
	return f != nil && f.since <= version
}

// alwaysNamed reports whether the records of the resource have had names in all versions.
func (x *resource) alwaysNamed() bool { return x.named(0) }

// identOf returns the UUID or name by which the path names a record.
func identOf(r *rest.Request, x *resource) (string, error) {
	ident := r.Param(0)
	switch {
	case rest.IsUUID(ident):
	case !x.named(r.Version):
		return "", fault.Invalid("Expected UUID for %s_uuid: %s", x.word, fault.Show(ident))
	case !rest.IsName(ident):
		return "", fault.Invalid("Expected UUID or name for %s_ident: %s", x.word, fault.Show(ident))
	}
	return ident, nil
}

// find returns a record by its UUID or name.
func find(r *rest.Request, x *resource, ident string) (conductor.Object, error) {
	o, err := r.Conductor.Object(r.Context(), x.of.Kind(), ident)
	if errors.Is(err, conductor.NotFound) && r.Suffix && x.suffixed && slices.Contains(r.Params, ident) {
		ident += ".json"
		o, err = r.Conductor.Object(r.Context(), x.of.Kind(), ident)
	}
	if errors.Is(err, conductor.NotFound) {
		return nil, x.notFound(ident)
	}
	return o, err
}

func (x *resource) notFound(ident string) error {
	return fault.NotFound("%s %s could not be found.", x.noun, fault.Show(ident))
}

// existsFault returns the fault for a record with keys of another record. Of several it names the one
// that Ironic's database refuses first.
func (x *resource) existsFault(r *rest.Request, o conductor.Object, err error) error {
	var duplicate *conductor.DuplicateError
	if !errors.Is(err, conductor.Exists) || !errors.As(err, &duplicate) {
		return err
	}
	m := o.Meta()
	byUUID := duplicate.Key == m.UUID
	records, err := r.Conductor.Objects(r.Context(), x.of.Kind())
	if err != nil {
		return err
	}
	taken := func(same func(other conductor.Object) bool) bool {
		return slices.ContainsFunc(records, func(other conductor.Object) bool {
			return (byUUID || other.Meta().UUID != m.UUID) && same(other)
		})
	}
	article := "A"
	if strings.IndexByte("aeiou", x.word[0]) >= 0 {
		article = "An"
	}
	noun := article + " " + strings.ToLower(x.noun)
	switch {
	case byUUID && x.write.uuidFirst:
	case m.Name != "" && taken(func(other conductor.Object) bool { return other.Meta().Name == m.Name }):
		return fault.Conflict("%s with name %s already exists.", noun, m.Name)
	case x.write.duplicate != nil && taken(func(other conductor.Object) bool {
		return slices.ContainsFunc(o.Keys(), func(key string) bool { return slices.Contains(other.Keys(), key) })
	}):
		return fault.Conflict("%s", x.write.duplicate(o))
	}
	return fault.Conflict("%s with UUID %s already exists.", noun, m.UUID)
}
