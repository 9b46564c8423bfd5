// SPDX-License-Identifier: Apache-2.0

// Package pyrepr prints values as Python's repr does, for texts that Ironic gives to clients.
package pyrepr

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Of returns a decoded JSON value in the form of Python's repr. Objects have sorted keys.
func Of(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return Text(v)
	case json.Number:
		return number(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = Of(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []string:
		return List(v)
	case map[string]any:
		return Object(v, nil)
	default:
		return fmt.Sprint(v)
	}
}

// Object returns an object in the form of Python's repr. The keys in the order come first, as it has them, and the
// other keys follow sorted.
func Object(object map[string]any, order []string) string {
	keys := slices.Sorted(maps.Keys(object))
	slices.SortStableFunc(keys, func(a, b string) int {
		// A key that the order lacks has index -1, which is the largest uint.
		return cmp.Compare(uint(slices.Index(order, a)), uint(slices.Index(order, b)))
	})
	for i, key := range keys {
		keys[i] = Text(key) + ": " + Of(object[key])
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

// List returns texts in the form of a Python list.
func List(texts []string) string {
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = Text(text)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// Text returns a text in quotes, which are double if the text contains single ones only.
func Text(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b := []byte{quote}
	for _, c := range s {
		switch {
		case c == rune(quote) || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(c):
			b = append(b, string(c)...)
		case c <= math.MaxUint8:
			b = fmt.Appendf(b, `\x%02x`, c)
		case c <= math.MaxUint16:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = fmt.Appendf(b, `\U%08x`, c)
		}
	}
	return string(append(b, quote))
}

// number returns an integer as it is, and any other number as Python prints the float.
func number(v json.Number) string {
	if !strings.ContainsAny(v.String(), ".eE") {
		return v.String()
	}
	f, _ := v.Float64() // infinite if out of range
	switch magnitude := math.Abs(f); {
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	case magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	default:
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
}

// Truthy reports whether a value in decoded JSON is true in a condition of Python.
func Truthy(v any) bool {
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
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return true
	}
}
