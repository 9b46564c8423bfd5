// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/pyrepr"
)

// clone returns a deep copy of decoded JSON. A nil object becomes an empty one.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, value := range v {
			object[key] = clone(value)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = clone(item)
		}
		return list
	default:
		return v
	}
}

// str returns a value as Python's str shows it.
func str(v any) string {
	if text, is := v.(string); is {
		return text
	}
	return pyrepr.Of(v)
}

// className returns the name of the value's type in Python.
func className(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case string:
		return "str"
	case []any:
		return "list"
	case map[string]any:
		return "dict"
	case json.Number:
		if !isInteger(v) {
			return "float"
		}
	}
	return "int"
}

// isInteger reports whether a number is written without a fraction and an exponent.
func isInteger(n json.Number) bool { return !strings.ContainsAny(n.String(), ".eE") }

// number returns a number or a boolean as a number.
func number(v any) (n json.Number, ok bool) {
	switch v := v.(type) {
	case json.Number:
		return v, true
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	}
	return "", false
}

// compareNumbers compares two numbers, integers exactly.
func compareNumbers(x, y json.Number) int {
	if isInteger(x) && isInteger(y) {
		i, _ := new(big.Int).SetString(x.String(), 10)
		j, _ := new(big.Int).SetString(y.String(), 10)
		return i.Cmp(j)
	}
	f, _ := x.Float64()
	g, _ := y.Float64()
	switch {
	case f < g:
		return -1
	case f > g:
		return 1
	default:
		return 0
	}
}

// equal reports whether two values are equal in Python: 1, 1.0 and True are.
func equal(x, y any) bool {
	if n, ok := number(x); ok {
		m, both := number(y)
		return both && compareNumbers(n, m) == 0
	}
	switch x := x.(type) {
	case []any:
		list, both := y.([]any)
		return both && slices.EqualFunc(x, list, equal)
	case map[string]any:
		object, both := y.(map[string]any)
		return both && maps.EqualFunc(x, object, equal)
	case string:
		return x == y
	default:
		return y == nil
	}
}

// less reports whether x is less than y: both are numbers, texts or lists. The operator is "<", or ">" if the condition
// names y first.
func less(x, y any, operator string) (bool, error) {
	if n, ok := number(x); ok {
		if m, both := number(y); both {
			return compareNumbers(n, m) < 0, nil
		}
	}
	switch x := x.(type) {
	case string:
		if text, both := y.(string); both {
			return x < text, nil
		}
	case []any:
		list, both := y.([]any)
		if !both {
			break
		}
		for i := range min(len(x), len(list)) {
			if !equal(x[i], list[i]) {
				return less(x[i], list[i], operator)
			}
		}
		return len(x) < len(list), nil
	}
	if operator == ">" {
		x, y = y, x
	}
	return false, fmt.Errorf("'%s' not supported between instances of '%s' and '%s'", operator, className(x), className(y))
}

// hiddenKeys are the keys of an inventory and of plugin data whose values rules do not see.
var hiddenKeys = []string{"password", "auth_token", "bmc_password"}

// hidden is what rules see in place of such a value.
const hidden = "***"

// visible returns a value of a key, or of an element of a list, as rules see it.
func visible(key string, v any) any {
	if slices.Contains(hiddenKeys, key) {
		return hidden
	}
	switch v := v.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, value := range v {
			object[key] = visible(key, value)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = visible("", item)
		}
		return list
	default:
		return v
	}
}
