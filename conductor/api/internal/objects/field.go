// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/states"
)

// field is a field of a record as clients see it. What is left out in its definition has no effect.
//
// A record holds a value of the field or none, which is null in JSON. These rules decide about null, and about a field
// that is absent from a body or that a patch removes:
//
//	                          usual field      nullable field    field of a node (patchedInPart)
//	absent from a POST        zero is stored   zero is stored    nothing is stored
//	null in a POST            zero is stored   zero is stored    null is stored
//	null in a patch           zero is stored   null is stored    null is stored
//	removed by a patch        zero is stored   null is stored    null is stored
//	stored null in responses  shown as zero    shown as null     shown as zero
//
// A field with storedAs is not stored if it is absent. Most fields have no zero, which is null, too.
type field struct {
	name  string
	since states.APIVersion
	types []string
	flags fieldFlag
	max   int // the maximum length of a string
	// schemaSince is the first version with the field in the schema of a body, in series with such schemas.
	schemaSince states.APIVersion
	// zero is stored and shown in place of null, by the rules above.
	zero any
	// storedAs is the name of the field in the record, if it differs from name.
	storedAs string
	// schema returns the schema of the values, in place of one with types and max.
	schema func(r *rest.Request) *schema.Schema
	// convert returns the stored form of a value that satisfies the schema, or refuses the value of the field with the
	// name. It is not called for null.
	convert func(r *rest.Request, name string, v any) (any, error)
	// mask returns the form of a value in responses. Faults do not repeat the value of a field with a mask.
	mask func(v any) any
	// shown returns the form of a record's value in the response to a request, in place of the value itself.
	shown func(r *rest.Request, o record, v any) any

	// text returns the text that responses show in place of the value, and by which lists are sorted; empty for null.
	text func(r *rest.Request, o record) string
	// get and set replace the field of the record with the name.
	get func(o record) any
	set func(o record, v any)

	key     string  // the name as a JSON key, with quotes and colon; set by complete
	records records // of the resource; set by complete
	index   []int   // of the field in the type of the record, see [reflect.Value.FieldByIndex]; set by complete
}

// fieldFlag is a set of properties of a field.
type fieldFlag uint16

const (
	required       fieldFlag = 1 << iota // a POST must have the field
	readOnly                             // clients cannot set the field
	fixed                                // a POST may set the field, a patch cannot change it
	nullable                             // null is stored and shown, see [field]
	hidden                               // responses do not have the field
	shownEarlier                         // lists of versions below since have the field, too, and before 2026.1 other answers
	patchOnly                            // a patch may set the field, a POST cannot
	patchedEarlier                       // a patch may set the field below since, too
	namedEarlier                         // requests below since may choose the field and sort by it
	noColumn                             // lists cannot be sorted by the field, because Ironic's database has no column of the name
)

// is reports whether the field has a flag.
func (f *field) is(flag fieldFlag) bool { return f.flags&flag != 0 }

// fieldOrder is an order of fields by their names, with others in the place of all fields that it does not name. nil
// stands for usualFields.
type fieldOrder []string

const others = "*"

var usualFields = fieldOrder{others, "uuid"}

// compare compares the places of two fields; the others have the same place.
func (o fieldOrder) compare(a, b string) int {
	if o == nil {
		o = usualFields
	}
	place := func(name string) int {
		if i := slices.Index(o, name); i >= 0 {
			return i
		}
		return slices.Index(o, others)
	}
	return cmp.Compare(place(a), place(b))
}

// value returns the value of a record's field.
func (f *field) value(o record) any {
	if v := f.load(o); v != nil || f.is(nullable) {
		return v
	}
	return f.zero
}

// column returns the name of the field in the record.
func (f *field) column() string { return cmp.Or(f.storedAs, f.name) }

// The fields that several resources have.
var (
	uuidField  = field{name: "uuid", types: schema.TextOrNull, flags: fixed, convert: toUUID}
	nodeField  = field{name: "node_uuid", types: schema.TextType, flags: required, convert: toUUID}
	volumeNode = field{name: "node_uuid", types: schema.TextType, flags: required | noColumn, convert: toUUID}
	extraField = field{name: "extra", types: schema.ObjectOrNull, zero: noObject}
)

var noObject = map[string]any{}

// fields are the fields of each type of object, by their names.
var fields = map[reflect.Type]map[string]*field{}

