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

func TestAStepForChildNodesIsTakenWhereIronicHasIt(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	parent := s.have(&conductor.Node{Name: "n", ProvisionState: states.Manageable})
	child := s.have(&conductor.Node{Name: "child", ProvisionState: states.Manageable, ParentNode: parent})
	clean := func(more string) reply {
		return s.do("PUT", "/v1/nodes/n/states/provision", "latest",
			`{"target": "clean", "clean_steps": [{"interface": "power", "step": "hold"}, {"interface": "bios", "step": "factory_reset"`+more+`}]}`)
	}
	const limit = `, "execute_on_child_nodes": true, "limit_child_node_execution": `
	for more, want := range map[string]struct {
		status int
		fault  string
	}{
		limit + `["child"]`:                       {400, "Invalid entry detected for execute_on_child_node parameter in step factory_reset."},
		limit + `[5]`:                             {400, "Invalid entry detected for execute_on_child_node parameter in step factory_reset."},
		limit + `["` + absentUUID + `"]`:          {404, "Node " + absentUUID + " could not be found."},
		`, "execute_on_child_nodes": "yes"`:       {400, "'yes' is not of type 'boolean'"},
		`, "limit_child_node_execution": "child"`: {400, "'child' is not of type 'array'"},
		`, "order": -1`:                           {400, "-1 is less than the minimum of 0"},
	} {
		a := clean(more)
		require.Equal(t, want.status, a.status, more)
		require.Contains(t, a.fault(), want.fault, more)
	}
	require.Equal(t, http.StatusAccepted, clean(limit+`["`+child+`"]`).status)
	s.untilState("n", states.CleanHold)
	steps := s.do("GET", "/v1/nodes/n", "latest", "").json()["driver_internal_info"].(map[string]any)["clean_steps"].([]any)
	require.Equal(t, map[string]any{"interface": "bios", "step": "factory_reset", "execute_on_child_nodes": true,
		"limit_child_node_execution": []any{child}}, steps[1])
}

func TestAStepForChildNodesIsRefusedWhereIronicHasNone(t *testing.T) {
	s, old := start(t, states.Latest(), api.Config{}), start(t, states.Antelope, api.Config{})
	s.have(&conductor.Node{Name: "n", ProvisionState: states.Available})
	old.have(&conductor.Node{Name: "n", ProvisionState: states.Manageable})
	const step = `{"interface": "bios", "step": "factory_reset", "args": {}, "execute_on_child_nodes": true, `
	for _, c := range []struct {
		s                  *server
		method, path, body string
	}{
		{s, "PUT", "nodes/n/states/provision", `{"target": "active", "deploy_steps": [` + step + `"priority": 10}]}`},
		{s, "POST", "deploy_templates", `{"name": "CUSTOM_A", "steps": [` + step + `"priority": 10}]}`},
		{s, "POST", "runbooks", `{"name": "CUSTOM_A", "steps": [` + step + `"order": 10}]}`},
		{old, "PUT", "nodes/n/states/provision", `{"target": "clean", "clean_steps": [` + strings.TrimSuffix(step, ", ") + `}]}`},
	} {
		a := c.s.do(c.method, "/v1/"+c.path, "latest", c.body)
		require.Equal(t, http.StatusBadRequest, a.status, c.path)
		require.Contains(t, a.fault(), "Additional properties are not allowed ('execute_on_child_nodes' was unexpected)", c.path)
	}
}

func TestOfSeveralViolationsTheFirstIsReportedBefore2026_1(t *testing.T) {
	s := start(t, states.Epoxy, api.Config{})
	for _, c := range []struct{ path, body, want string }{
		{"ports", `{"node_uuid": "x", "uuid": 6, "address": 5}`, "Schema error for port: 5 is not of type 'string'"},
		{
			"volume/targets", `{"boot_index": 1, "node_uuid": "x", "uuid": 0, "volume_id": 1.5, "volume_type": "iscsi"}`,
			"Schema error for target: 1.5 is not of type 'string'",
		},
		{"runbooks", `{"name": "CUSTOM_A", "public": "1", "steps": true}`, "Schema error for runbook: True is not of type 'array'"},
	} {
		require.Equal(t, c.want, s.do("POST", "/v1/"+c.path, "latest", c.body).fault(), c.path)
	}
}

