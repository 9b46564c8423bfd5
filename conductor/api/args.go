package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// args are the arguments of a request by name: its query parameters and the keys of the
// object in its body. After the first invalid argument err is its fault, and all methods
// return zero values.
//
// Source: ironic/common/args.py.
type args struct {
	values map[string]any
	err    error
}

// queryArgs returns the query parameters. Any name other than those given is a fault.
func (r *request) queryArgs(names ...string) *args {
	a := &args{values: map[string]any{}}
	a.addQuery(r)
	a.only(names)
	return a
}

// bodyArgs returns the query parameters and the keys of the body. Any name other than those
// given is a fault.
func (r *request) bodyArgs(limit int64, names ...string) *args {
	a := &args{values: map[string]any{}}
	a.addQuery(r)
	body, err := r.decode(limit)
	if err != nil {
		a.err = err
		return a
	}
	object, _ := body.(map[string]any)
	if kind := r.contentType(); len(object) > 0 && kind != "application/json" && kind != "application/javascript" {
		a.err = errNotJSON
		return a
	}
	for name, value := range object {
		if other, has := a.values[name]; has {
			value = []any{other, value} // as Ironic's web framework does
		}
		a.values[name] = value
	}
	a.only(names)
	return a
}

func (a *args) addQuery(r *request) {
	for key, values := range r.query {
		if len(values) == 1 {
			a.values[key] = values[0]
			continue
		}
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		a.values[key] = list
	}
}

func (a *args) only(names []string) {
	var unexpected []string
	for name := range a.values {
		if !slices.Contains(names, name) {
			unexpected = append(unexpected, name)
		}
	}
	if len(unexpected) > 0 {
		slices.Sort(unexpected)
		a.fail("Unexpected arguments: %s", strings.Join(unexpected, ", "))
	}
}

func (a *args) fail(format string, args ...any) {
	if a.err == nil {
		a.err = invalid(format, args...)
	}
}

// has reports whether an argument is present and not null.
func (a *args) has(name string) bool { return a.values[name] != nil }

// given reports whether an argument is present and not empty.
func (a *args) given(name string) bool { return a.has(name) && a.values[name] != "" }

// need makes the absence of an argument a fault.
func (a *args) need(name string) *args {
	if _, ok := a.values[name]; !ok {
		a.fail("Missing mandatory parameter: %s", name)
	}
	return a
}

// text returns a string argument, "" if it is absent.
func (a *args) text(name string) string {
	v := a.values[name]
	s, ok := v.(string)
	if v != nil && !ok {
		a.fail("Expected string for %s: %s", name, show(v))
	}
	return s
}

// uuid returns a UUID, "" if it is absent.
func (a *args) uuid(name string) string {
	v := a.values[name]
	s, ok := v.(string)
	if v != nil && (!ok || !isUUID(s)) {
		a.fail("Expected UUID for %s: %s", name, show(v))
	}
	return s
}

// name returns a name, "" if it is absent.
func (a *args) name(name string) string {
	v := a.values[name]
	s, ok := v.(string)
	if v != nil && (!ok || !isName(s)) {
		a.fail("Expected name for %s: %s", name, show(v))
	}
	return s
}

// ident returns a UUID or a name, "" if it is absent.
func (a *args) ident(name string) string {
	v := a.values[name]
	s, ok := v.(string)
	if v != nil && (!ok || !isName(s) && !isUUID(s)) {
		a.fail("Expected UUID or name for %s: %s", name, show(v))
	}
	return s
}

// mac returns a MAC address in lower case, "" if it is absent.
func (a *args) mac(name string) string {
	v := a.values[name]
	s, ok := v.(string)
	if v != nil && (!ok || !isMAC(s)) {
		a.fail("Expected valid MAC address for %s: %s", name, show(v))
	}
	return strings.ToLower(s)
}

// boolean returns a boolean, nil if it is absent.
func (a *args) boolean(name string) *bool {
	v := a.values[name]
	if v == nil {
		return nil
	}
	b, ok := parseBoolean(v)
	if !ok {
		a.fail("%s", notBoolean(name, v))
		return nil
	}
	return &b
}

// integer returns an integer and whether it is present. As Python's int does, it takes booleans for
// numbers and drops fractions.
func (a *args) integer(name string) (n int, ok bool) {
	switch v := a.values[name].(type) {
	case nil:
		return 0, false
	case bool:
		if v {
			n = 1
		}
		return n, true
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n, true
		}
		if f, err := v.Float64(); err == nil && math.Abs(f) < math.MaxInt32 {
			return int(f), true
		}
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err == nil || errors.Is(err, strconv.ErrRange) { // n is then the nearest number
			return n, true
		}
	}
	a.fail("Expected an integer for %s: %s", name, show(a.values[name]))
	return 0, false
}

// list returns the items of a comma-separated string in lower case without duplicates. The
// result is nil if the argument is absent, and not nil if the string is empty.
func (a *args) list(name string) []string {
	if !a.has(name) {
		return nil
	}
	items := []string{}
	for item := range strings.SplitSeq(a.text(name), ",") {
		item = strings.ToLower(strings.TrimSpace(item))
		if item != "" && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}

// items returns a JSON list, nil if it is absent.
func (a *args) items(name string) []any {
	v := a.values[name]
	list, ok := v.([]any)
	if v != nil && !ok {
		a.fail("Expected types <class 'NoneType'>, <class 'list'> for %s: %s", name, show(v))
	}
	return list
}

// booleans are the accepted words for booleans. Source: bool_from_string of oslo.utils.
var booleans = map[string]bool{
	"0": false, "f": false, "false": false, "n": false, "no": false, "off": false,
	"1": true, "on": true, "t": true, "true": true, "y": true, "yes": true,
}

// parseBoolean returns the boolean that the value stands for when it is printed.
func parseBoolean(v any) (value, ok bool) {
	value, ok = booleans[strings.ToLower(strings.TrimSpace(show(v)))]
	return value, ok
}

func notBoolean(name string, v any) string {
	return fmt.Sprintf("Invalid %s: Unrecognized value '%s', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", name, show(v))
}

func toBoolean(name string, v any) (*bool, error) {
	if v == nil {
		return nil, nil
	}
	b, ok := parseBoolean(v)
	if !ok {
		return nil, invalid("%s", notBoolean(name, v))
	}
	return &b, nil
}
