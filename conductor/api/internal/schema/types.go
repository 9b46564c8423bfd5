// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"math"
)

// The types of fields, by their names in JSON schemas.
var (
	TextType     = []string{"string"}
	TextOrNull   = []string{"string", "null"}
	ObjectOrNull = []string{"object", "null"}
)

// BooleanTypes are the types of a boolean field: Ironic also accepts words such as "yes".
var BooleanTypes = []string{"string", "boolean", "null"}

// TypesOf returns the JSON schema types of a value in decoded JSON. A number without a fraction has two.
func TypesOf(v any) []string {
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

// These schemas restrict only the type of a value.
var (
	Text    = &Schema{Types: []string{"string"}}
	Boolean = &Schema{Types: []string{"boolean"}}
	Object  = &Schema{Types: []string{"object"}}
)
