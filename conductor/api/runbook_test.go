// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

const runbook = `{"name": "CUSTOM_A", "steps": [{"interface": "bios", "step": "factory_reset", "order": 1, "args": {}}]}`

// The answers were given by Ironic 35.0.1 and 39.0.0.
func TestAPublicRunbookHasNoOwner(t *testing.T) {
	t.Parallel()
	const (
		owned   = `{"op": "add", "path": "/owner", "value": "x"}`
		private = `{"op": "add", "path": "/public", "value": false}`
		public  = `{"op": "add", "path": "/public", "value": true}`
	)
	for _, series := range []states.Series{states.Epoxy, states.Latest()} {
		s := start(t, series, api.Config{})
		require.Equal(t, "Cannot create a runbook as a project scoped admin with an owner other than your own project.",
			s.do("POST", "/v1/runbooks", "latest", `{"owner": "x", `+runbook[1:]).fault())
		at := s.post("/v1/runbooks", `{"owner": "", `+runbook[1:])
		require.Nil(t, s.do("GET", at, "latest", "").must(http.StatusOK)["owner"])
		for _, c := range []struct {
			operations string
			refused    bool
			owner      any
			public     bool
		}{
			{owned, false, "x", false},
			{owned + ", " + public, true, "x", false},
			{private, false, nil, false},
			{owned, false, "x", false},
			{public, false, nil, true},
			{owned, true, nil, true},
			{`{"op": "replace", "path": "/owner", "value": null}`, true, nil, true},
			{`{"op": "remove", "path": "/owner"}`, false, nil, true},
			{owned + ", " + private, false, "x", false},
		} {
			answer := s.do("PATCH", at, "latest", "["+c.operations+"]")
			require.Equal(t, c.refused, answer.status == http.StatusBadRequest, "%s: %s", c.operations, answer.body)
			book := s.do("GET", at, "latest", "").must(http.StatusOK)
			require.Equal(t, []any{c.owner, c.public}, []any{book["owner"], book["public"]}, c.operations)
		}
		require.Equal(t, "Couldn't apply patch '[{'op': 'add', 'path': '/owner', 'value': 'x'}, {'op': 'add', 'path': '/public', "+
			"'value': True}]'. Reason: There cannot be an owner for a public runbook",
			s.do("PATCH", at, "latest", "["+owned+", "+public+"]").fault())
	}
}

// The answers were given by Ironic 39.0.0.
func TestARequestForTheTraitsOfARunbookNamesOneOrAll(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.post("/v1/runbooks", runbook)
	const which = "A single runbook trait may be added via PUT /v1/runbooks/<runbook identifier>/traits/<trait> with no body, or all " +
		"runbook traits may be replaced via PUT /v1/runbooks/<runbook identifier>/traits with the list of traits specified in the request body."
	for _, c := range []struct{ path, body, want string }{
		{"missing/traits", "", "Runbook missing could not be found."},
		{"missing/traits/CUSTOM_B", `{"traits": ["CUSTOM_C"]}`, "Runbook missing could not be found."},
		{"a%20b/traits", "", "Expected a logical name or UUID but received a b."},
		{"CUSTOM_A/traits", "", which},
		{"CUSTOM_A/traits/CUSTOM_B", `{"traits": []}`, which},
	} {
		require.Equal(t, c.want, s.do("PUT", "/v1/runbooks/"+c.path, "latest", c.body).fault(), c.path)
	}
}

// The answers were given by Ironic 39.0.0.
func TestARunbookOfAProvisionRequest(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.have(&conductor.Node{Name: "n", ProvisionState: states.Manageable, Traits: []string{"CUSTOM_A"}})
	s.post("/v1/runbooks", runbook)
	require.Equal(t, http.StatusNoContent, s.do("PUT", "/v1/runbooks/CUSTOM_A/traits/CUSTOM_A", "latest", "").status)
	for body, want := range map[string]string{
		`{"target": "clean", "runbook": "a b"}`:                            "Expected a logical name or UUID but received a b.",
		`{"target": "clean", "runbook": "missing"}`:                        "Runbook missing could not be found.",
		`{"target": "clean", "runbook": "missing", "configdrive": "aGk="}`: "Adding a config drive is only supported when ",
		`{"target": "provide", "runbook": "CUSTOM_A"}`:                     "disable_ramdisk is supported only with manual cleaning or servicing",
		`{"target": "clean", "runbook": "CUSTOM_A", "clean_steps": [{"interface": "bios", "step": "a"}]}`: "Please provide either " +
			"\"clean_steps\" or a runbook, but not both.",
	} {
		got := s.do("PUT", "/v1/nodes/n/states/provision", "latest", body).fault()
		require.True(t, strings.HasPrefix(got, want), "%s: %s", body, got)
	}
	require.Equal(t, "Expected a logical name or UUID but received a b.", s.do("GET", "/v1/runbooks/a%20b/traits", "latest", "").fault())
}

func TestThePathOfTheTraitsOfARunbookMayHaveEmptySegments(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.post("/v1/runbooks", runbook)
	require.Equal(t, []any{}, s.do("GET", "/v1/runbooks//CUSTOM_A/traits", "latest", "").must(http.StatusOK)["traits"])
	got := s.do("GET", "/v1/runbooks//"+absentUUID+"/traits", "latest", "")
	require.Equal(t, "Runbook "+absentUUID+" could not be found.", got.fault()) // as Ironic 39.0.0
	require.NotEmpty(t, got.header.Get("X-OpenStack-Ironic-API-Version"))
	for _, version := range []string{"1.111", "1.23"} { // runbooks are since 1.92
		for _, method := range []string{"GET", "PUT", "POST"} {
			got := s.do(method, "/v1/runbooks/CUSTOM_A/traits", version, "")
			require.Equal(t, http.StatusNotFound, got.status, method)
			require.Contains(t, string(got.body), "The API version does not allow runbook traits", method)
		}
	}
}