func TestOfSeveralViolationsTheOneWithTheLastNameIsReported(t *testing.T) {
	s := start(t, states.Gazpacho, api.Config{})
	for _, c := range []struct{ path, body, want string }{
		{"ports", `{"node_uuid": "x", "uuid": 6, "address": 5}`, "Schema error for port: 6 is not of type 'string', 'null'"},
		{"volume/targets", `{"boot_index": "0", "node_uuid": "x", "volume_id": true, "volume_type": "iscsi"}`,
			"Schema error for target: True is not of type 'string'"},
		{
			"deploy_templates", `{"name": "CUSTOM_A", "steps": [{"interface": "", "step": "a", "args": {}, "priority": 1},
				{"interface": "bios", "step": "a", "args": {}, "priority": -1}]}`, "Schema error for template: -1 is less than the minimum of 0",
		},
		{"deploy_templates", `{"name": "CUSTOM_A", "steps": []}`, "Schema error for template: [] should be non-empty"},
	} {
		require.Equal(t, c.want, s.do("POST", "/v1/"+c.path, "latest", c.body).fault(), c.path)
	}
}

func TestAQueryIsCheckedBeforeTheRecordIsLookedUp(t *testing.T) {
	s, old := start(t, states.Latest(), api.Config{}), start(t, states.Gazpacho, api.Config{})
	s.have(&conductor.Node{Name: "n", ProvisionState: states.Active})
	for _, c := range []struct{ method, path, version, body, want string }{
		{"GET", "chassis/" + absentUUID + "?fields=a,b,uuid", "latest", "",
			"Schema error: 'a' is not one of ['created_at', 'description', 'extra', 'links', 'nodes', 'updated_at', 'uuid']"},
		{"GET", "deploy_templates?sort_dir=x&fields=uuid,b", "latest", "",
			"Schema error: 'b' is not one of ['created_at', 'description', 'extra', 'links', 'name', 'steps', 'updated_at', 'uuid']"},
		{"GET", "nodes/nope/portgroups?sort_dir=", "latest", "", "Schema error: '' is not one of ['asc', 'desc']"},
		{"GET", "allocations?fields=owner", "1.59", "",
			"Schema error: 'owner' is not one of ['candidate_nodes', 'created_at', 'extra', 'last_error', 'links', 'name', 'node_uuid', " +
				"'resource_class', 'state', 'traits', 'updated_at', 'uuid']"},
		{"GET", "nodes/nope/bios?fields=name,nope,no", "latest", "",
			"Schema error: 'nope' is not one of ['allowable_values', 'attribute_type', 'created_at', 'lower_bound', 'links', " +
				"'max_length', 'min_length', 'name', 'node_uuid', 'read_only', 'reset_required', 'unique', 'updated_at', 'value']"},
		{"GET", "nodes/n/bios?fields=name", "1.73", "", "Schema error: Additional properties are not allowed ('fields' was unexpected)"},
		{"GET", "nodes/nope/volume/targets?project=", "latest", "",
			"Schema error: Additional properties are not allowed ('project' was unexpected)"},
		{"GET", "volume/connectors?project=x", "latest", "", "Schema error: Additional properties are not allowed ('project' was unexpected)"},
		{"PATCH", "volume/targets/" + absentUUID, "latest", "null", "Schema error: None is not of type 'array'"},
		{"PATCH", "chassis/x", "latest", `[{"op": "add", "path": "/uuid", "value": 1}]`, "Schema error: 'x' is not a 'uuid'"},
		{"PATCH", "chassis/" + absentUUID, "latest", `[]`, "Chassis " + absentUUID + " could not be found."},
		{"PATCH", "allocations/" + absentUUID, "latest", `[{"op": "add", "path": "/extra", "value": [1]}]`,
			"Schema error: [1] is not of type 'string', 'object', 'null', 'integer', 'boolean'"},
		{"PATCH", "allocations/" + absentUUID, "latest", `[{"op": "add", "path": "/extra", "value": 1.5}]`,
			"Schema error: 1.5 is not of type 'string', 'object', 'null', 'integer', 'boolean'"},
		{"PATCH", "allocations/" + absentUUID, "latest", `[{"op": "add", "path": "/extra", "value": 1}]`,
			"Allocation " + absentUUID + " could not be found."},
		{"GET", "portgroups?nonsense=1", "1.7", "", "The API is not supported for this version"},
		{"PATCH", "portgroups/" + absentUUID, "1.7", `[]`, "The API is not supported for this version"},
	} {
		require.Equal(t, c.want, s.do(c.method, "/v1/"+c.path, c.version, c.body).fault(), "%s %s", c.method, c.path)
	}
	require.Equal(t, http.StatusNotFound, old.do("GET", "/v1/chassis/"+absentUUID+"?fields=b", "latest", "").status,
		"before 2026.2 the record is looked up first")
	require.Equal(t, "Chassis x could not be found.", old.do("PATCH", "/v1/chassis/x", "latest", `[]`).fault())
}

