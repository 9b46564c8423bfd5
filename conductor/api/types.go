package api

import (
	"encoding/json"
	"math"
)

// The types of fields, by their names in JSON schemas.
var (
	textType   = []string{"string"}
	textOrNull = []string{"string", "null"}
	objectType = []string{"object", "null"}
)

var booleanTypes = []string{"string", "boolean", "null"}

// jsonTypes returns the JSON schema types of a value.
func jsonTypes(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"null"}
	case string:
		return []string{"string"}
	case bool:
		return []string{"boolean"}
	case json.Number:
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) {
			return []string{"integer", "number"}
		}
		return []string{"number"}
	case []any:
		return []string{"array"}
	default:
		return []string{"object"}
	}
}

// truthy reports whether Python takes a value for true.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		f, _ := v.Float64()
		return f != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return true
	}
}

var (
	textSchema    = &schema{types: []string{"string"}}
	booleanSchema = &schema{types: []string{"boolean"}}
	objectSchema  = &schema{types: []string{"object"}}
)
