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

func TestTheFieldsOfARecordIncludeLinksAndTimes(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	chassis := s.post("/v1/chassis", `{}`)
	for _, path := range []string{chassis, "/v1/chassis"} {
		require.Equal(t, http.StatusOK, s.do("GET", path+"?fields=uuid,created_at,updated_at,links,nodes", "latest", "").status, path)
	}
	require.Equal(t, []string{"created_at", "links", "nodes"},
		keysOf(s.do("GET", chassis+"?fields=created_at,nodes", "latest", "").must(http.StatusOK)))
	require.Contains(t, s.do("GET", chassis, "1.1", "").must(http.StatusOK), "nodes")
}

func TestTheLinkToTheNextPageRepeatsTheRequest(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	port := s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01"}`)[len("/v1/ports/"):]
	for query, want := range map[string]string{
		"/detail?limit=1":      "/detail?sort_key=id&sort_dir=asc&limit=1&marker=" + port,
		"?limit=1&node=n":      "?sort_key=id&sort_dir=asc&node=n&fields=uuid,address&limit=1&marker=" + port,
		"?limit=1&detail=true": "?sort_key=id&sort_dir=asc&detail=True&limit=1&marker=" + port,
	} {
		require.Equal(t, "http://HOST/v1/ports"+want, s.do("GET", "/v1/ports"+query, "latest", "").must(http.StatusOK)["next"], query)
	}
}

func TestARunbookNeedsItsVersion(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	for method, status := range map[string]int{"GET": http.StatusNotFound, "DELETE": http.StatusMethodNotAllowed} {
		a := s.do(method, "/v1/runbooks/x", "1.91", "")
		require.Equal(t, status, a.status)
		require.Equal(t, "The API version does not allow runbooks", a.fault())
	}
}

func TestTheNameOfARunbookIsPartOfItsSchema(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Latest(), api.Config{}), start(t, states.Epoxy, api.Config{})
	const steps = `"steps": [{"interface": "bios", "step": "apply", "order": -1}]`
	for body, want := range map[string]string{
		`{"name": "a b", ` + steps + `}`:                              `'a b' does not match '^[A-Za-z0-9\\-._~]+$'`,
		`{"name": "", ` + steps + `}`:                                 "'' should be non-empty",
		`{"name": "` + strings.Repeat("x", 256) + `", ` + steps + `}`: "'" + strings.Repeat("x", 256) + "' is too long",
		`{"name": 1, ` + steps + `}`:                                  "1 is not of type 'string'",
	} {
		require.Equal(t, "Schema error for runbook: "+want, s.do("POST", "/v1/runbooks", "latest", body).fault(), body)
	}
	for body, want := range map[string]string{
		`{"name": "lower", ` + steps + `}`: "'lower' is not valid under any of the given schemas. " +
			"Possible root cause: 'lower' does not match '^CUSTOM_[A-Z0-9_]+$'",
		`{"name": "CUSTOM_A", "description": "", ` + steps + `}`: "Additional properties are not allowed ('description' was unexpected)",
	} {
		require.Equal(t, "Schema error for runbook: "+want, old.do("POST", "/v1/runbooks", "latest", body).fault(), body)
		require.Equal(t, "Schema error for runbook: "+want, s.do("POST", "/v1/runbooks", "1.111", body).fault(), body)
	}
	for _, s := range []*server{s, old} {
		s.post("/v1/runbooks", `{"name": "CUSTOM_A", "steps": [{"interface": "bios", "step": "apply", "order": 1}]}`)
	}
	const other = `[{"op": "add", "path": "/x", "value": 1}]`
	const cannot = "Cannot patch /x. Only the following can be updated: "
	require.Equal(t, cannot+"extra, name, steps, description, public, owner",
		old.do("PATCH", "/v1/runbooks/CUSTOM_A", "latest", other).fault())
	require.Equal(t, cannot+"disable_ramdisk, extra, name, owner, public, steps",
		s.do("PATCH", "/v1/runbooks/CUSTOM_A", "1.111", other).fault())
	require.Contains(t, s.do("PATCH", "/v1/runbooks/CUSTOM_A", "latest", other).fault(), "description")
	const offline = `[{"op": "replace", "path": "/disable_ramdisk", "value": true}]`
	require.Equal(t, true, s.do("PATCH", "/v1/runbooks/CUSTOM_A", "latest", offline).must(http.StatusOK)["disable_ramdisk"])
	require.Equal(t, true, s.do("GET", "/v1/runbooks/CUSTOM_A", "latest", "").json()["disable_ramdisk"])
	require.Equal(t, http.StatusBadRequest, old.do("PATCH", "/v1/runbooks/CUSTOM_A", "latest", offline).status)
	const rename = `[{"op": "replace", "path": "/name", "value": "lower"}, {"op": "replace", "path": "/extra", "value": {"a": 1}}]`
	require.Equal(t, "Schema error for patch: 'lower' is not valid under any of the given schemas. Possible root cause: "+
		"'lower' does not match '^CUSTOM_[A-Z0-9_]+$'", old.do("PATCH", "/v1/runbooks/CUSTOM_A", "latest", rename).fault())
	require.Equal(t, 200, s.do("PATCH", "/v1/runbooks/CUSTOM_A", "1.111", rename).status,
		"2026.2 has one schema for the patches of all versions")
}

