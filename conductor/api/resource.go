package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// resource describes one kind of object in the API. Its functions, which may be nil, are the
// rules that apply to this resource only.
type resource struct {
	kind   conductor.Kind
	path   string // below /v1
	list   string // the key of a list's items
	schema string // in faults of the schema
	noun   string // in faults that name one: "Port"

	since states.APIVersion
	named bool // its records can be named in paths at any version

	fields   []objectField
	defaults []string // the fields in a list without detail
	// minDetail is the first version in which a list accepts detail=true. detailed means
	// that a path ending in /detail has the same effect.
	minDetail states.APIVersion
	detailed  bool
	// links maps paths below a record to the first version in which the record links to them.
	links map[string]states.APIVersion

	// filters are the query parameters of a list in addition to those of a page.
	filters []objectFilter
	// keys returns the unique keys of a record; duplicate returns the fault text for a
	// record with a key of another record.
	keys      func(o *conductor.Object) []string
	duplicate func(o *conductor.Object, key string) string
	// noNode is the fault text for a new record of an unknown node, with %s for the node;
	// empty stands for the usual fault of an unknown node.
	noNode string
	// prepare modifies the body of a POST before it is checked.
	prepare func(r *request, body any) error
	// check refuses a record that breaks a rule. before is nil for a new record, and the
	// record before the patch for a patched one.
	check func(r *request, before, o *conductor.Object) error
	// deletable refuses the deletion of a record.
	deletable func(r *request, o *conductor.Object) error
}

// objectField is a field of a record as clients see it.
type objectField struct {
	name  string
	since states.APIVersion
	types []string
	// zero is shown and stored instead of null.
	zero any

	required bool // in a POST
	readOnly bool // clients cannot set it
	asked    bool // set by a POST, but shown under another name
	unsorted bool // not a sort key
	fixed    bool // cannot be patched
	max      int  // the maximum length of a string; 0 is unlimited
	secret   bool // faults do not repeat its values
	// convert refuses a value or returns its stored form. It is not called for null.
	convert func(r *request, v any) (any, error)
	// mask returns the form of a value in responses.
	mask func(v any) any
}

// objectFilter is a query parameter that filters a list.
type objectFilter struct {
	name  string
	since states.APIVersion
	apply func(a *args, r *request, s *selection)
}

// field returns the resource's field with a name, or nil.
func (x *resource) field(name string) *objectField {
	for i := range x.fields {
		if x.fields[i].name == name {
			return &x.fields[i]
		}
	}
	return nil
}

// value returns the value of a record's field.
func (f *objectField) value(o *conductor.Object) any {
	var v any
	switch f.name {
	case "name":
		if o.Name != "" {
			v = o.Name
		}
	case "node_uuid":
		if o.NodeUUID != "" {
			v = o.NodeUUID
		}
	default:
		v = o.Fields[f.name]
	}
	if v == nil {
		return f.zero
	}
	return v
}

// put stores a value in a field.
func (f *objectField) put(o *conductor.Object, v any) {
	switch f.name {
	case "uuid":
		o.UUID, _ = v.(string)
	case "name":
		o.Name, _ = v.(string)
	case "node_uuid":
		o.NodeUUID, _ = v.(string)
	default:
		if v == nil {
			v = f.zero
		}
		if v == nil {
			delete(o.Fields, f.name)
			return
		}
		o.Fields[f.name] = v
	}
}

// take sets a field to a value from a client.
func (f *objectField) take(r *request, schema string, o *conductor.Object, v any) (err error) {
	if err := checkType(schema, v, f.types, f.max, f.secret); err != nil {
		return err
	}
	if v != nil && f.convert != nil {
		if v, err = f.convert(r, v); err != nil {
			return err
		}
	}
	f.put(o, v)
	return nil
}

// write writes a record with the fields of the request's version.
func (x *resource) write(w *writer, r *request, o *conductor.Object, fields fieldSet) {
	w.open()
	if fields.has("uuid") {
		w.key("uuid").text(o.UUID)
	}
	if fields.has("created_at") {
		w.key("created_at").time(&o.CreatedAt)
	}
	if fields.has("updated_at") {
		w.key("updated_at").time(o.UpdatedAt)
	}
	for i := range x.fields {
		f := &x.fields[i]
		if f.name == "uuid" || f.asked || f.since > r.version || !fields.has(f.name) {
			continue
		}
		v := f.value(o)
		if f.mask != nil {
			v = f.mask(v)
		}
		w.key(f.name).value(v)
	}
	path := x.path + "/" + o.UUID
	w.key("links").links(r.base(), path)
	for _, name := range sortedKeys(x.links) {
		if r.version < x.links[name] || !fields.has(name) {
			continue
		}
		w.key(name)
		if x == chassisResource { // Ironic responds with a list of lists
			w.openList().links(r.base(), path+"/"+name)
			w.closeList()
			continue
		}
		w.links(r.base(), path+"/"+name)
	}
	w.close()
}

