// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

// fields are the fields of each type of object, by their names.
var fields = map[reflect.Type]map[string]*field{}

func init() {
	for _, x := range resources {
		of := reflect.TypeOf(x.of).Elem()
		columns := map[string][]int{}
		for _, f := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			columns[name] = f.Index
		}
		fields[of] = map[string]*field{}
		for i := range x.fields {
			f := &x.fields[i]
			f.index = columns[f.column()]
			fields[of][f.name] = f
		}
	}
}

// fieldOf returns the field of an object with a name, which must exist.
func fieldOf(o conductor.Object, name string) *field { return fields[reflect.TypeOf(o).Elem()][name] }

// pointer returns a pointer to the field of an object.
func (f *field) pointer(o conductor.Object) any {
	return reflect.ValueOf(o).Elem().FieldByIndex(f.index).Addr().Interface()
}

// load returns the stored value of the field of an object as decoded JSON, nil for null.
func (f *field) load(o conductor.Object) any {
	switch p := f.pointer(o).(type) {
	case *string:
		if *p != "" || slices.Contains(o.Meta().Empty, f.column()) {
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
	default: // a number, or a list
		var v any
		_ = transcode(p, &v) // never fails
		return v
	}
	return nil
}

// store sets the field of an object to decoded JSON, which satisfies the schema of the field.
func (f *field) store(o conductor.Object, v any) {
	switch p := f.pointer(o).(type) {
	case *string:
		*p, _ = v.(string)
		o.Meta().SetEmpty(f.column(), v == "")
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
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(to)
}