// The answers were given by Ironic 39.0.0.
func TestTheLaterFieldsOfARunbookAreUnknownBelowTheirVersion(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	const direction = "Invalid sort direction: ASC. Acceptable values are 'asc' or 'desc'"
	empty := func(query string) {
		require.Equal(t, http.StatusOK, s.do("GET", "/v1/runbooks?"+query, "1.111", "").status)
	}
	empty("fields=description,traits")
	empty("sort_key=description")
	s.post("/v1/runbooks", runbook)
	for query, want := range map[string]string{
		"?fields=description,traits":            `Field(s) "description, traits" are not valid`,
		"/CUSTOM_A?fields=description,traits":   `Field(s) "description, traits" are not valid`,
		"?sort_dir=ASC&fields=description":      direction,
		"?sort_dir=ASC&sort_key=description":    direction,
		"?sort_key=traits":                      "The sort_key value traits is an invalid field for sorting",
		"?sort_key=traits&marker=" + absentUUID: "The sort_key value traits is an invalid field for sorting",
	} {
		require.Equal(t, want, s.do("GET", "/v1/runbooks"+query, "1.111", "").fault(), query)
	}
	s.do("GET", "/v1/runbooks?fields=description,traits", "1.112", "").must(http.StatusOK)
}

// Before 2026.2 these fields do not exist, and the database has no column to sort by.
func TestRunbooksAreNotSortedByAFieldThatTheirSeriesLacks(t *testing.T) {
	t.Parallel()
	for _, series := range []states.Series{states.Epoxy, states.Gazpacho} {
		s := start(t, series, api.Config{})
		for _, name := range []string{"description", "traits"} {
			require.Equal(t, `The sort_key value "`+name+`" is an invalid field for sorting`,
				s.do("GET", "/v1/runbooks?sort_key="+name, "latest", "").fault(), series)
		}
	}
}

func TestTheQueryMayNameATrait(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.post("/v1/runbooks", runbook)
	for _, path := range []string{"nodes/n/traits", "runbooks/CUSTOM_A/traits"} {
		do := func(method, query string) reply { return s.do(method, "/v1/"+path+query, "latest", "") }
		do("PUT", "/CUSTOM_B").must(http.StatusNoContent)
		set := do("PUT", "?trait=CUSTOM_C")
		require.Equal(t, http.StatusNoContent, set.status, set.body)
		require.True(t, strings.HasSuffix(set.header.Get("Location"), "/v1/"+path+"/CUSTOM_C"))
		require.Contains(t, do("GET", "").json()["traits"], "CUSTOM_C")
		require.Equal(t, http.StatusNoContent, do("DELETE", "?trait=CUSTOM_C").status)
		require.NotContains(t, do("GET", "").json()["traits"], "CUSTOM_C")
		require.Contains(t, do("GET", "").json()["traits"], "CUSTOM_B")
		require.Equal(t, http.StatusBadRequest, do("PUT", "?trait=").status)
		require.Equal(t, http.StatusBadRequest, do("PUT", "/CUSTOM_B?trait=CUSTOM_C").status)
		require.Equal(t, "Unexpected arguments: x", do("PUT", "?x=CUSTOM_C").fault())
		require.Equal(t, "Expected string for trait: ['a', 'b']", do("DELETE", "?trait=a&trait=b").fault())
		require.Equal(t, http.StatusNoContent, do("DELETE", "?trait=").status)
		require.Empty(t, do("GET", "").json()["traits"])
	}
}

// A DELETE that does not name the trait removes all traits.
func TestTheBodyOfADeleteMayNameATrait(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.post("/v1/runbooks", runbook)
	for _, path := range []string{"/v1/nodes/n/traits", "/v1/runbooks/CUSTOM_A/traits"} {
		s.do("PUT", path, "latest", `{"traits": ["CUSTOM_B", "CUSTOM_C", "CUSTOM_D"]}`).must(http.StatusNoContent)
		for _, c := range []struct{ below, body, fault string }{
			{"", `{"trait": 5}`, "Expected string for trait: 5"},
			{"", `{"trait": ["CUSTOM_B"]}`, "Expected string for trait: ['CUSTOM_B']"},
			{"", `{"x": "CUSTOM_B"}`, "Unexpected arguments: x"},
			{"?trait=CUSTOM_B", `{"trait": "CUSTOM_B"}`, "Expected string for trait: ['CUSTOM_B', 'CUSTOM_B']"},
			{"/CUSTOM_B", `{"trait": "CUSTOM_B"}`, "The path and the body both have the argument trait"},
			{"/CUSTOM_B", `{"x": "CUSTOM_B"}`, "Unexpected arguments: x"},
			{"/CUSTOM_B?trait=CUSTOM_B", "", "The path and the query both have the argument trait"},
		} {
			a := s.do("DELETE", path+c.below, "latest", c.body)
			require.Equal(t, http.StatusBadRequest, a.status, "%s %s", c.below, c.body)
			require.Equal(t, c.fault, a.fault())
		}
		for _, c := range []struct {
			below, body string
			left        []any
		}{
			{"", `{"trait": "CUSTOM_C"}`, []any{"CUSTOM_B", "CUSTOM_D"}},
			{"/CUSTOM_B", `{}`, []any{"CUSTOM_D"}},
			{"", `{"trait": null}`, []any{}},
		} {
			s.do("DELETE", path+c.below, "latest", c.body).must(http.StatusNoContent)
			require.Equal(t, c.left, s.do("GET", path, "latest", "").json()["traits"], "%s %s", c.below, c.body)
		}
	}
}