// answer returns an answer that shows a record.
func (x *resource) answer(r *request, status int, o *conductor.Object, fields fieldSet) answer {
	return answer{status: status, write: func(w *writer) { x.write(w, r, o, fields) }}
}

// checkFields refuses unknown fields and fields that the version does not have.
func (x *resource) checkFields(r *request, fields fieldSet) error {
	if fields != nil && r.version < minFields {
		return errNotAcceptable
	}
	for _, name := range fields {
		_, isLink := x.links[name]
		f := x.field(name)
		switch {
		case isLink, slices.Contains([]string{"uuid", "created_at", "updated_at", "links"}, name):
		case f == nil || f.asked || f.since > r.h.highest:
			return invalid("Field(s) \"%s\" are not valid", show(name))
		case f.since > r.version:
			return errNotAcceptable
		}
	}
	return nil
}

// object returns the record that a request names.
func (r *request) object(x *resource, ident string) (*conductor.Object, error) {
	byName := x.field("name") != nil && (x.named || x.field("name").since <= r.version)
	switch {
	case isUUID(ident):
	case !byName:
		return nil, invalid("Expected UUID for %s_uuid: %s", x.schema, show(ident))
	case !isName(ident):
		return nil, invalid("Expected UUID or name for %s_ident: %s", x.schema, show(ident))
	}
	o, err := r.h.conductor.Object(r.Context(), x.kind, ident)
	if errors.Is(err, conductor.NotFound) && r.suffix {
		o, err = r.h.conductor.Object(r.Context(), x.kind, ident+".json")
	}
	if errors.Is(err, conductor.NotFound) {
		return nil, x.notFound(ident)
	}
	return o, err
}

func (x *resource) notFound(ident string) error {
	return notFound("%s %s could not be found.", x.noun, show(ident))
}

// order returns the comparison for a sort key, nil for the order of creation.
func (x *resource) order(r *request, key string) (func(a, b *conductor.Object) int, error) {
	f := x.field(key)
	switch {
	case key == "id":
		return nil, nil
	case key == "uuid":
		return func(a, b *conductor.Object) int { return cmp.Compare(a.UUID, b.UUID) }, nil
	case key == "created_at":
		return func(a, b *conductor.Object) int { return a.CreatedAt.Compare(b.CreatedAt) }, nil
	case key == "updated_at":
		return func(a, b *conductor.Object) int { return compareTimes(a.UpdatedAt, b.UpdatedAt) }, nil
	case f == nil:
		return nil, invalid("The sort_key value \"%s\" is an invalid field for sorting", show(key))
	case f.since > r.version:
		return nil, errNotAcceptable
	case f.unsorted || f.zero != nil && isContainer(f.zero):
		return nil, invalid("The sort_key value %s is an invalid field for sorting", key)
	default:
		return func(a, b *conductor.Object) int { return strings.Compare(sortText(f.value(a)), sortText(f.value(b))) }, nil
	}
}

// sortText returns a string whose order is that of the values; null comes first.
func sortText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return "s" + v
	case json.Number:
		f, _ := v.Float64()
		return fmt.Sprintf("n%020.3f", f)
	default:
		return fmt.Sprint("v", v)
	}
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// sayExists returns the fault for a record with a key of another record.
func (x *resource) sayExists(o *conductor.Object, err error) error {
	if !errors.Is(err, conductor.Exists) {
		return err
	}
	var duplicate *conductor.DuplicateError
	key := ""
	if errors.As(err, &duplicate) {
		key = duplicate.Key
	}
	article := "A"
	if strings.IndexByte("aeiou", x.schema[0]) >= 0 {
		article = "An"
	}
	noun := article + " " + strings.ToLower(x.noun)
	switch {
	case o.Name != "" && (key == "name="+o.Name || key == ""):
		return conflict("%s with name %s already exists.", noun, o.Name)
	case x.duplicate != nil && key != o.UUID:
		return conflict("%s", x.duplicate(o, key))
	default:
		return conflict("%s with UUID %s already exists.", noun, o.UUID)
	}
}

var statusNoContent = answer{status: http.StatusNoContent}