func TestAStepOfARunbookHasArguments(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	runbook := s.post("/v1/runbooks", `{"name": "r", "steps": [{"interface": "bios", "step": "apply", "order": "1"}]}`)
	require.Equal(t, []any{map[string]any{"interface": "bios", "step": "apply", "order": 1.0, "args": map[string]any{}}},
		s.do("GET", runbook, "latest", "").must(http.StatusOK)["steps"])
}

func TestAnAllocationIsMadeForANodeThatIsInUse(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.have(&conductor.Node{Name: "n", ProvisionState: states.Active, InstanceUUID: absentUUID, ResourceClass: "x"})
	al := s.do("POST", "/v1/allocations", "latest", `{"node": "n"}`).must(http.StatusCreated)
	require.Equal(t, []any{absentUUID, node, "x"}, []any{al["uuid"], al["node_uuid"], al["resource_class"]})
}

// Ironic lists the missing nodes in the order of a set.
func TestMissingCandidateNodesAreSorted(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	require.Equal(t, "Nodes cannot be found: a, z",
		s.do("POST", "/v1/allocations", "latest", `{"resource_class": "x", "candidate_nodes": ["z", "a", "z"]}`).fault())
}

func TestARecordIsNotServedBelowItsNode(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Flamingo, api.Config{}), start(t, states.Epoxy, api.Config{})
	for _, s := range []*server{s, old} {
		s.post("/v1/portgroups", `{"name": "g", "node_uuid": "`+s.create(`{"driver": "fake-hardware", "name": "n"}`)+`"}`)
	}
	for _, c := range []struct{ method, path, want string }{
		{"GET", "ports/" + absentUUID + "?fields=uuid", "Operation not permitted."},
		{"DELETE", "ports/" + absentUUID + "?fields=uuid", "Unexpected arguments: fields"},
		{"GET", "portgroups/nope", "Portgroup nope could not be found."},
		{"DELETE", "portgroups/nope", "Portgroup nope could not be found."},
		{"DELETE", "portgroups/g", "Operation not permitted."},
		{"GET", "volume/connectors/" + absentUUID, "Volume connector " + absentUUID + " could not be found."},
		{"PATCH", "portgroups/g", "Schema error for patch: {} is not of type 'array'"},
		{"PATCH", "ports/" + absentUUID, "Schema error for patch: {} is not of type 'array'"},
		{"GET", "portgroups/" + absentUUID, "Portgroup " + absentUUID + " could not be found."},
		{"GET", "portgroups/a%20b", "Expected UUID or name for portgroup: a b"},
	} {
		require.Equal(t, c.want, old.do(c.method, "/v1/nodes/n/"+c.path, "latest", "").fault(), "%s %s", c.method, c.path)
		want := strings.Replace(c.want, "Operation not permitted.", "Malformed request URI.", 1)
		require.Equal(t, want, s.do(c.method, "/v1/nodes/n/"+c.path, "latest", "").fault(), "%s %s", c.method, c.path)
	}
}

func TestTheNameOfAnAllocationMayEndInJSON(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	for _, name := range []string{"a.json", "b", "b.json"} {
		s.post("/v1/allocations", `{"resource_class": "x", "name": "`+name+`"}`)
	}
	for path, names := range map[string][2]string{"a.json": {"a.json", "a.json"}, "b.json": {"b", "b.json"}, "b": {"b", "b"}} {
		for i, version := range []string{"1.90", "1.91"} {
			require.Equal(t, names[i], s.do("GET", "/v1/allocations/"+path, version, "").must(http.StatusOK)["name"], "%s %s", version, path)
		}
	}
	require.Equal(t, "Allocation c.json could not be found.", s.do("GET", "/v1/allocations/c.json", "1.90", "").fault())
}

func TestTheFirstViolationFollowsTheSchemasOrder(t *testing.T) {
	t.Parallel()
	s := start(t, states.Flamingo, api.Config{})
	for path, c := range map[string][2]string{
		"ports":            {`{"node_uuid": "x", "uuid": 6, "address": 5}`, "Schema error for port: 5 is not of type 'string'"},
		"volume/targets":   {`{"boot_index": 1}`, "Schema error for target: 'node_uuid' is a required property"},
		"deploy_templates": {`{}`, "Schema error for template: 'steps' is a required property"},
		"runbooks":         {`{}`, "Schema error for runbook: 'steps' is a required property"},
		"chassis":          {`{"uuid": 6, "extra": 5}`, "Schema error for chassis: 6 is not of type 'string', 'null'"},
	} {
		require.Equal(t, c[1], s.do("POST", "/v1/"+path, "latest", c[0]).fault(), path)
	}
}
