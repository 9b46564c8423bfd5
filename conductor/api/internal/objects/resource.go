// Package objects serves the resources that are a [conductor.Object]: ports, port groups, chassis, volume
// connectors and targets, deploy templates, runbooks and allocations. A [resource] describes each of them, and
// the same handlers answer the requests for all of them.
package objects

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
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

// resource describes one kind of object in the API. Its functions, which may be nil, are the
// rules that apply to this resource only.
type resource struct {
	of     conductor.Object // an empty object of its type
	path   string           // below /v1
	list   string           // the key of a list's items
	schema string           // in faults of the schema
	noun   string           // in faults that name one: "Port"

	since    states.APIVersion
	named    bool // its records can be named in paths at any version
	suffixed bool // the names in paths may lack a suffix ".json"

	fields   []field
	defaults []string // the fields in a list without detail
	// detailSince is the first version in which a list accepts detail=true. detailed means
	// that a path ending in /detail has the same effect.
	detailSince states.APIVersion
	detailed    bool
	// links maps paths below a record to the first version in which the record links to them.
	links map[string]states.APIVersion

	// filters are the query parameters of a list in addition to those of a page. Those in early,
	// nil for all of them, are checked before the parameters of the page, the others after them.
	filters []filter
	early   []string
	// sortFirst is set if a list checks its sort key before its marker.
	sortFirst bool
	// fieldsFirst is set if the fields of one record are checked before the record is looked for.
	fieldsFirst bool
	// exclusive refuses a request with more than one of the filters that select by a group, nil
	// if only the first of them applies.
	exclusive error
	// duplicate returns the fault text for a record with a unique key of another record, unless
	// uuidFirst is set and the UUID exists too.
	duplicate func(o conductor.Object) string
	uuidFirst bool
	// noNode is the fault text for a new record of an unknown node, with %s for the node;
	// empty stands for the usual fault of an unknown node.
	noNode string
	// prepare modifies the body of a POST before it is checked.
	prepare func(r *rest.Request, body any) error
	// tooNew reports whether a POST or a patch uses a field newer than its API version; nil stands for
	// hasNew.
	tooNew func(x *resource, r *rest.Request, object map[string]any, p patch.Patch) bool
	// patched are the fields that a patch may change, in the order of the fault; nil stands for
	// all that a POST may set and that are not fixed, sorted. A patch is checked after the record
	// was found if loadFirst is true.
	patched   []string
	loadFirst bool
	// patchSince is the first version in which a record can be patched.
	patchSince states.APIVersion
	// checkValues refuses values of a patch before it is applied.
	checkValues func(r *rest.Request, p patch.Patch) error
	// looseIdent is set if a patch finds the record without checking its identifier before.
	looseIdent bool
	// inOrder is set if the schema has the fields in their order, and not sorted.
	inOrder bool
	// touched is set if a patch that changes nothing sets updated_at.
	touched bool
	// check refuses a record that breaks a rule. before is nil for a new record, and the
	// record before the patch for a patched one. allow does so with the lock of the record's
	// node, which a POST takes if locks is true, and a patch always.
	check, allow func(r *rest.Request, before, o conductor.Object) error
	locks        bool
	// deletable refuses the deletion of a record.
	deletable func(r *rest.Request, o conductor.Object) error
}

// field is a field of a record as clients see it.
type field struct {
	name  string
	since states.APIVersion
	types []string
	// zero is shown and stored instead of null.
	zero any

	required bool // in a POST
	readOnly bool // clients cannot set it
	asked    bool // set by a POST, but not shown, or under the name storedAs
	storedAs string
	index    []int // of the field in the type of the record, set by init
	shown    bool  // in the responses of versions below since too
	unsorted bool  // not a sort key
	noColumn bool  // not a sort key, since it has no column in Ironic's database
	nullable bool  // null is stored and shown, and a patch that removes the field sets it
	fixed    bool  // cannot be patched
	max      int   // the maximum length of a string; 0 is unlimited
	secret   bool  // faults do not repeat its values
	// schema returns the schema of its values; nil stands for types and max.
	schema func(s *rest.Service) *schema.Schema
	// convert refuses a value that satisfies the schema, or returns its stored form. It is not
	// called for null.
	convert func(r *rest.Request, v any) (any, error)
	// mask returns the form of a value in responses.
	mask func(v any) any
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
	// decode checks the type of the parameter.
	decode func(a *rest.Args, name string)
	apply  func(a *rest.Args, r *rest.Request, s *selection)
}

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
	if v := f.load(o); v != nil || f.nullable {
		return v
	}
	return f.zero
}

// put stores a value in a field, null as the zero value.
func (f *field) put(o conductor.Object, v any) {
	if v == nil {
		v = f.zero
	}
	f.store(o, v)
}

// column returns the name of the field in the record.
func (f *field) column() string { return cmp.Or(f.storedAs, f.name) }