// complete returns a resource in which the values are set that its definition leaves out: its store, the rules of its
// list, the fields that clients can set, and the position of each field in the record.
func complete(x resource) *resource {
	if x.store == nil {
		x.store = objectStore(x.of.(conductor.Object).Kind())
	}
	x.list.complete()
	of := reflect.TypeOf(x.of).Elem()
	columns := map[string][]int{}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		columns[name] = f.Index
	}
	fields[of] = map[string]*field{}
	for i := range x.fields {
		f := &x.fields[i]
		f.records = x.store
		f.key = `"` + f.name + `":`
		f.index = columns[f.column()]
		fields[of][f.name] = f
		if !f.is(readOnly) {
			x.settable = append(x.settable, f)
		}
	}
	slices.SortStableFunc(x.settable, func(a, b *field) int { return x.bodyOrder.compare(a.name, b.name) })
	return &x
}

// fieldOf returns the field of an object with a name, which must exist.
func fieldOf(o record, name string) *field { return fields[reflect.TypeOf(o).Elem()][name] }

// stored returns the stored value of the field of an object with a name, nil for null.
func stored(o record, name string) any { return fieldOf(o, name).load(o) }

// same reports whether a field of two objects has the same value in JSON.
func same(before, o record, name string) bool {
	f := fieldOf(o, name)
	x, y := wire.New(64), wire.New(64)
	x.Value(f.value(before))
	y.Value(f.value(o))
	return string(x.B) == string(y.B)
}

// pointer returns a pointer to the field of an object.
func (f *field) pointer(o record) any {
	return reflect.ValueOf(o).Elem().FieldByIndex(f.index).Addr().Interface()
}

// load returns the stored value of the field of an object as decoded JSON, nil for null.
func (f *field) load(o record) any {
	if f.get != nil {
		return f.get(o)
	}
	switch p := f.pointer(o).(type) {
	case *string:
		if *p != "" || slices.Contains(f.records.meta(o).Empty, f.column()) {
			return *p
		}
	case **bool:
		if *p != nil {
			return **p
		}
	case *bool:
		return *p
	case *map[string]any:
		if *p != nil {
			return *p
		}
	case *[]string:
		if *p != nil {
			return *p
		}
	case **time.Time:
		if *p != nil {
			return *p
		}
	case *states.State:
		if *p != states.NoState {
			return *p
		}
	case *states.Power:
		if *p != states.NoPower {
			return *p
		}
	default: // a number, or another list
		var v any
		_ = transcode(p, &v) // never fails
		return v
	}
	return nil
}

// store sets the field of an object to decoded JSON, which satisfies the schema of the field.
func (f *field) store(o record, v any) {
	if f.set != nil {
		f.set(o, v)
		return
	}
	switch p := f.pointer(o).(type) {
	case *string:
		*p, _ = v.(string)
		o.SetEmpty(f.column(), v == "")
	case **bool:
		*p = nil
		if b, ok := v.(bool); ok {
			*p = &b
		}
	case *bool:
		*p, _ = v.(bool)
	case *map[string]any:
		*p, _ = v.(map[string]any)
	default:
		reflect.ValueOf(p).Elem().SetZero() // other copies of the object share a list
		_ = transcode(v, p)                 // never fails
	}
}

// transcode encodes a value as JSON and decodes it into another one.
func transcode(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return exactjson.Unmarshal(text, to)
}

// toUUID refuses a text that is no UUID.
func toUUID(_ *rest.Request, name string, v any) (any, error) {
	if s := v.(string); !rest.IsUUID(s) {
		return nil, fault.Invalid("Expected UUID for %s: %s", name, fault.Show(s))
	}
	return v, nil
}

// toMAC converts the field address, a MAC address, to lower case.
func toMAC(_ *rest.Request, _ string, v any) (any, error) {
	s := v.(string)
	if !rest.IsMAC(s) {
		return nil, fault.Invalid("Expected valid MAC address for address: %s", fault.Show(s))
	}
	return strings.ToLower(s), nil
}

// toInteger returns a whole number without a fraction. Ironic's database refuses numbers of more than 64 bits.
func toInteger(_ *rest.Request, _ string, v any) (any, error) {
	n, ok := integer(v.(json.Number))
	if !ok {
		return nil, fault.Invalid("%s is out of range", fault.Repr(v))
	}
	return json.Number(strconv.Itoa(n)), nil
}

// toBoolean returns a boolean, or the boolean for one of the words that Ironic accepts.
func toBoolean(_ *rest.Request, name string, v any) (any, error) {
	b, err := rest.ToBoolean(name, v)
	if err != nil {
		return nil, err
	}
	return *b, nil
}
