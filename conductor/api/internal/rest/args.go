// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/states"
)

// Args are the arguments of a request by name: its query parameters and the keys of the
// object in its body. After the first invalid argument, Err is its fault.
//
// Source: ironic/common/args.py.
type Args struct {
	Values map[string]any
	Err    error

	repeats bool // the series takes a repeated parameter for a list
}

// QueryArgs returns the query parameters and, of a DELETE, the arguments in the body. Any name other than those given
// is a fault.
func (r *Request) QueryArgs(names ...string) *Args {
	values := arguments(r.Query, nil)
	maps.Copy(values, r.bound.sent)
	return r.args(values, names)
}

// BodyArgs returns the query parameters and the keys of the body. Any name other than those
// given is a fault.
func (r *Request) BodyArgs(limit Limit, names ...string) *Args {
	object, err := r.object(limit)
	if err != nil {
		return &Args{Values: arguments(r.Query, nil), Err: err}
	}
	return r.args(arguments(r.Query, object), names)
}

// args returns arguments. It refuses other names than those given and the body's, then an identifier in the path.
func (r *Request) args(values map[string]any, names []string) *Args {
	if a := r.bound.action; a != nil && a.Body != "" {
		names = append(slices.Clone(names), a.Body)
	}
	return &Args{
		Values: values, Err: cmp.Or(unexpected(values, names), r.bound.identFault),
		repeats: r.Series >= states.Caracal, // 24.1.5; see the release note string-list-6098010bfdce9149
	}
}

// arguments returns the parameters of a query and the keys of an object, merged as Ironic's web framework does.
func arguments(query url.Values, object map[string]any) map[string]any {
	values := make(map[string]any, len(query)+len(object))
	for name, texts := range query {
		values[name] = argument(texts)
	}
	for name, value := range object {
		if other, has := values[name]; has {
			value = []any{other, value}
		}
		values[name] = value
	}
	return values
}

// argument returns the value of a query parameter: a text, or a list of texts if it is repeated.
func argument(texts []string) any {
	if len(texts) == 1 {
		return texts[0]
	}
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// unexpected returns the fault of arguments with other names than those given, nil for none.
func unexpected[V any](values map[string]V, names []string) error {
	var others []string
	for name := range values {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return fault.Invalid("Unexpected arguments: %s", strings.Join(others, ", "))
}

// Fail sets Err to a fault with the status 400, unless Err is set already.
func (a *Args) Fail(format string, args ...any) {
	if a.Err == nil {
		a.Err = fault.Invalid(format, args...)
	}
}

// Has reports whether an argument is present and not null.
func (a *Args) Has(name string) bool { return a.Values[name] != nil }

// Given reports whether an argument is present and not empty.
func (a *Args) Given(name string) bool { return a.Has(name) && a.Values[name] != "" }

// Need makes the absence of an argument a fault.
func (a *Args) Need(name string) *Args {
	if _, ok := a.Values[name]; !ok {
		a.Fail("Missing mandatory parameter: %s", name)
	}
	return a
}

// Text returns a string argument, "" if it is absent.
func (a *Args) Text(name string) string {
	return a.text(name, "string", func(string) bool { return true })
}

// Word returns a string argument that names something, "" if it is absent. Null is the word None, as Ironic prints it.
func (a *Args) Word(name string) string {
	if v, given := a.Values[name]; given && v == nil {
		return fault.Repr(nil)
	}
	return a.Text(name)
}

// UUID returns a UUID, "" if it is absent.
func (a *Args) UUID(name string) string { return a.text(name, "UUID", IsUUID) }

// Name returns a name, "" if it is absent.
func (a *Args) Name(name string) string { return a.text(name, "name", IsName) }

// Ident returns a UUID or a name, "" if it is absent.
func (a *Args) Ident(name string) string {
	return a.text(name, "UUID or name", func(s string) bool { return IsName(s) || IsUUID(s) })
}

// MAC returns a MAC address in lower case, "" if it is absent.
func (a *Args) MAC(name string) string {
	return strings.ToLower(a.text(name, "valid MAC address", IsMAC))
}

func (a *Args) text(name, want string, valid func(string) bool) string {
	v := a.Values[name]
	s, ok := v.(string)
	if v != nil && (!ok || !valid(s)) {
		a.Fail("Expected %s for %s: %s", want, name, fault.Show(v))
	}
	return s
}

// Boolean returns a boolean, nil if it is absent.
func (a *Args) Boolean(name string) *bool {
	v := a.Values[name]
	if v == nil {
		return nil
	}
	b, ok := parseBoolean(v)
	if !ok {
		a.Fail("%s", notBoolean(name, v))
		return nil
	}
	return &b
}

// Integer returns an integer and whether it is present. As Python's int does, it takes booleans for
// numbers and drops fractions.
func (a *Args) Integer(name string) (n int, ok bool) {
	switch v := a.Values[name].(type) {
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
	a.Fail("Expected an integer for %s: %s", name, fault.Show(a.Values[name]))
	return 0, false
}

// List returns the items of a comma-separated string in lower case without duplicates, or since 2024.1 the texts of a
// list as they are. The result is nil if the argument is absent, and not nil if the string is empty.
func (a *Args) List(name string) []string {
	if !a.Has(name) {
		return nil
	}
	items := []string{}
	if list, is := a.Values[name].([]any); is && a.repeats {
		for _, item := range list {
			items = append(items, fault.Show(item))
		}
		return items
	}
	for item := range strings.SplitSeq(a.Text(name), ",") {
		item = strings.ToLower(strings.TrimSpace(item))
		if item != "" && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}

// ListHas reports whether a list of [Args.List] has a word, whose case does not matter.
func ListHas(list []string, word string) bool { return slices.Contains(list, strings.ToLower(word)) }

// Items returns a JSON list, nil if it is absent.
func (a *Args) Items(name string) []any {
	v := a.Values[name]
	list, ok := v.([]any)
	if v != nil && !ok {
		a.Fail("Expected types <class 'NoneType'>, <class 'list'> for %s: %s", name, fault.Show(v))
	}
	return list
}

// parseBoolean returns the boolean that the value stands for when it is printed.
func parseBoolean(v any) (value, ok bool) { return oslobool.Parse(fault.Show(v)) }

func notBoolean(name string, v any) string {
	return fmt.Sprintf("Invalid %s: Unrecognized value '%s', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', "+
		"'on', 't', 'true', 'y', 'yes'", name, fault.Show(v))
}

// ToBoolean returns the boolean that a value stands for, nil for null.
func ToBoolean(name string, v any) (*bool, error) {
	if v == nil {
		return nil, nil
	}
	b, ok := parseBoolean(v)
	if !ok {
		return nil, fault.Invalid("%s", notBoolean(name, v))
	}
	return &b, nil
}
