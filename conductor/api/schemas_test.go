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

func TestTheBodiesOfAllocationsHaveASchemaSince20252(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Flamingo, api.Config{}), start(t, states.Epoxy, api.Config{})
	const (
		noClass = "The resource_class field is mandatory when not backfilling"
		absent  = "Allocation " + absentUUID + " could not be found."
		name    = " is not valid under any of the given schemas. Possible root cause: "
	)
	for _, s := range []*server{s, old} {
		s.have(&conductor.Node{Name: "n", ProvisionState: states.Active})
	}
	for _, c := range []struct{ method, version, body, want, before string }{
		{"POST", "latest", `{"resource_class": 1}`, "Schema error: 1 is not of type 'string', 'null'",
			"Schema error for allocation: 1 is not of type 'string', 'null'"},
		{"POST", "latest", `{"resource_class": 1, "name": 2}`, "Schema error: 2 is not of type 'string', 'null'",
			"Schema error for allocation: 2 is not of type 'string', 'null'"},
		{"POST", "latest", `{"candidate_nodes": [null], "x": 1}`, "Schema error: None" + name + "None is not of type 'string'",
			"Schema error for allocation: Additional properties are not allowed ('x' was unexpected)"},
		{"POST", "latest", `{"candidate_nodes": ["a b"]}`, "Schema error: 'a b'" + name + "'a b' is not a 'uuid'", noClass},
		{"POST", "latest", `{"candidate_nodes": ["` + strings.Repeat("a", 255) + `", "A-b._~9", "` + absentUUID + `"]}`, noClass, noClass},
		{"POST", "latest", `{"candidate_nodes": ["` + strings.Repeat("a", 256) + `"]}`,
			"Schema error: '" + strings.Repeat("a", 256) + "'" + name + "'" + strings.Repeat("a", 256) + "' is not a 'uuid'", noClass},
		{"POST", "latest", `{"candidate_nodes": [""]}`, "Schema error: ''" + name + "'' is not a 'uuid'", noClass},
		{"POST", "1.57", `{"node": "n"}`, "Schema error: Additional properties are not allowed ('node' was unexpected)",
			"Cannot set node when creating an allocation in this API version"},
		{"POST", "1.58", `{"node": 5}`, "Schema error: 5 is not of type 'string', 'null'",
			"Schema error for allocation: 5 is not of type 'string', 'null'"},
		{"PATCH", "latest", `null`, "Schema error: None is not of type 'array'", absent},
		{"PATCH", "latest", `{}`, "Schema error: {} is not of type 'array'", "Schema error for patch: {} is not of type 'array'"},
		{"PATCH", "latest", `[5]`, "Schema error: 5 is not of type 'object'", "Schema error for patch: 5 is not of type 'object'"},
		{"PATCH", "latest", `[{}]`, "Schema error: 'op' is a required property", "Schema error for patch: 'op' is a required property"},
		{"PATCH", "latest", `[{"op": "add"}]`, "Schema error: 'path' is a required property",
			"Schema error for patch: 'path' is a required property"},
		{"PATCH", "latest", `[{"op": "add", "path": "/name", "x": 1}]`,
			"Schema error: Additional properties are not allowed ('x' was unexpected)",
			"Schema error for patch: Additional properties are not allowed ('x' was unexpected)"},
		{"PATCH", "latest", `[{"op": "test", "path": 5}]`, "Schema error: 'test' is not one of ['add', 'replace', 'remove']",
			"Schema error for patch: 5 is not of type 'string'"},
		{"PATCH", "latest", `[{"op": "add", "path": 5}]`, "Schema error: 5 is not of type 'string'",
			"Schema error for patch: 5 is not of type 'string'"},
		{"PATCH", "latest", `[{"op": "add", "path": ""}]`, "Schema error: '' does not match '^/'",
			`Schema error for patch: '' does not match '^(/[\\w-]+)+$'`},
		{"PATCH", "latest", `[{"op": "add", "path": "/extra/a~1b", "value": 1}]`, absent,
			`Schema error for patch: '/extra/a~1b' does not match '^(/[\\w-]+)+$'`},
	} {
		path := "/v1/allocations"
		if c.method == "PATCH" {
			path += "/" + absentUUID
		}
		require.Equal(t, c.want, s.do(c.method, path, c.version, c.body).fault(), c.body)
		require.Equal(t, c.before, old.do(c.method, path, c.version, c.body).fault(), c.body)
	}
	const noUUID = `{"uuid": "", "resource_class": "r"}`
	require.Equal(t, "Expected UUID for uuid: ", old.do("POST", "/v1/allocations", "latest", noUUID).fault())
	require.Len(t, s.do("POST", "/v1/allocations", "latest", noUUID).must(http.StatusCreated)["uuid"], len(absentUUID))
	require.Equal(t, "Expected UUID for uuid: x", s.do("POST", "/v1/allocations", "latest", `{"uuid": "x", "resource_class": "r"}`).fault())
}

