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

const (
	absentUUID  = "11111111-2222-3333-4444-555555555555"
	replaceNode = `[{"op": "replace", "path": "/node_uuid", "value": `
)

// fleet is a server with a record of each kind that belongs to a node.
func fleet(t *testing.T) (s *server, node string, paths map[string]string) {
	s = start(t, states.Antelope, api.Config{})
	node = s.create(`{"driver": "fake-hardware", "name": "n"}`)
	paths = map[string]string{}
	for path, body := range map[string]string{
		"chassis":           `{}`,
		"ports":             `{"node_uuid": "` + node + `", "address": "52:54:00:00:00:01"}`,
		"portgroups":        `{"node_uuid": "` + node + `", "name": "pg"}`,
		"volume/connectors": `{"node_uuid": "` + node + `", "type": "iqn", "connector_id": "i"}`,
		"volume/targets":    `{"node_uuid": "` + node + `", "volume_type": "iscsi", "volume_id": "v", "boot_index": 0}`,
		"deploy_templates":  `{"name": "CUSTOM_A", "steps": [{"interface": "deploy", "step": "deploy", "args": {}, "priority": 1}]}`,
		"allocations":       `{"name": "al", "resource_class": "none"}`,
	} {
		paths[path] = "/v1/" + path + "/" + s.do("POST", "/v1/"+path, "1.82", body).must(http.StatusCreated)["uuid"].(string)
	}
	s.waitAllocation("al")
	return s, node, paths
}