func TestTheFormOfARefusedVersionDependsOnTheSeries(t *testing.T) {
	for series, requestID := range map[states.Series]bool{states.Antelope: false, states.Hibiscus: true} {
		s := start(t, series, api.Config{})
		for _, path := range []string{"/v1/allocations", "/v1/shards"} {
			a := s.do("GET", path, "1.5", "")
			require.Equal(t, http.StatusNotFound, a.status)
			require.Contains(t, a.fault(), "The API version does not allow ")
			require.Equal(t, requestID, a.header.Get("OpenStack-Request-Id") != "", "%v %s", series, path)
		}
		root := s.do("GET", "/", "1.5", "")
		require.Equal(t, requestID, root.header.Get("X-OpenStack-Ironic-API-Version") != "", "%v", series)
	}
}

func TestLaterSeriesCheckTheVersionElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		series                states.Series
		method, path, version string
		status                int
		isFault               bool // in Ironic's form, not in its web framework's
		body                  string
	}{
		{states.Dalmatian, "PATCH", "/v1/shards", "1.81", 405, false, "The API version does not allow shards"},
		{states.Epoxy, "PATCH", "/v1/shards", "1.81", 405, false, `"description\":\"\"`},
		{states.Epoxy, "GET", "/v1/shards", "1.81", 404, true, "The API version does not allow shards"},
		{states.Gazpacho, "GET", "/v1/events", "1.53", 404, false, `"description\":\"\"`},
		{states.Hibiscus, "GET", "/v1/events", "1.53", 405, false, `"description\":\"\"`},
		{states.Dalmatian, "GET", "/", "1.0", 406, true, "Version 1.0 was requested"},
		{states.Dalmatian, "GET", "/v1", "1.0", 406, false, "Version 1.0 was requested"},
		{states.Caracal, "GET", "/v1", "1.0", 406, true, "Version 1.0 was requested"},
		{states.Caracal, "GET", "/", "1.0", 200, false, `"versions"`},
	} {
		a := start(t, c.series, api.Config{}).do(c.method, c.path, c.version, "")
		require.Equal(t, c.status, a.status, "%v %s %s", c.series, c.method, c.path)
		require.Contains(t, a.body, c.body, "%v %s %s", c.series, c.method, c.path)
		require.Equal(t, c.isFault, strings.Contains(a.body, "faultstring"), "%v %s %s", c.series, c.method, c.path)
	}
}