func TestTheBodyOfEventsHasASchemaSince20262(t *testing.T) {
	t.Parallel()
	const path = "/v1/events"
	for series, want := range map[states.Series]string{
		states.Flamingo: "Schema error for evts: [] is too short", states.Gazpacho: "Schema error for evts: [] should be non-empty",
		states.Hibiscus: "Schema error: [] should be non-empty",
	} {
		require.Equal(t, want, start(t, series, api.Config{}).do("POST", path, "latest", `{"events": []}`).fault())
	}
	s := start(t, states.Hibiscus, api.Config{})
	event := func(more string) string {
		return `{"events": [{"event": "network.bind_port", "port_id": "` + absentUUID +
			`", "mac_address": "52:54:00:00:00:01", "status": "s"` + more + `}]}`
	}
	for body, want := range map[string]string{
		`[]`:                              "[] is not of type 'object'",
		`{}`:                              "'events' is a required property",
		`{"events": [], "x": 1}`:          "[] should be non-empty",
		`{"events": {}}`:                  "{} is not of type 'array'",
		`{"events": [5]}`:                 "5 is not of type 'object'",
		`{"events": [{}]}`:                "'event' is a required property",
		`{"events": [{"event": "x"}]}`:    "'x' is not one of ['network.bind_port', 'network.unbind_port', 'network.delete_port']",
		event(`, "event": 5`):             "5 is not of type 'string'",
		event(`, "port_id": "x"`):         "'x' is not a 'uuid'",
		event(`, "port_id": 5`):           "5 is not of type 'string'",
		event(`, "mac_address": "x"`):     "'x' is not a 'mac-address'",
		event(`, "mac_address": 5`):       "5 is not of type 'string'",
		event(`, "status": 5`):            "5 is not of type 'string'",
		event(`, "device_id": "x"`):       "'x' is not a 'uuid'",
		event(`, "binding:host_id": "x"`): "'x' is not a 'uuid'",
		event(`, "device_id": 5`):         "5 is not of type 'string', 'null'",
		event(`, "binding:host_id": 5`):   "5 is not of type 'string', 'null'",
		event(`, "binding:vnic_type": 5`): "5 is not of type 'string', 'null'",
		event(`, "x": 5`):                 "Additional properties are not allowed ('x' was unexpected)",
	} {
		require.Equal(t, "Schema error: "+want, s.do("POST", path, "latest", body).fault(), body)
	}
	require.Equal(t, "Schema error: Additional properties are not allowed ('x' was unexpected)",
		s.do("POST", path, "latest", strings.TrimSuffix(event(""), "}")+`, "x": 1}`).fault())
	valid := event(`, "device_id": null, "binding:host_id": "` + absentUUID + `", "binding:vnic_type": "v"`)
	require.Equal(t, http.StatusNoContent, s.do("POST", path, "latest", valid).status)
	require.Equal(t, "The API is not supported for this version", s.do("POST", path, "1.53", `{}`).fault())
	require.Equal(t, http.StatusBadRequest, s.do("POST", path, "latest", `{`).status)
	require.Equal(t, "Schema error: 'events' is a required property", s.do("POST", path+"?x=1", "latest", `{}`).fault(), "before the query")
	require.Equal(t, "Unexpected arguments: x", s.do("POST", path+"?x=1", "latest", valid).fault())
}

