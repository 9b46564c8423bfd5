package api

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// schemaError is the fault of a body that breaks its schema. The first argument names
// the schema.
func schemaError(what, format string, args ...any) error {
	return invalid("Schema error for %s: %s", what, fmt.Sprintf(format, args...))
}

// jsonTypes returns the types of JSON that a value has.
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

// checkType refuses a value that has none of the types, or is a text that is too long.
// It repeats the value, unless it might be a secret.
func checkType(what string, v any, types []string, maxLength int, secret bool) error {
	has := jsonTypes(v)
	if !slices.ContainsFunc(types, func(t string) bool { return slices.Contains(has, t) }) {
		value := repr(v)
		if secret {
			value = "The value"
		}
		return schemaError(what, "%s is not of type '%s'", value, strings.Join(types, "', '"))
	}
	if s, ok := v.(string); ok && maxLength > 0 && utf8.RuneCountInString(s) > maxLength {
		return schemaError(what, "%s is too long", repr(v))
	}
	return nil
}

// checkObject returns a body as an object with no other keys than those known, and
// with those required.
func checkObject(what string, body any, known func(key string) bool, required ...string) (map[string]any, error) {
	object, ok := body.(map[string]any)
	if !ok {
		return nil, schemaError(what, "%s is not of type 'object'", repr(body))
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
		return nil, schemaError(what, "Additional properties are not allowed (%s was unexpected)", unexpected[0])
	case len(unexpected) > 1:
		unexpected = unexpected[:min(len(unexpected), maxUnexpected)]
		return nil, schemaError(what, "Additional properties are not allowed (%s were unexpected)", strings.Join(unexpected, ", "))
	}
	for _, key := range required {
		if _, ok := object[key]; !ok {
			return nil, schemaError(what, "'%s' is a required property", key)
		}
	}
	return object, nil
}

// maxUnexpected bounds the unknown keys that a fault names.
const maxUnexpected = 20

func oneOf(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}