func TestTheUUIDOfARecordIsCheckedAfterTheOtherFields(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	for _, c := range []struct{ fields, want string }{
		{`"is_smartnic": "x", "address": "x", "node_uuid": "x"`, "Expected valid MAC address for address: x"},
		{`"is_smartnic": "x", "address": "52:54:00:00:00:01", "node_uuid": "` + absentUUID + `"`,
			"Invalid is_smartnic: Unrecognized value 'x'"},
		{`"address": "52:54:00:00:00:01", "node_uuid": "` + absentUUID + `"`, "Expected UUID for uuid: x"},
	} {
		body := `{"uuid": "x", ` + c.fields + `}`
		require.Contains(t, s.do("POST", "/v1/ports", "latest", body).fault(), c.want, body)
	}
}

func TestTheSchemaHasTheUUIDLastExceptOfNodes(t *testing.T) {
	t.Parallel()
	s := start(t, states.Flamingo, api.Config{}) // of the faults of two properties, later series name the last by its name
	require.Equal(t, "Schema error for node: 1 is not of type 'string', 'null'",
		s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware", "uuid": 1, "vendor_interface": 2}`).fault())
	require.Equal(t, "Schema error for portgroup: 2 is not of type 'string', 'boolean', 'null'",
		s.do("POST", "/v1/portgroups", "latest", `{"node_uuid": "x", "uuid": 1, "standalone_ports_supported": 2}`).fault())
	require.Equal(t, "Schema error for port: 3 is not of type 'string'",
		s.do("POST", "/v1/ports", "latest", `{"address": "x", "name": 1, "uuid": 2, "node_uuid": 3}`).fault())
	require.Equal(t, "Schema error for port: 2 is not of type 'string', 'null'",
		s.do("POST", "/v1/ports", "latest", `{"node_uuid": "x", "address": "x", "name": 1, "uuid": 2}`).fault(), "the name came later")
}

func TestAReadOnlyFieldOfARecordMayBeNamedBelowItsVersionExceptOfNodes(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware"}`)
	port := s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01"}`)
	for query, want := range map[string]int{
		port + "?fields=internal_info":        http.StatusOK,
		"/v1/ports?fields=internal_info":      http.StatusOK,
		"/v1/ports?sort_key=internal_info":    http.StatusBadRequest, // has no order
		port + "?fields=pxe_enabled":          http.StatusNotAcceptable,
		"/v1/ports?sort_key=pxe_enabled":      http.StatusNotAcceptable,
		"/v1/nodes/" + node + "?fields=fault": http.StatusNotAcceptable,
	} {
		require.Equal(t, want, s.do("GET", query, "1.17", "").status, query)
	}
}

func TestAListIsNotSortedByAFieldOfALaterSeries(t *testing.T) {
	t.Parallel()
	s := start(t, states.Epoxy, api.Config{})
	for key, want := range map[string]int{
		"nodes?sort_key=health": http.StatusBadRequest, "ports?sort_key=vendor": http.StatusBadRequest,
		"portgroups?sort_key=dynamic_portgroup": http.StatusBadRequest, "ports?sort_key=name": http.StatusOK,
		"deploy_templates?sort_key=description": http.StatusBadRequest, // which Ironic drops
	} {
		require.Equal(t, want, s.do("GET", "/v1/"+key, "latest", "").status, key)
	}
}

func TestAParentThatIsNoTextIsRefusedBeforeTheSchemaIs(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Epoxy, api.Config{}), start(t, states.Dalmatian, api.Config{})
	for _, s := range []*server{s, old} {
		s.create(`{"driver": "fake-hardware", "name": "n"}`)
	}
	for value, shown := range map[string]string{"{}": "{}", "null": "None", "12": "12"} {
		body := `[{"op": "add", "path": "/parent_node", "value": ` + value + `}]`
		require.Equal(t, "Unable to apply the requested parent_node '"+shown+"'. Requested value was invalid.",
			s.do("PATCH", "/v1/nodes/n", "latest", body).fault())
	}
	require.Equal(t, "Schema error for patch: {} is not of type 'string', 'null'",
		old.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "add", "path": "/parent_node", "value": {}}]`).fault())
	require.Equal(t, http.StatusOK, s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "remove", "path": "/parent_node"}]`).status)
	s.create(`{"driver": "fake-hardware", "name": "other", "owner": "o"}`)
	s.create(`{"driver": "fake-hardware", "name": "own"}`)
	for name, want := range map[string]string{
		"other": "Unable to apply the requested parent_node 'other'",
		"own":   "Schema error for patch: 1.5",
		"none":  "Unable to apply the requested parent_node 'none'",
	} {
		body := `[{"op": "add", "path": "/parent_node", "value": "` + name + `"}, {"op": "add", "path": "/conductor_group", "value": 1.5}]`
		require.Contains(t, s.do("PATCH", "/v1/nodes/n", "latest", body).fault(), want)
	}
}