// The answers were given by Ironic 21.4.4.
func TestTheFirstFaultOfARequestMatchesIronic(t *testing.T) {
	s, node, paths := fleet(t)
	port, group, template := paths["ports"], paths["portgroups"], paths["deploy_templates"]
	for _, c := range []struct {
		method, path, version, body string
		status                      int
		fault                       string
	}{
		// The parameters of a list.
		{"GET", "/v1/ports?limit=x&portgroup=", "1.82", "", 400, "Expected an integer for limit: x"},
		{"GET", "/v1/ports?marker=x&portgroup=1:2", "1.82", "", 400, "Expected UUID for marker: x"},
		{"GET", "/v1/ports?fields=a&portgroup=1:2", "1.82", "", 400, "Expected UUID or name for portgroup: 1:2"},
		{"GET", "/v1/ports?detail=maybe&portgroup=", "1.82", "", 400, "Expected UUID or name for portgroup: "},
		{"GET", "/v1/ports?address=x&limit=x", "1.82", "", 400, "Expected valid MAC address for address: x"},
		{"GET", "/v1/deploy_templates?marker=x&sort_key=steps", "1.82", "", 400, "The sort_key value steps is an invalid field for sorting"},
		{"GET", "/v1/deploy_templates?marker=x&sort_key=name", "1.82", "", 404, "Deploy template x could not be found."},
		{"GET", "/v1/ports?marker=" + absentUUID + "&sort_key=extra", "1.82", "", 404, "Port " + absentUUID + " could not be found."},
		{"GET", "/v1/allocations?sort_key=node_uuid", "1.82", "", 400, `The sort_key value "node_uuid" is an invalid field for sorting`},
		{"GET", "/v1/allocations?sort_key=traits&marker=" + absentUUID, "1.82", "", 400,
			"The sort_key value traits is an invalid field for sorting"},
		{"GET", "/v1/volume/targets?sort_key=node_uuid", "1.82", "", 400, `The sort_key value "node_uuid" is an invalid field for sorting`},
		{"GET", "/v1/nodes/" + node + "/volume/connectors?sort_key=node_uuid", "1.82", "", 400,
			`The sort_key value "node_uuid" is an invalid field for sorting`},
		{"GET", "/v1/volume/connectors?a=%ff", "1.16", "", 400, ""},
		{"GET", "/v1/volume/connectors", "1.16", "", 404, ""},
		{"GET", "/v1/allocations?a=%ff", "1.16", "", 404, "The API version does not allow allocations"},
		// One record.
		{"GET", "/v1/chassis/" + absentUUID + "?fields=extra", "1.7", "", 406, "Request not acceptable."},
		{"GET", "/v1/ports/" + absentUUID + "?fields=extra", "1.7", "", 404, "Port " + absentUUID + " could not be found."},
		{"GET", "/v1/nodes/" + absentUUID + "/allocation.json", "1.82", "", 400, "Node " + absentUUID + " could not be found."},
		// Only lists have details.
		{"GET", group + "/detail", "1.82", "", 404, "Resource could not be found."},
		{"GET", port + "/detail", "1.11", "", 404, "Resource could not be found."},
		{"GET", "/v1/volume/connectors/detail", "1.82", "", 400, "Expected UUID for connector_uuid: detail"},
		// Patches.
		{"PATCH", paths["allocations"], "1.52", `[{"op": "test", "path": "/name"}]`, 400,
			"Schema error for patch: 'test' is not one of ['add', 'replace', 'remove']"},
		{"PATCH", paths["allocations"], "1.52", `[]`, 405, "The API version does not allow updating allocations"},
		{"PATCH", "/v1/allocations/" + absentUUID, "1.82", `null`, 404, "Allocation " + absentUUID + " could not be found."},
		{"PATCH", "/v1/portgroups/absent", "1.82", `null`, 404, "Portgroup absent could not be found."},
		{"PATCH", group, "1.82", `null`, 400, "Schema error for patch: None is not of type 'array'"},
		{"PATCH", "/v1/ports/" + absentUUID, "1.82", `null`, 400, "Schema error for patch: None is not of type 'array'"},
		{"PATCH", group, "1.82", replaceNode + `"n"}]`, 400, "Expected a UUID or int but received n."},
		{"PATCH", port, "1.82", replaceNode + `null}]`, 400, "Expected a UUID or int but received None."},
		{"PATCH", port, "1.82", replaceNode + `7}]`, 400, "Node 7 could not be found."},
		{"PATCH", paths["volume/targets"], "1.82", replaceNode + `"n"}]`, 400, "Expected a UUID for node_uuid, but received n."},
		{"PATCH", paths["volume/connectors"], "1.82", replaceNode + `null}, {"op": "remove", "path": "/extra/a"}]`, 400,
			"Expected a UUID for node_uuid, but received None."},
		{"PATCH", paths["volume/targets"], "1.82", replaceNode + `"` + absentUUID + `"}, {"op": "remove", "path": "/volume_type"}]`,
			400, "Node " + absentUUID + " could not be found."},
		{"PATCH", port, "1.82", `[{"op": "replace", "path": "/portgroup_uuid", "value": -230}]`, 400, "Portgroup -230 could not be found."},
		{"PATCH", port, "1.82", `[{"op": "add", "path": "/portgroup_uuid", "value": true}]`, 400, "Portgroup True could not be found."},
		{"PATCH", port, "1.82", `[{"op": "add", "path": "/portgroup_uuid", "value": "` + absentUUID + `"}, {"op": "remove", "path": "/address"}]`,
			400, "Portgroup " + absentUUID + " could not be found."},
		{"PATCH", group, "1.82", `[{"op": "replace", "path": "/name", "value": true}]`, 400,
			"Portgroup " + group[len("/v1/portgroups/"):] + ": Cannot change name to invalid name 'True'"},
		{"PATCH", group, "1.82", `[{"op": "replace", "path": "/name", "value": "a b"}, {"op": "remove", "path": "/extra/a"}]`,
			400, "Portgroup " + group[len("/v1/portgroups/"):] + ": Cannot change name to invalid name 'a b'"},
		{"PATCH", paths["allocations"], "1.82", `[{"op": "replace", "path": "/name", "value": "a b"}, ` +
			`{"op": "replace", "path": "/name", "value": "a"}]`, 400, "Cannot update allocation with invalid name 'a b'"},
		{"PATCH", template, "1.82", `null`, 400, "Schema error for patch: None is not of type 'array'"},
		{"POST", "/v1/nodes", "1.82", `{"driver": "fake-hardware", "conductor_group": "Attic"}`, 400,
			`No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "Attic".`},
		// The query of a POST: Ironic ignores the arguments that the body has, too.
		{"POST", "/v1/nodes?driver=x&z=y", "1.82", `{"driver": "fake-hardware"}`, 400, "Unexpected arguments: z"},
		{"POST", "/v1/nodes?driver=x", "1.82", `{"name": "m"}`, 400, "Unexpected arguments: driver"},
		{"POST", "/v1/nodes?driver=x", "1.82", `{"driver": "fake-hardware", "z": 1}`, 400,
			"Schema error for node: Additional properties are not allowed ('z' was unexpected)"},
		{"POST", "/v1/nodes?z=y", "1.82", `{"driver": "fake-hardware", "z": 1}`, 400,
			"Schema error for node: Additional properties are not allowed ('z' was unexpected)"},
		{"POST", "/v1/nodes/n/ports?address=x", "1.82", `{"node_uuid": "` + node + `", "address": "52:54:00:00:00:02"}`, 403,
			"Operation not permitted."},
		{"POST", "/v1/events?events=x", "1.54", `{"events": [5]}`, 400, "Schema error for evts: 5 is not of type 'object'"},
		{"POST", "/v1/chassis/x?description=a", "1.82", ``, 400, "Unexpected arguments: description"},
		{"POST", "/v1/chassis/x?description=a", "1.82", `{"extra": {}}`, 400, "Unexpected arguments: description"},
		{"POST", "/v1/chassis/x?description=a", "1.82", `[]`, 400, "Unexpected arguments: description"},
		{"POST", "/v1/chassis/x?description=a", "1.82", `{"description": "b"}`, 400, "Schema error for chassis: 'x' is not of type 'object'"},
		{"POST", "/v1/events?z=x", "1.54", `{"events": [5]}`, 400, "Unexpected arguments: z"},
		{"POST", "/v1/events?evts=x", "1.54", `{"events": [5]}`, 400, "Schema error for evts: 5 is not of type 'object'"},
		// Nodes of a chassis.
		{"POST", paths["chassis"] + "/nodes?driver=x", "1.82", "", 400, "Unexpected arguments: driver"},
		{"POST", paths["chassis"] + "/nodes", "1.82", "", 400,
			"Schema error for node: '" + paths["chassis"][len("/v1/chassis/"):] + "' is not of type 'object'"},
		{"POST", "/v1/chassis/nodes", "1.82", "", 400, "Schema error for node: 'driver' is a required property"},
		{"POST", "/v1/chassis/nodes", "1.82", `{"driver": "fake-hardware"}`, 403, "Operation not permitted."},
		{"GET", paths["chassis"] + "/nodes/n?fields=name", "1.82", "", 403, "Operation not permitted."},
		{"GET", paths["chassis"] + "/nodes/n?fields=name&fault=none&conductor=c", "1.82", "", 400, "Unexpected arguments: conductor, fault"},
		{"DELETE", paths["chassis"] + "/nodes", "1.82", "", 403, "Operation not permitted."},
		{"DELETE", paths["chassis"] + "/nodes/detail", "1.82", "", 404, "Resource could not be found."},
		{"PATCH", paths["chassis"] + "/nodes", "1.82", "{}", 400, "Schema error for patch: {} is not of type 'array'"},
		{"PATCH", paths["chassis"] + "/nodes", "1.82", "null", 403, "Operation not permitted."},
		{"PATCH", paths["chassis"] + "/nodes/detail", "1.82", "", 400,
			"Invalid reset_interfaces: Unrecognized value 'detail', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', " +
				"'on', 't', 'true', 'y', 'yes'"},
		{"PATCH", paths["chassis"] + "/nodes", "1.82", "[]", 403, "Operation not permitted."},
		// New records below another one.
		{"POST", "/v1/nodes/n/volume/connectors", "1.82", "", 400, "Schema error for connector: 'connector_id' is a required property"},
		{"POST", "/v1/nodes/n/volume/connectors", "1.82", `{"node_uuid": "` + absentUUID + `", "type": "iqn", "connector_id": "i"}`,
			400, "Invalid input for field/attribute node_uuid. Value: '" + absentUUID + "'. "},
		{"POST", "/v1/nodes/n/volume/connectors", "1.82", `{"node_uuid": "` + node + `", "type": "iqn", "connector_id": "j"}`,
			403, "Operation not permitted."},
		{"POST", "/v1/nodes/n/ports", "1.82", `{"node_uuid": "x"}`, 400, "Schema error for port: 'address' is a required property"},
		{"POST", "/v1/nodes/n/ports", "1.82", `{"node_uuid": "` + absentUUID + `", "address": "52:54:00:00:00:02"}`, 403,
			"Operation not permitted."},
		{"POST", group + "/ports", "1.82", "", 400, "Schema error for port: 'address' is a required property"},
		{"POST", group + "/ports", "1.82", `{"node_uuid": "` + node + `", "address": "52:54:00:00:00:02"}`, 403, "Operation not permitted."},
		{"POST", group + "/ports?limit=1", "1.82", `{"node_uuid": "` + node + `", "address": "52:54:00:00:00:02"}`, 400,
			"Unexpected arguments: limit"},
		{"POST", "/v1/nodes/n/portgroups", "1.82", `{"node_uuid": "` + absentUUID + `"}`, 400, "Node " + absentUUID + " could not be found."},
		// Ports.
		{"POST", "/v1/ports", "1.82", `{"node_uuid": "` + node + `", "address": "52:54:00:00:00:02", "physical_network": "", ` +
			`"portgroup_uuid": "` + absentUUID + `"}`, 400, "Portgroup " + absentUUID + " could not be found."},
		{"POST", "/v1/ports", "1.82", `{"node_uuid": "` + node + `", "address": "52:54:00:00:00:02", "physical_network": "", ` +
			`"portgroup_uuid": "` + group[len("/v1/portgroups/"):] + `"}`, 400, "A non-empty value is required when setting physical_network"},
		// Nodes and agents.
		{"PATCH", "/v1/nodes/n/nonsense/x", "1.82", "", 400,
			"Invalid reset_interfaces: Unrecognized value 'nonsense', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', " +
				"'on', 't', 'true', 'y', 'yes'"},
		{"PATCH", "/v1/nodes/n/true/x", "1.82", "", 400, "Schema error for patch: 'x' is not of type 'array'"},
		{"PATCH", port + "/x", "1.82", "", 400, "Schema error for patch: 'x' is not of type 'array'"},
		{"POST", "/v1/heartbeat/n", "1.82", `{"callback_url": "u", "agent_token": "wrong"}`, 400,
			"Agent did not transmit a version, and a version is required. Please update the agent being used."},
		{"POST", "/v1/heartbeat/n", "1.82", `{"callback_url": "u", "agent_token": "wrong", "agent_version": ""}`, 400,
			"Invalid or missing agent token received."},
		{"POST", "/v1/heartbeat", "1.82", `{"node_ident": "n", "callback_url": "u", "agent_token": "wrong", "agent_version": "9"}`,
			400, "Invalid or missing agent token received."},
		{"POST", "/v1/heartbeat?node_ident=n", "1.82", `{"callback_url": "u", "agent_token": "wrong", "agent_version": "9"}`, 400,
			"Invalid or missing agent token received."},
		{"POST", "/v1/heartbeat", "1.82", `{"node_ident": "absent", "callback_url": "u"}`, 404, "Node absent could not be found."},
		{"POST", "/v1/heartbeat", "1.82", `{"node_ident": null, "callback_url": "u"}`, 400, "Expected UUID or name for node_ident: "},
		{"POST", "/v1/heartbeat", "1.82", `{"node_ident": "a b"}`, 400, "Expected UUID or name for node_ident: a b"},
		{"POST", "/v1/heartbeat/a%20b", "1.82", "", 400, "Expected UUID or name for node_ident: a b"},
		{"POST", "/v1/heartbeat", "1.82", `{"node_ident": "n"}`, 400, "Missing mandatory parameter: callback_url"},
		{"POST", "/v1/heartbeat", "1.82", "", 400, "Missing mandatory parameter: node_ident"},
		{"POST", "/v1/heartbeat/n", "1.82", `{"node_ident": "n"}`, 400, "Unexpected arguments: node_ident"},
		{"POST", "/v1/heartbeat/n/x", "1.82", "", 400, "Agent token is required for heartbeat processing."},
		{"POST", "/v1/heartbeat", "1.82", `{"node_ident": "` + strings.Repeat("n", 4<<10) + `"}`, 413, "Request body is too large."},
		{"HEAD", "/v1/events", "1.53", "", 404, ""},
		{"HEAD", "/v1/events", "1.54", "", 405, ""},
		{"GET", "/v1/events", "1.53", "", 404, ""},
		{"POST", "/v1/heartbeat/n", "1.35", `{"callback_url": "u", "agent_version": "9"}`, 400, `Field "agent_version" not recognised`},
		{"POST", "/v1/heartbeat/n", "1.36", `{"callback_url": "u", "agent_version": "9"}`, 400,
			"Agent token is required for heartbeat processing."},
		{"POST", "/v1/heartbeat/n", "1.67", `{"callback_url": "u", "agent_verify_ca": "c"}`, 400,
			`Field "agent_verify_ca" not recognised in this version`},
		{"POST", "/v1/heartbeat/n", "1.68", `{"callback_url": "u", "agent_verify_ca": "c"}`, 400,
			"Agent token is required for heartbeat processing."},
		{"POST", "/v1/heartbeat/n", "1.71", `{"callback_url": "u", "agent_status": "end"}`, 400,
			`Fields "agent_status" and "agent_status_message" not recognised.`},
		{"POST", "/v1/heartbeat/n", "1.71", `{"callback_url": "u", "agent_status_message": "m"}`, 400,
			`Fields "agent_status" and "agent_status_message" not recognised.`},
		{"POST", "/v1/heartbeat/n", "1.72", `{"callback_url": "u", "agent_token": "wrong", "agent_status": "x"}`, 400,
			"Agent status is invalid. Valid states are start,end,error."},
		{"POST", "/v1/heartbeat/n", "1.72", `{"callback_url": "u", "agent_token": "wrong", "agent_status": "end"}`, 400,
			"Invalid or missing agent token received."},
		{"POST", "/v1/events", "1.54", `{"events": [{"event": "network.bind_port", "status": "s", "port_id": "x", ` +
			`"mac_address": "52:54:00:00:00:01"}]}`, 400, "Expected UUID for port_id: x"},
		{"POST", "/v1/events", "1.54", `{"events": [{"event": "network.bind_port", "status": "s", "port_id": "` + absentUUID +
			`", "mac_address": "x"}]}`, 400, "Expected valid MAC address for mac_address: x"},
		{"POST", "/v1/events", "1.54", `{"events": [{"event": "network.bind_port", "status": "s", "port_id": "` + absentUUID +
			`", "mac_address": "52:54:00:00:00:01", "device_id": "x"}]}`, 400, "Expected UUID for device_id: x"},
		{"POST", "/v1/events", "1.54", `{"events": [{"event": "network.bind_port", "status": "s", "port_id": "` + absentUUID +
			`", "mac_address": "52:54:00:00:00:01", "binding:host_id": "x"}]}`, 400, "Expected UUID for binding:host_id: x"},
		{"POST", "/v1/events", "1.53", "{}", 400, "Schema error for evts: 'events' is a required property"},
	} {
		got := s.do(c.method, c.path, c.version, c.body)
		require.Equal(t, c.fault, got.fault(), "%s %s %s", c.method, c.path, c.body)
		require.Equal(t, c.status, got.status, "%s %s %s", c.method, c.path, c.body)
	}
}

