// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/states"
)

// sent returns a request with a query and a JSON body.
func sent(method, query, body string) *Request {
	r := httptest.NewRequest(method, "/?"+query, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	s := &Service{Series: states.Latest()}
	s.makeBudgets()
	request := NewRequest(s, r)
	request.Query = r.URL.Query()
	return request
}

// requireFault asserts the text of a fault.
func requireFault(t *testing.T, err error, text string, message ...any) {
	t.Helper()
	require.Error(t, err, message...)
	require.Equal(t, text, fault.Of(err).Text, message...)
}

func TestArgumentsComeFromQueryAndBody(t *testing.T) {
	for _, c := range []struct {
		query, body string
		values      map[string]any
		fault       string
	}{
		{"a=1", `{"b": 2}`, map[string]any{"a": "1", "b": json.Number("2")}, ""},
		{"a=1", `{"a": 2}`, map[string]any{"a": []any{"1", json.Number("2")}}, ""},
		{"a=1&a=2", ``, map[string]any{"a": []any{"1", "2"}}, ""},
		{"c=1", `{"d": 2, "a": 3}`, map[string]any{"a": json.Number("3"), "c": "1", "d": json.Number("2")}, "Unexpected arguments: c, d"},
		{"", `[1]`, map[string]any{}, ""},
		{"", `{`, map[string]any{}, "The request body is not JSON: unexpected end of JSON input"},
	} {
		a := sent("PUT", c.query, c.body).BodyArgs(MaxBody, "a", "b")
		require.Equal(t, c.values, a.Values, "%s %s", c.query, c.body)
		if c.fault == "" {
			require.NoError(t, a.Err, "%s %s", c.query, c.body)
		} else {
			requireFault(t, a.Err, c.fault, "%s %s", c.query, c.body)
		}
	}
	requireFault(t, sent("GET", "b=1&c=2&a=3", "").QueryArgs("b").Err, "Unexpected arguments: a, c")
	require.NoError(t, sent("GET", "b=1", "").QueryArgs("b").Err)
}

func TestOnlyAnObjectOfJSONHasArguments(t *testing.T) {
	for kind, allowed := range map[string]bool{
		"application/json": true, " application/json ; charset=utf-8": true, "application/javascript": true, "text/plain": false, "": false,
	} {
		r := sent("PUT", "", `{"a": 1}`)
		r.Header.Set("Content-Type", kind)
		a := r.BodyArgs(MaxBody, "a")
		if allowed {
			require.NoError(t, a.Err, kind)
			require.Equal(t, map[string]any{"a": json.Number("1")}, a.Values, kind)
		} else {
			require.ErrorIs(t, a.Err, errNotJSON, kind)
			require.Empty(t, a.Values, kind)
		}
		r = sent("PUT", "", `{}`)
		r.Header.Set("Content-Type", kind)
		require.NoError(t, r.BodyArgs(MaxBody).Err, "an empty object: %q", kind)
	}
	for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		r := sent("PUT", "", `[]`)
		r.Header.Set("Content-Type", kind)
		require.ErrorIs(t, r.BodyArgs(MaxBody).Err, errNotJSON, kind)
	}
}

func TestTheFirstInvalidArgumentIsTheFault(t *testing.T) {
	a := &Args{Values: map[string]any{"n": "x", "u": "y", "null": nil, "empty": ""}}
	require.True(t, a.Has("n"))
	require.False(t, a.Has("null"))
	require.False(t, a.Has("absent"))
	require.True(t, a.Has("empty"))
	require.True(t, a.Given("n"))
	require.False(t, a.Given("empty"))
	require.False(t, a.Given("null"))
	require.NoError(t, a.Need("null").Err)
	require.Equal(t, "x", a.Text("n"))
	require.Empty(t, a.UUID("absent"))
	require.NoError(t, a.Err)
	a.UUID("u")
	a.Integer("n")
	requireFault(t, a.Need("absent").Err, "Expected UUID for u: y")
	a.Err = nil
	requireFault(t, a.Need("absent").Err, "Missing mandatory parameter: absent")
}