// bodySchema returns the schema of the bodies that create a record.
func (x *resource) bodySchema(service *rest.Service) *schema.Schema {
	s := &schema.Schema{Types: []string{"object"}, Closed: true}
	for i := range x.fields {
		f := &x.fields[i]
		if f.readOnly || f.since > service.Highest {
			continue
		}
		of := &schema.Schema{Types: f.types, MaxLength: f.max, Secret: f.secret}
		if f.schema != nil {
			of = f.schema(service)
		}
		s.Properties = append(s.Properties, schema.Property{Name: f.name, Schema: of})
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	if !x.inOrder {
		slices.SortFunc(s.Properties, func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.Sort(s.Required)
	return s
}

// take sets the record's fields to the values of an object that satisfies the schema, and the
// missing ones to their defaults.
func (x *resource) take(r *rest.Request, o conductor.Object, object map[string]any) (err error) {
	for _, first := range []bool{true, false} { // the order of Ironic's validators
		for i := range x.fields {
			f := &x.fields[i]
			if f.readOnly || first != (f.name == "address" || f.name == "node_uuid") {
				continue
			}
			v, has := object[f.name]
			if v != nil && f.convert != nil {
				if v, err = f.convert(r, v); err != nil {
					return err
				}
			}
			switch {
			case has && v == nil && f.nullable:
				f.store(o, nil)
			case has || f.storedAs == "":
				f.put(o, v)
			}
		}
	}
	return nil
}

// write writes a record with the fields of the request's version.
func (x *resource) write(w *wire.Writer, r *rest.Request, o conductor.Object, fields rest.FieldSet) {
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
		if f.name == "uuid" || f.asked || f.since > r.Version && !f.shown || !fields.Has(f.name) {
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
		if r.Version < x.links[name] || !fields.Has(name) {
			continue
		}
		w.Key(name)
		if x == chassisResource { // Ironic responds with a list of lists
			w.OpenList().Links(r.Base(), path+"/"+name)
			w.CloseList()
			continue
		}
		w.Links(r.Base(), path+"/"+name)
	}
	w.Close()
}

// answer returns an answer that shows a record.
func (x *resource) answer(r *rest.Request, status int, o conductor.Object, fields rest.FieldSet) rest.Answer {
	return rest.Answer{Status: status, Write: func(w *wire.Writer) { x.write(w, r, o, fields) }}
}

// allowFields refuses fields that the version does not have.
func (x *resource) allowFields(r *rest.Request, fields rest.FieldSet) error {
	if fields != nil && r.Version < since.Fields {
		return fault.NotAcceptable
	}
	for _, name := range fields {
		if f := x.field(name); f != nil && !f.readOnly && f.since > r.Version && f.since <= r.Highest {
			return fault.NotAcceptable
		}
	}
	return nil
}

// knowFields refuses fields that the resource does not have. Ironic does so for each record that it
// shows, and therefore not if there is none.
func (x *resource) knowFields(r *rest.Request, fields rest.FieldSet) error {
	var unknown []string
	for _, name := range fields {
		_, isLink := x.links[name]
		f := x.field(name)
		if isLink || slices.Contains([]string{"uuid", "created_at", "updated_at", "links"}, name) {
			continue
		}
		if f == nil || f.asked || f.since > r.Highest {
			unknown = append(unknown, fault.Show(name))
		}
	}
	return rest.InvalidFields(unknown)
}

// identOf returns the UUID or name by which the path names a record.
func identOf(r *rest.Request, x *resource) (string, error) {
	ident := r.Param(0)
	byName := x.field("name") != nil && (x.named || x.field("name").since <= r.Version)
	switch {
	case rest.IsUUID(ident):
	case !byName:
		return "", fault.Invalid("Expected UUID for %s_uuid: %s", x.schema, fault.Show(ident))
	case !rest.IsName(ident) && x == portGroupResource: // refused before the methods have names
		return "", &fault.Fault{Status: http.StatusBadRequest, Bare: true, Text: "Expected UUID or name for portgroup: " + fault.Show(ident)}
	case !rest.IsName(ident):
		return "", fault.Invalid("Expected UUID or name for %s_ident: %s", x.schema, fault.Show(ident))
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

// sayExists returns the fault for a record with keys of another record. Of several it names the one
// that Ironic's database refuses first.
func (x *resource) sayExists(r *rest.Request, o conductor.Object, err error) error {
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
	if strings.IndexByte("aeiou", x.schema[0]) >= 0 {
		article = "An"
	}
	noun := article + " " + strings.ToLower(x.noun)
	switch {
	case byUUID && x.uuidFirst:
	case m.Name != "" && taken(func(other conductor.Object) bool { return other.Meta().Name == m.Name }):
		return fault.Conflict("%s with name %s already exists.", noun, m.Name)
	case x.duplicate != nil && taken(func(other conductor.Object) bool {
		return slices.ContainsFunc(o.Keys(), func(key string) bool { return slices.Contains(other.Keys(), key) })
	}):
		return fault.Conflict("%s", x.duplicate(o))
	}
	return fault.Conflict("%s with UUID %s already exists.", noun, m.UUID)
}
