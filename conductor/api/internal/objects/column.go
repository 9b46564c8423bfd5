package objects

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

// columns are the indexes of the fields of each type of object, by their names in JSON.
var columns = map[reflect.Type]map[string][]int{}

func init() {
	for _, x := range resources {
		of := reflect.TypeOf(x.of).Elem()
		columns[of] = map[string][]int{}
		for _, f := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			columns[of][name] = f.Index
		}
		for i := range x.fields {
			x.fields[i].index = columns[of][x.fields[i].column()]
		}
	}
}

// column returns a pointer to a field of an object.
func column(o conductor.Object, index []int) any {
	return reflect.ValueOf(o).Elem().FieldByIndex(index).Addr().Interface()
}

// load returns the value of the object's field with a name in JSON, which must exist: decoded JSON,
// nil for null.
func load(o conductor.Object, name string) any {
	return read(o, name, columns[reflect.TypeOf(o).Elem()][name])
}

func read(o conductor.Object, name string, index []int) any {
	switch p := column(o, index).(type) {
	case *string:
		if *p != "" || slices.Contains(o.Meta().Empty, name) {
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

// store sets an object's field to decoded JSON, which satisfies the schema of the field.
func store(o conductor.Object, name string, v any) {
	switch p := column(o, columns[reflect.TypeOf(o).Elem()][name]).(type) {
	case *string:
		*p, _ = v.(string)
		o.Meta().SetEmpty(name, v == "")
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
		_ = transcode(v, p) // never fails
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