func TestAListOfThePortWithAnAddressIgnoresTheMarker(t *testing.T) {
	s, _, paths := fleet(t)
	port := paths["ports"][len("/v1/ports/"):]
	got := s.do("GET", "/v1/ports?address=52:54:00:00:00:01&marker="+port, "1.82", "").must(http.StatusOK)
	require.Len(t, got["ports"], 1)
	require.Empty(t, s.do("GET", "/v1/ports?marker="+port, "1.82", "").must(http.StatusOK)["ports"])
}

func TestABackfilledAllocationHasTheResourceClassOfItsNode(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	for class, want := range map[string]any{"": nil, "big": "big"} {
		n, err := s.conductor.CreateNode(t.Context(),
			&conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active, ResourceClass: class})
		require.NoError(t, err)
		created := s.do("POST", "/v1/allocations", "1.82", `{"node": "`+n.UUID+`", "resource_class": null}`).must(http.StatusCreated)
		require.Equal(t, want, created["resource_class"])
	}
	require.Equal(t, "The resource_class field is mandatory when not backfilling",
		s.do("POST", "/v1/allocations", "1.82", `{"resource_class": null}`).fault())
}

func TestAnEmptyTextOrARemovedBooleanIsStoredAsGiven(t *testing.T) {
	s, node, paths := fleet(t)
	group := s.do("POST", "/v1/portgroups", "1.82", `{"node_uuid": "`+node+`", "name": ""}`).must(http.StatusCreated)
	require.Equal(t, "", group["name"])
	require.Equal(t, "", s.do("GET", "/v1/portgroups/"+group["uuid"].(string), "1.82", "").must(http.StatusOK)["name"])
	require.Equal(t, http.StatusNoContent, s.do("DELETE", "/v1/portgroups/"+group["uuid"].(string), "1.82", "").status)
	require.Equal(t, "", s.do("POST", "/v1/allocations", "1.82", `{"name": "", "resource_class": "none"}`).must(http.StatusCreated)["name"])
	rename := func(value string) any {
		return s.do("PATCH", paths["portgroups"], "1.82", `[{"op": "replace", "path": "/name", "value": `+value+`}]`).must(http.StatusOK)["name"]
	}
	require.Equal(t, "", rename(`""`))
	require.Nil(t, rename(`null`))
	require.Equal(t, "pg2", rename(`"pg2"`))

	require.Equal(t, false, s.do("GET", paths["ports"], "1.82", "").must(http.StatusOK)["is_smartnic"])
	made := s.do("POST", "/v1/ports", "1.82", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:99", "is_smartnic": null}`)
	require.Equal(t, false, made.must(http.StatusCreated)["is_smartnic"])
	port := s.do("PATCH", paths["ports"], "1.82", `[{"op": "remove", "path": "/is_smartnic"}]`).must(http.StatusOK)
	require.Nil(t, port["is_smartnic"])
	require.NotNil(t, port["updated_at"])
	port = s.do("PATCH", paths["ports"], "1.82", `[{"op": "add", "path": "/is_smartnic", "value": false}]`).must(http.StatusOK)
	require.Equal(t, false, port["is_smartnic"])
}

func TestNoDescriptionContainsNothing(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	s.create(`{"driver": "fake-hardware"}`)
	s.create(`{"driver": "fake-hardware", "description": "in the attic"}`)
	for query, found := range map[string]int{"": 1, "ATTIC": 1, "cellar": 0} {
		require.Len(t, s.do("GET", "/v1/nodes?description_contains="+query, "1.82", "").must(http.StatusOK)["nodes"], found, query)
	}
}

// Ironic takes the query and the body as arguments of one function, and the body's win.
func TestTheQueryOfAPostMayHaveArgumentsOfTheBody(t *testing.T) {
	s, node, _ := fleet(t)
	for path, body := range map[string]string{
		"nodes?driver=x&driver=y&node=z": `{"driver": "fake-hardware"}`,
		"chassis?description=x":          `{"description": "d"}`,
		"ports?address=x":                `{"node_uuid": "` + node + `", "address": "52:54:00:00:00:03"}`,
		"portgroups?name=x":              `{"node_uuid": "` + node + `", "name": "d"}`,
		"volume/connectors?type=x":       `{"node_uuid": "` + node + `", "type": "iqn", "connector_id": "d"}`,
		"volume/targets?volume_id=x":     `{"node_uuid": "` + node + `", "volume_type": "iscsi", "volume_id": "d", "boot_index": 7}`,
		"deploy_templates?name=x&template=y": `{"name": "CUSTOM_D",
			"steps": [{"interface": "deploy", "step": "deploy", "args": {}, "priority": 1}]}`,
		"allocations?resource_class=x&name=y": `{"name": "d", "resource_class": "none"}`,
	} {
		created := s.do("POST", "/v1/"+path, "1.82", body).must(http.StatusCreated)
		for _, value := range created {
			require.NotContains(t, []any{"x", "y", "z"}, value, path)
		}
	}
}
