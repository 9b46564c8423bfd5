// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/states"
)

// These are versions in the order of time.
const (
	v1 states.APIVersion = iota + 1
	v2
	v3
	v4
	v5
)

func TestThePartsOfAResourceFollowItsIdentifier(t *testing.T) {
	const unknown, unnamed, none = "unknown", "not a name", ""
	parts := map[string]Part{
		"part":    {Controller: &Controller{}, Since: v4},
		"ignored": {Controller: &Controller{}, Since: v4, Ignored: true},
	}
	for _, c := range []struct {
		kind    string
		version states.APIVersion
		path    string
		part    string
		left    string
		fault   string
	}{
		{"node", v2, "n/part", "", "", unknown},
		{"node", v3, "n", "", "", none},
		{"node", v3, "n/other", "", "", none},
		{"node", v3, "n/part", "", "", unknown},
		{"node", v4, "n/part", "part", "", none},
		{"node", v5, "n/part/a/b", "part", "a/b", none},
		{"node", v3, "n/ignored", "", "", none},
		{"node", v4, "n/ignored", "ignored", "", none},
		{"node", v5, "part", "", "", unknown},
		{"node", v5, "part/part", "", "", unknown},
		{"node", v5, "a b/part", "", "", unnamed},
		{"portgroup", v5, "part/part", "part", "", none},
		{"portgroup", v2, "n/part", "", "", unknown},
		{"portgroup", v5, "a b", "", "", unnamed},
		{"portgroup", v5, "{11111111-2222-3333-4444-555555555555}/part", "part", "", none},
	} {
		r := &Request{Version: c.version}
		segments := strings.Split(c.path, "/")
		got, left, err := Below(c.kind, v3, parts)(r, segments)
		message := []any{"%s %s at %v", c.kind, c.path, c.version}
		switch c.fault {
		case unknown:
			require.ErrorIs(t, err, fault.UnknownPath, message...)
		case unnamed:
			requireFault(t, err, "Expected UUID or name for "+c.kind+": a b", message...)
			require.True(t, isRouting(err), message...)
			require.Equal(t, http.StatusBadRequest, fault.Of(err).Status)
		default:
			require.NoError(t, err, message...)
		}
		if c.part == "" {
			require.Nil(t, got, message...)
			require.Empty(t, r.Params, message...)
			continue
		}
		require.Same(t, parts[c.part].Controller, got, message...)
		require.Equal(t, segments[:1], r.Params, message...)
		require.Equal(t, c.left, strings.Join(left, "/"), message...)
	}
}

func TestAControllerIsAdmittedSinceItsVersion(t *testing.T) {
	refuse := RefuseBefore(v3, "runbooks", true)
	later := sent("GET", "", "")
	later.Version = v2
	require.False(t, isRouting(RefuseBefore(v3, "runbooks", false)(later)))
	for method, status := range map[string]int{"GET": http.StatusNotFound, "POST": http.StatusMethodNotAllowed} {
		r := sent(method, "", "")
		r.Version = v3
		require.NoError(t, refuse(r))
		r.Version = v2
		requireFault(t, refuse(r), "The API version does not allow runbooks")
		require.True(t, isRouting(refuse(r)))
		require.Equal(t, status, fault.Of(refuse(r)).Status)
	}
}