// 2025.2 has schemas for the queries and bodies of allocations, BIOS settings and firmware, 2026.1 for inspection
// rules, and 2026.2 for most resources.
func TestTheSchemasOf20261(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Flamingo, api.Config{}), start(t, states.Epoxy, api.Config{})
	for _, s := range []*server{s, old} {
		s.have(&conductor.Node{Name: "n", ProvisionState: states.Active})
	}
	const extra = `[{"op": "add", "path": "/extra", "value": [1]}]`
	for _, c := range []struct{ method, path, version, body, want, before string }{
		{"GET", "allocations?sort_dir=x", "latest", "", "Schema error: 'x' is not one of ['asc', 'desc']",
			"Invalid sort direction: x. Acceptable values are 'asc' or 'desc'"},
		{"GET", "allocations/a%20b", "latest", "", "Expected a logical name or UUID but received a b.",
			"Expected UUID or name for allocation_ident: a b"},
		{"DELETE", "allocations/a%20b", "latest", "", "Expected a logical name or UUID but received a b.",
			"Expected UUID or name for allocation_ident: a b"},
		{"GET", "nodes/n/firmware?detail=x", "latest", "", "Schema error: 'x' is not of type 'boolean'",
			"Invalid detail: Unrecognized value 'x', acceptable values are: " +
				"'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'"},
		{"GET", "allocations/" + absentUUID + "?fields=x", "1.20", "", "The API version does not allow allocations",
			"The API version does not allow allocations"},
		{"PATCH", "allocations/" + absentUUID, "latest", extra,
			"Schema error: [1] is not of type 'string', 'object', 'null', 'integer', 'boolean'",
			"Allocation " + absentUUID + " could not be found."},
		{"DELETE", "ports", "latest", "", "Missing mandatory parameter: port_uuid", "Missing mandatory parameter: port_uuid"},
		{"DELETE", "nodes/n/ports", "latest", "", "Missing mandatory parameter: port_uuid", "Missing mandatory parameter: port_uuid"},
		{"PATCH", "nodes/n/ports", "latest", "[]", "Missing mandatory parameter: port_ident", "Missing mandatory parameter: port_ident"},
	} {
		require.Equal(t, c.want, s.do(c.method, "/v1/"+c.path, c.version, c.body).fault(), "%s %s", c.method, c.path)
		require.Equal(t, c.before, old.do(c.method, "/v1/"+c.path, c.version, c.body).fault(), "%s %s", c.method, c.path)
	}
	require.Equal(t, "Schema error: 'vendor' is not one of ['created_at', 'updated_at', 'component', 'initial_version', "+
		"'current_version', 'last_version_flashed']",
		s.do("GET", "/v1/nodes/n/firmware?fields=vendor,model", "latest", "").fault())
	for _, path := range []string{"firmware?fields=x", "firmware?detail=true", "bios?fields=x"} {
		require.Equal(t, http.StatusBadRequest, s.do("GET", "/v1/nodes/n/"+path, "latest", "").status, path)
		require.Equal(t, http.StatusOK, old.do("GET", "/v1/nodes/n/"+path, "latest", "").status, path)
	}
}