// The texts come from jsonschema 4.19.2 and 4.26.0, which the Ironics have, for the schema in
// ironic/api/controllers/v1/port.py.
func TestTheSchemaOfAPortRequiresTheUUIDOrTheNameOfANode(t *testing.T) {
	t.Parallel()
	const absent = " is not valid under any of the given schemas. Possible root cause: 'node_ident' is a required property"
	for body, want := range map[string]string{
		`{"address": "a", "uuid": "b"}`:     "{'address': 'a', 'uuid': 'b'}" + absent,
		`{"address": 5}`:                    "{'address': 5}" + absent,
		`{"uuid": 5}`:                       "'address' is a required property",
		`{"address": "a", "x": 1}`:          "Additional properties are not allowed ('x' was unexpected)",
		`{"address": "a", "node_ident": 5}`: "5 is not of type 'string'",
		`[]`:                                "[] is not of type 'object'",
	} {
		for _, series := range []states.Series{states.Epoxy, states.Latest()} {
			s := start(t, series, api.Config{})
			require.Equal(t, "Schema error for port: "+want, s.do("POST", "/v1/ports", "1.30", body).fault(), "%v: %s", series, body)
		}
	}
	s := start(t, states.Antelope, api.Config{})
	require.Equal(t, "Schema error for port: 'node_uuid' is a required property",
		s.do("POST", "/v1/ports", "1.30", `{"address": "a"}`).fault())
}

func TestTheTraitThatIsNamedIsTheLastSince2026_1(t *testing.T) {
	t.Parallel()
	for series, want := range map[states.Series]string{states.Flamingo: "1", states.Gazpacho: "2"} {
		s := start(t, series, api.Config{})
		s.create(`{"driver": "fake-hardware", "name": "n"}`)
		got := s.do("PUT", "/v1/nodes/n/traits", "latest", `{"traits": [1, 2]}`).fault()
		require.Equal(t, "Schema error for body: "+want+" is not of type 'string'", got, series)
	}
}

func TestTheArgumentsThatLaterSeriesReadInAnotherWay(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Latest(), api.Config{}), start(t, states.Caracal, api.Config{})
	for _, s := range []*server{s, old} {
		s.create(`{"driver": "fake-hardware", "name": "n"}`)
	}
	const noToken = "Agent token is required for heartbeat processing."
	const badURL = `An issue with the supplied "callback_url" has been detected.`
	for _, c := range []struct{ method, path, body, want, before string }{
		{"GET", "nodes?sort_key=service_step", "", "The sort_key value service_step is an invalid field for sorting",
			"The sort_key value service_step is an invalid field for sorting"},
		{"POST", "heartbeat/n", `{"callback_url": "ftp://x"}`, badURL, noToken},
		{"POST", "heartbeat/n", `{"callback_url": "x"}`, badURL, noToken},
		{"POST", "heartbeat/n", `{"callback_url": "http://["}`, badURL, noToken},
		{"POST", "heartbeat/n", `{"callback_url": "HTTP://x"}`, noToken, noToken},
		{"POST", "heartbeat/n", `{"callback_url": "https://x"}`, noToken, noToken},
		{"POST", "heartbeat/n", `{"callback_url": ""}`, noToken, noToken},
		{"PUT", "nodes/n/traits", `{"traits": [1, 2]}`, "Schema error for body: 2 is not of type 'string'",
			"Schema error for body: 1 is not of type 'string'"},
		{"DELETE", "nodes/n/ports/detail", "", "Expected UUID for port_uuid: detail", "Expected UUID for port_uuid: detail"},
	} {
		require.Equal(t, c.want, s.do(c.method, "/v1/"+c.path, "latest", c.body).fault(), c.path)
		require.Equal(t, c.before, old.do(c.method, "/v1/"+c.path, "latest", c.body).fault(), c.path)
	}
	const fields = "/v1/nodes?fields=uuid&fields=NAME"
	for series, want := range map[states.Series]string{
		states.Bobcat: "Expected string for fields: ['uuid', 'NAME']", states.Caracal: "Field NAME is not a valid field.",
		states.Dalmatian: "Field NAME is not a valid field.", states.Latest(): "Field NAME is not a valid field.",
	} {
		s := start(t, series, api.Config{})
		s.create(`{"driver": "fake-hardware"}`)
		require.Equal(t, want, s.do("GET", fields, "latest", "").fault(), series)
	}
	two := s.do("GET", "/v1/nodes?fields=uuid&fields=name", "latest", "").must(http.StatusOK)["nodes"].([]any)[0].(map[string]any)
	require.Equal(t, "n", two["name"])
	require.Contains(t, two, "uuid")
	require.NotContains(t, two, "driver")
}