// TestAPathAndAMethodHaveAnAction applies each rule of the router to a small tree.
func TestAPathAndAMethodHaveAnAction(t *testing.T) {
	action := func(name string) Action { return Action{Body: name} }
	part := &Controller{Actions: Actions{"get": action("part.get"), "put": action("part.put")}}
	lookup := func(_ *Request, segments []string) (*Controller, []string, error) {
		switch {
		case segments[0] == "bad", segments[0] == "":
			return nil, nil, &fault.Fault{Status: http.StatusBadRequest, Bare: true, Text: "bad"}
		case len(segments) > 1 && segments[1] == "part":
			return part, segments[2:], nil
		}
		return nil, nil, nil
	}
	fallback := action("fallback")
	records := &Controller{
		Actions: Actions{
			All: action("all"), One: action("one"), "post": action("post"), "delete": action("delete"), "patch": action("patch"),
			"detail": {Body: "detail", Method: "GET"}, "set": {Body: "set", Method: "PUT"},
		},
		Subs: map[string]*Controller{
			"states":  {Actions: Actions{"get": action("states.get"), "put": action("states.put")}},
			"only":    {Actions: Actions{"post": action("only.post")}},
			"vendor":  {Actions: Actions{"methods": {Body: "vendor.methods", Method: "GET"}}, Fallback: &fallback},
			"refused": {Admit: func(*Request) error { return errNotJSON }},
		},
		Lookup: lookup,
	}
	plain := &Controller{
		Actions: Actions{All: action("plain.all")},
		Subs:    map[string]*Controller{"sub": {Actions: Actions{All: action("sub.all")}}},
	}
	for _, c := range []struct {
		tree    *Controller
		request string
		action  string
		left    string
		before  string
		allow   string
		status  int
	}{
		{tree: records, request: "GET ", action: "all"},
		{tree: records, request: "GET n", action: "one", left: "n"},
		{tree: records, request: "GET n/m", action: "one", left: "n/m"},
		{tree: records, request: "GET detail", action: "detail"},
		{tree: records, request: "GET n/detail", action: "detail", left: "n"},
		{tree: records, request: "GET detail/n", action: "one", left: "detail/n"},
		{tree: records, request: "PUT set/n", action: "set", left: "n"},
		{tree: records, request: "PUT n/set", status: 405, allow: "DELETE, GET, PATCH, POST"},
		{tree: records, request: "POST ", action: "post"},
		{tree: records, request: "POST n", action: "post", left: "n"},
		{tree: records, request: "POST detail", action: "post", left: "detail"},
		{tree: records, request: "DELETE n", action: "delete", left: "n"},
		{tree: records, request: "PATCH n", action: "patch", left: "n"},
		{tree: records, request: "HEAD n", status: 405, allow: "DELETE, GET, PATCH, POST"},
		{tree: records, request: "GET n/states", action: "states.get", before: "n"},
		{tree: records, request: "GET states/n", action: "states.get", left: "n"},
		{tree: records, request: "PUT n/m/states/x", action: "states.put", left: "x", before: "n/m"},
		{tree: records, request: "DELETE n/states", status: 405, allow: "GET, PUT", before: "n"},
		{tree: records, request: "GET n/only", status: 405, allow: "POST", before: "n"},
		{tree: records, request: "GET n/vendor/methods", action: "vendor.methods", before: "n"},
		{tree: records, request: "GET n/vendor/x", action: "fallback", left: "x", before: "n"},
		{tree: records, request: "PUT n/vendor", action: "fallback", before: "n"},
		{tree: records, request: "GET n/refused", status: 400, before: "n"},
		{tree: records, request: "GET n/part", action: "part.get"},
		{tree: records, request: "PUT n/part/x", action: "part.put", left: "x"},
		{tree: records, request: "DELETE n/part", status: 405, allow: "GET, PUT"},
		{tree: records, request: "GET bad", status: 400},
		{tree: records, request: "GET /n//part", action: "part.get"},
		{tree: records, request: "DELETE /", action: "delete", left: "/"},
		{tree: records, request: "PUT /", status: 400}, // an empty identifier is looked up if nothing else answers
		{tree: records, request: "GET bad/states", action: "states.get", before: "bad"},
		{tree: plain, request: "GET ", action: "plain.all"},
		{tree: plain, request: "GET sub", action: "sub.all"},
		{tree: plain, request: "GET x/sub", status: 405, allow: "GET"},
		{tree: plain, request: "POST sub", status: 405, allow: "GET"},
		{tree: plain, request: "POST ", status: 405, allow: "GET"},
		{tree: &Controller{Subs: map[string]*Controller{"sub": part}}, request: "POST sub", status: 405, allow: ""},
		{tree: &Controller{Lookup: lookup, Fallback: &fallback}, request: "GET n/m", action: "fallback", left: "n/m"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		var segments []string
		if path != "" {
			segments = strings.Split(path, "/")
		}
		r := sent(method, "", "")
		got, left, err := r.find(c.tree, segments)
		require.Equal(t, c.before, strings.Join(r.before, "/"), c.request)
		if c.status != 0 {
			require.Error(t, err, c.request)
			require.Nil(t, got, c.request)
			f := fault.Of(err)
			require.Equal(t, c.status, f.Status, c.request)
			require.Equal(t, c.status == http.StatusMethodNotAllowed, f.Allow != nil, c.request)
			if f.Allow != nil {
				require.Equal(t, c.allow, *f.Allow, c.request)
			}
			continue
		}
		require.NoError(t, err, c.request)
		require.Equal(t, c.action, got.Body, c.request)
		require.Equal(t, c.left, strings.Join(left, "/"), c.request)
	}
}

func TestTheSegmentsOfAPath(t *testing.T) {
	for _, c := range []struct {
		path, version string
		want          string
		root, suffix  bool
	}{
		{"*", "", "*", false, false},
		{"/", "", "", true, false}, {"", "", "", true, false}, {"///", "", "", true, false}, {"/.json", "1.1", "", true, true},
		{"/v1", "", "", false, false}, {"/v1/", "", "", false, false}, {"//v1", "", "", false, false}, {"/v1.json", "1.1", "", false, true},
		{"/v1/nodes", "", "nodes", false, false}, {"/nodes", "", "nodes", false, false}, {"//v1/nodes/", "", "nodes", false, false},
		{"//nodes", "", "/nodes", false, false}, {"/v1/v1/nodes", "", "v1/nodes", false, false}, {"/v1/nodes//", "", "nodes/", false, false},
		{"/v2/nodes", "", "v2/nodes", false, false}, {"/x/v1", "", "x/v1", false, false},
		{"/v1/nodes/n.json", "1.90", "nodes/n", false, true}, {"/v1/nodes/n.json/", "1.90", "nodes/n", false, true},
		{"/v1/nodes/n.json", "", "nodes/n.json", false, false},
		{"/v1/nodes/n.json", "1.91", "nodes/n.json", false, false}, {"/v1/nodes/n.json", "x", "nodes/n", false, true},
	} {
		r := sent("GET", "", "")
		r.Highest = states.Latest().MaxAPIVersion()
		r.URL.Path = c.path
		if c.version != "" {
			r.Header.Set(versionHeader, c.version)
		}
		segments, root := r.split()
		require.Equal(t, c.want, strings.Join(segments, "/"), c.path)
		require.Equal(t, c.root, root, c.path)
		require.Equal(t, c.suffix, r.Suffix, "%s at %s", c.path, c.version)
	}
}