func TestTheTypesOfArguments(t *testing.T) {
	const uuid, bad = "11111111-2222-3333-4444-555555555555", "a b"
	for _, c := range []struct {
		read  func(a *Args) any
		value any
		want  any
		fault string
	}{
		{func(a *Args) any { return a.Text("x") }, bad, bad, ""},
		{func(a *Args) any { return a.Text("x") }, json.Number("1"), "", "Expected string for x: 1"},
		{func(a *Args) any { return a.UUID("x") }, uuid, uuid, ""},
		{func(a *Args) any { return a.UUID("x") }, "n", "n", "Expected UUID for x: n"},
		{func(a *Args) any { return a.Name("x") }, "n", "n", ""},
		{func(a *Args) any { return a.Name("x") }, bad, bad, "Expected name for x: a b"},
		{func(a *Args) any { return a.Ident("x") }, "n", "n", ""},
		{func(a *Args) any { return a.Ident("x") }, "{" + uuid + "}", "{" + uuid + "}", ""},
		{func(a *Args) any { return a.Ident("x") }, bad, bad, "Expected UUID or name for x: a b"},
		{func(a *Args) any { return a.MAC("x") }, "AA:BB:CC:DD:EE:FF", "aa:bb:cc:dd:ee:ff", ""},
		{func(a *Args) any { return a.MAC("x") }, "n", "n", "Expected valid MAC address for x: n"},
		{func(a *Args) any { return a.List("x") }, nil, []string(nil), ""},
		{func(a *Args) any { return a.List("x") }, "", []string{}, ""},
		{func(a *Args) any { return a.List("x") }, " B,a ,,b", []string{"b", "a"}, ""},
		{func(a *Args) any { return a.Items("x") }, nil, []any(nil), ""},
		{func(a *Args) any { return a.Items("x") }, []any{"a"}, []any{"a"}, ""},
		{func(a *Args) any { return a.Items("x") }, "a", []any(nil), "Expected types <class 'NoneType'>, <class 'list'> for x: a"},
	} {
		a := &Args{Values: map[string]any{"x": c.value}}
		require.Equal(t, c.want, c.read(a), "%v", c.value)
		if c.fault == "" {
			require.NoError(t, a.Err, "%v", c.value)
		} else {
			requireFault(t, a.Err, c.fault)
		}
	}
}

func TestIntegersAreReadAsInPython(t *testing.T) {
	type result struct {
		n  int
		ok bool
	}
	for _, c := range []struct {
		value any
		want  result
		fault bool
	}{
		{nil, result{}, false}, {true, result{1, true}, false}, {false, result{0, true}, false},
		{json.Number("5"), result{5, true}, false}, {json.Number("-1.9"), result{-1, true}, false},
		{json.Number("1e3"), result{1000, true}, false},
		{json.Number("2147483646.5"), result{2147483646, true}, false}, {json.Number("2147483647.0"), result{}, true},
		{json.Number("-1e400"), result{}, true},
		{json.Number("1e30"), result{}, true},
		{" 7 ", result{7, true}, false}, {"99999999999999999999", result{1<<63 - 1, true}, false}, {"x", result{}, true}, {"1.5", result{}, true},
		{[]any{}, result{}, true},
	} {
		a := &Args{Values: map[string]any{"x": c.value}}
		n, ok := a.Integer("x")
		require.Equal(t, c.want, result{n, ok}, "%v", c.value)
		require.Equal(t, c.fault, a.Err != nil, "%v", c.value)
		if c.fault {
			require.Contains(t, a.Err.Error(), "Expected an integer for x: ")
		}
	}
}

func TestWordsStandForBooleans(t *testing.T) {
	yes, no := true, false
	for value, want := range map[any]*bool{
		nil: nil, "x": nil, "": nil, true: &yes, false: &no, json.Number("1"): &yes, json.Number("0"): &no, " YES ": &yes, "off": &no,
		"t": &yes, "f": &no, "on": &yes, "n": &no, "y": &yes, "no": &no, "true": &yes, "false": &no,
	} {
		a := &Args{Values: map[string]any{"x": value}}
		require.Equal(t, want, a.Boolean("x"), "%v", value)
		got, err := ToBoolean("x", value)
		require.Equal(t, want, got, "%v", value)
		if invalid := value == "x" || value == ""; invalid {
			text := "Invalid x: Unrecognized value '" + value.(string) + "', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', " +
				"'off', 'on', 't', 'true', 'y', 'yes'"
			requireFault(t, a.Err, text)
			requireFault(t, err, text)
		} else {
			require.NoError(t, a.Err)
			require.NoError(t, err)
		}
	}
}
