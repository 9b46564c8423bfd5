// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
)

// segments returns the segments of a path, none for an empty one.
func segments(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// TestSegmentsAreIdentifiersThenParametersThenArgumentsThenTheBody distributes segments to an action.
func TestSegmentsAreIdentifiersThenParametersThenArgumentsThenTheBody(t *testing.T) {
	type object = map[string]any
	node, driver := Action{Idents: NodeIdent}, Action{NoArgs: true, Idents: []string{"driver_name"}}
	all := Action{Idents: NodeIdent, Optional: 1, Args: []string{"x", "y"}, Body: "b"}
	some, none, create := Action{Args: []string{"x"}}, Action{NoArgs: true}, Action{NoArgs: true, Body: "b"}
	indicator := Action{Idents: []string{NodeIdent[0], "indicator"}}
	raid, traits := Action{Idents: NodeIdent, NoArgs: true, Body: "b"}, Action{NoArgs: true, Args: []string{"x"}, Body: "b"}
	const missing, unknown, badName = "Missing mandatory parameter: node_ident", "unknown", "Expected UUID or name for node_ident: a b"
	for _, c := range []struct {
		action  Action
		request string // method, path and query
		object  object // in the body
		params  string
		query   string // what is left of it
		inPath  string
		sent    object
		body    any
		fault   string // the answer, or later for identFault
	}{
		{action: node, request: "GET n", params: "n"},
		{action: node, request: "GET ?node_ident=n&a=1", params: "n", query: "a=1"},
		{action: node, request: "GET ?node_ident=n&node_ident=m", fault: "later Expected UUID or name for node_ident: ['n', 'm']"},
		{action: node, request: "GET ", fault: missing},
		{action: node, request: "GET /", fault: missing},
		{action: node, request: "GET n/m", fault: unknown},
		{action: node, request: "GET n/m?z=1", fault: "Unexpected arguments: z"},
		{action: node, request: "GET n/m?node_ident=n", fault: unknown},
		{action: node, request: "PUT a b/m", fault: badName},
		{action: some, request: "GET 1/2?x=1", fault: unknown},
		{action: node, request: "PUT a b", params: "a b", fault: "later " + badName},
		{action: node, request: "DELETE a b", fault: badName},
		{action: node, request: "PATCH a b", fault: badName},
		{action: Action{Idents: NodeIdent, NoArgs: true}, request: "GET a b", fault: badName},
		{action: node, request: "DELETE ?node_ident=n&node_ident=m", fault: "Expected UUID or name for node_ident: ['n', 'm']"},
		{action: node, request: "DELETE ", object: object{"node_ident": "n"}, params: "n", sent: object{}},
		{action: node, request: "DELETE ", object: object{"node_ident": nil}, fault: missing},
		{action: node, request: "DELETE ", object: object{"node_ident": json.Number("5")}, fault: "Expected UUID or name for node_ident: 5"},
		{action: node, request: "DELETE n", object: object{"node_ident": "n"}, fault: "Unexpected arguments: node_ident"},
		{action: node, request: "DELETE n?y=1", object: object{"z": nil}, fault: "Unexpected arguments: y, z"},
		{action: node, request: "PUT n", object: object{"z": nil}, params: "n"}, // read by the handler
		{action: indicator, request: "PUT n?indicator=a&indicator=b", params: "n/",
			fault: "later Expected UUID or name for indicator: ['a', 'b']"},
		{action: indicator, request: "PUT a b?indicator=a&indicator=b", params: "a b/", fault: "later " + badName},
		{action: all, request: "PUT n/p/1/2/b", params: "n/p", query: "x=1&y=2", inPath: "x/y", body: "b"},
		{action: all, request: "PUT n/p/1", params: "n/p", query: "x=1", inPath: "x"},
		{action: all, request: "PUT n/p/1?x=0", fault: "The path and the query both have the argument x"},
		{action: all, request: "PUT n/p/1?x=0&z=0", fault: "Unexpected arguments: z"},
		{action: all, request: "PUT a b/p/1?x=0", fault: badName},
		{action: some, request: "DELETE 1", object: object{"x": "0"}, fault: "The path and the body both have the argument x"},
		{action: some, request: "DELETE ?x=1", query: "x=1", sent: object{"x": "1"}},
		{action: some, request: "DELETE ?x=1", object: object{"x": true}, query: "x=1", sent: object{"x": []any{"1", true}}},
		{action: some, request: "DELETE ?z=1", fault: "Unexpected arguments: z"},
		{action: some, request: "PATCH ?z=1", fault: "Unexpected arguments: z"},
		{action: some, request: "PATCH 1", query: "x=1", inPath: "x"},
		{action: Action{AnyMethod: true}, request: "DELETE ?z=1", object: object{"z": nil}, query: "z=1"},
		{action: Action{AnyMethod: true}, request: "PATCH ?z=1", query: "z=1"},
		{action: Action{Idents: []string{"name"}}, request: "PATCH a b", params: "a b"},
		{action: Action{Idents: []string{"x_uuid"}}, request: "GET ?x_uuid=a&x_uuid=b", fault: "Expected UUID for x_uuid: ['a', 'b']"},
		{action: driver, request: "GET ?driver_name=a&driver_name=b", fault: "Expected string for driver_name: ['a', 'b']"},
		{action: driver, request: "GET a?driver_name=b", fault: "Unexpected arguments: driver_name"},
		{action: Action{}, request: "GET ?z=1", query: "z=1"},
		{action: none, request: "GET ?z=1", fault: "Unexpected arguments: z"},
		{action: create, request: "POST ?b=1&z=1", fault: "Unexpected arguments: z"},
		{action: create, request: "POST ?b=1&z=1", object: object{"z": nil, "b": nil}},
		{action: create, request: "POST x?b=1", query: "b=1", body: "x"},
		{action: create, request: "POST x?b=1&z=1", fault: "Unexpected arguments: z"},
		{action: create, request: "POST x?b=1&z=1", object: object{"z": nil}, query: "b=1", body: "x"},
		{action: raid, request: "PUT ?node_ident=n", object: object{"z": nil}, params: "n"},
		{action: raid, request: "PUT ?node_ident=n", object: object{"node_ident": "n"}, fault: missing},
		{action: raid, request: "PUT n?node_ident=n", params: "n", query: "node_ident=n"}, // the handler refuses it
		{action: raid, request: "PUT n/x?node_ident=n", params: "n", query: "node_ident=n", body: "x"},
		{action: raid, request: "PUT a b?node_ident=n", fault: badName},
		{action: raid, request: "PUT a b?z=n", fault: "Unexpected arguments: z"},
		{action: traits, request: "PUT 1", query: "x=1", inPath: "x"},
		{action: traits, request: "PUT 1/c?b=1", query: "b=1&x=1", inPath: "x", body: "c"},
		{action: traits, request: "PUT 1?x=0", object: object{"x": nil}, query: "x=1", inPath: "x"},
	} {
		method, target, _ := strings.Cut(c.request, " ")
		path, raw, _ := strings.Cut(target, "?")
		query, err := url.ParseQuery(raw)
		require.NoError(t, err)
		got, err := distribute(&c.action, method, segments(path), query, c.object)
		message := []any{"%s %v of %+v", c.request, c.object, c.action}
		later, isLater := strings.CutPrefix(c.fault, "later ")
		switch {
		case isLater:
			require.NoError(t, err, message...)
			requireFault(t, got.identFault, later, message...)
		case c.fault == unknown:
			require.ErrorIs(t, err, fault.UnknownPath, message...)
			continue
		case c.fault != "":
			requireFault(t, err, c.fault, message...)
			continue
		default:
			require.NoError(t, err, message...)
			require.NoError(t, got.identFault, message...)
		}
		require.Equal(t, c.params, strings.Join(got.params, "/"), message...)
		require.Equal(t, c.query, got.query.Encode(), message...)
		require.Equal(t, c.inPath, strings.Join(got.inPath, "/"), message...)
		require.Equal(t, c.sent, got.sent, message...)
		require.Equal(t, c.body, got.body, message...)
		require.Equal(t, c.body != nil, got.bodyKnown, message...)
		require.Same(t, &c.action, got.action, message...)
	}
}

// TestEachTextOfARequestGoesToOnePlaceOrIsRefused distributes every combination of a few segments, query parameters and
// keys of a body to actions of every kind.
func TestEachTextOfARequestGoesToOnePlaceOrIsRefused(t *testing.T) {
	places := func(params []string, query url.Values, body string) (texts []string) {
		texts = append(slices.Clone(params), body)
		for _, values := range query {
			texts = append(texts, values...)
		}
		return slices.Sorted(slices.Values(nonEmpty(texts)))
	}
	accepted := 0
	for _, a := range []Action{
		{}, {NoArgs: true}, {NoArgs: true, Body: "b"}, {Args: []string{"x"}}, {Optional: AnyNumber}, {Idents: NodeIdent},
		{Idents: NodeIdent, NoArgs: true}, {Idents: NodeIdent, Optional: 1, Args: []string{"x", "y"}, Body: "b"},
		{Idents: []string{"node_ident", "x"}}, {Idents: []string{"x"}, NoArgs: true}, {Idents: NodeIdent, Optional: 1, AnyMethod: true},
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			for _, path := range []string{"", "/", "p", "/p", "p q", "p/q", "p/q/r", "p/q/r/s", "p/q/r/s/t"} {
				for _, query := range []url.Values{
					nil, {"x": {"1"}}, {"x": {"1", "2"}}, {"node_ident": {"3"}}, {"node_ident": {"4"}, "z": {"5"}}, {"b": {"6"}},
				} {
					for _, object := range []map[string]any{nil, {"x": "7"}, {"node_ident": json.Number("8")}, {"z": nil}} {
						message := fmt.Sprintf("%s %s ?%s %v of %+v", method, path, query.Encode(), object, a)
						queryBefore, objectBefore := maps.Clone(query), maps.Clone(object)
						got, err := distribute(&a, method, segments(path), query, object)
						require.Equal(t, queryBefore, query, message)
						require.Equal(t, objectBefore, object, message)
						if err != nil {
							require.Less(t, fault.Of(err).Status, 500, message)
							continue
						}
						accepted++
						require.GreaterOrEqual(t, len(got.params), len(a.Idents), message)
						if got.identFault != nil || method == "DELETE" { // an identifier may be a list of texts, or in the body
							continue
						}
						if a.Body != "" && len(segments(path)) > len(a.Idents)+a.Optional+len(a.Args)+1 { // the rest is ignored
							continue
						}
						sent := maps.Clone(query)
						if a.Body != "" {
							maps.DeleteFunc(sent, func(name string, _ []string) bool { _, hidden := object[name]; return hidden })
						}
						body, _ := got.body.(string)
						require.Equal(t, places(segments(path), sent, ""), places(got.params, got.query, body), message)
					}
				}
			}
		}
	}
	require.Positive(t, accepted)
}