// Of several wrong parameters, the schema of a query names the first by its name. The handler converts numbers,
// booleans and lists before.
func TestTheSchemaOfAQueryChecksItsTypes(t *testing.T) {
	t.Parallel()
	const (
		noUUID  = "Schema error: 'x' is not a 'uuid'"
		noMAC   = "Schema error: 'x' is not a 'mac-address'"
		noWord  = "Schema error: 'up' is not one of ['asc', 'desc']"
		noIdent = "Schema error: 'a b' is not valid under any of the given schemas. Possible root cause: 'a b' is not a 'uuid'"
		names   = "'candidate_nodes', 'created_at', 'extra', 'last_error', 'links', 'name', 'node_uuid', 'resource_class', " +
			"'state', 'traits', 'updated_at', 'uuid'"
	)
	for _, c := range []struct {
		since                       states.Series
		path, version, want, before string
	}{
		{states.Hibiscus, "portgroups?address=x&marker=x", "latest", noMAC, "Expected valid MAC address for address: x"},
		{states.Hibiscus, "portgroups?node=a%20b&marker=x&sort_dir=up", "latest", noUUID, "Expected UUID or name for node: a b"},
		{states.Hibiscus, "portgroups?node=a%20b&sort_dir=up", "latest", noIdent, "Expected UUID or name for node: a b"},
		{states.Hibiscus, "portgroups?address=x&limit=y", "latest", "Expected an integer for limit: y",
			"Expected valid MAC address for address: x"},
		{states.Hibiscus, "portgroups?sort_key=a&sort_key=b&sort_dir=up", "latest", noWord, "Expected string for sort_key: ['a', 'b']"},
		{states.Hibiscus, "portgroups/detail?sort_dir=up&marker=x", "latest", noUUID, "Expected UUID for marker: x"},
		{states.Hibiscus, "portgroups?marker=x", "1.22", "The API is not supported for this version", "Expected UUID for marker: x"},
		{states.Flamingo, "allocations?node=a%20b&marker=x", "latest", noUUID, "Expected UUID or name for node: a b"},
		{states.Flamingo, "allocations?state=a&state=b&sort_dir=up", "latest", noWord, "Expected string for state: ['a', 'b']"},
		{states.Flamingo, "allocations?fields=x", "latest", "Schema error: 'x' is not one of [" + names + ", 'owner']", ""},
		{states.Flamingo, "allocations?fields=x", "1.59", "Schema error: 'x' is not one of [" + names + "]", ""},
		{states.Gazpacho, "inspection_rules?marker=", "latest", "", "Expected name for marker: "},
		{states.Gazpacho, "inspection_rules?marker=a%20b", "latest", "Rule a b could not be found.", "Expected name for marker: a b"},
		{states.Gazpacho, "inspection_rules?phase=a&phase=b", "latest", "Schema error: ['a', 'b'] is not of type 'string'", ""},
		{states.Gazpacho, "inspection_rules/x", "latest", noUUID, "Expected UUID for inspection_rule_uuid: x"},
	} {
		for series, want := range map[states.Series]string{c.since: c.want, c.since - 1: c.before} {
			if strings.HasPrefix(c.path, "inspection_rules") && series < states.Flamingo {
				continue
			}
			answer := start(t, series, api.Config{}).do("GET", "/v1/"+c.path, c.version, "")
			if want == "" {
				require.Equal(t, http.StatusOK, answer.status, "%v: %s", series, c.path)
				continue
			}
			require.Equal(t, want, answer.fault(), "%v: %s", series, c.path)
		}
	}
	for _, series := range []states.Series{states.Flamingo, states.Gazpacho} {
		s := start(t, series, api.Config{})
		require.Equal(t, "Expected an integer for limit: x", s.do("GET", "/v1/allocations?limit=x", "1.51", "").fault(), "before the version")
	}
}
