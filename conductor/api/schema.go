package api

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// schemaError returns the fault of a body that violates a schema.
func schemaError(schema, format string, args ...any) error {
	return invalid("Schema error for %s: %s", schema, fmt.Sprintf(format, args...))
}

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

// checkType refuses a value that has none of the types, or that is a string longer than
// maxLength. The fault repeats the value, unless secret is true.
func checkType(schema string, v any, types []string, maxLength int, secret bool) error {
	has := jsonTypes(v)
	if !slices.ContainsFunc(types, func(t string) bool { return slices.Contains(has, t) }) {
		value := repr(v)
		if secret {
			value = "The value"
		}
		return schemaError(schema, "%s is not of type '%s'", value, strings.Join(types, "', '"))
	}
	if s, ok := v.(string); ok && maxLength > 0 && utf8.RuneCountInString(s) > maxLength {
		return schemaError(schema, "%s is too long", repr(v))
	}
	return nil
}

// checkObject returns a body as an object. It refuses unknown keys and the absence of required
// ones.
func checkObject(schema string, body any, known func(key string) bool, required ...string) (map[string]any, error) {
	object, ok := body.(map[string]any)
	if !ok {
		return nil, schemaError(schema, "%s is not of type 'object'", repr(body))
	}
	var unexpected []string
	for key := range object {
		if !known(key) {
			unexpected = append(unexpected, "'"+show(key)+"'")
		}
	}
	slices.Sort(unexpected)
	switch {
	case len(unexpected) == 1:
		return nil, schemaError(schema, "Additional properties are not allowed (%s was unexpected)", unexpected[0])
	case len(unexpected) > 1:
		unexpected = unexpected[:min(len(unexpected), maxUnexpected)]
		return nil, schemaError(schema, "Additional properties are not allowed (%s were unexpected)", strings.Join(unexpected, ", "))
	}
	for _, key := range required {
		if _, ok := object[key]; !ok {
			return nil, schemaError(schema, "'%s' is a required property", key)
		}
	}
	return object, nil
}

// maxUnexpected bounds the number of unknown keys that a fault lists.
const maxUnexpected = 20

func oneOf(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
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
