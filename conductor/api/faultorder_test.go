// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// twisted is a valid request and the faults that it may have, in the order in which the API finds them.
type twisted struct {
	method, path string
	query        url.Values
	body         map[string]any
	text         string // the body, with %s for the object; empty for the object alone
	status       int    // of the answer to the valid request
	twists       []twist
}

// twist is a change of a valid request that gives it a fault, also if the changes of later twists have been made
// before.
type twist struct {
	fault   string         // the status and the text
	version int            // the highest minor version with the fault; zero for all
	path    string         // in place of the path
	query   url.Values     // parameters that are set, or left out if they have no value
	body    map[string]any // keys that are set, or left out if they have the value absent
	text    string         // in place of the body
}

// absent is the value of a key that a body lacks.
var absent = new(int)

// send sends the request with some twists, of which the first overrides the others.
func (c twisted) send(s *server, twists ...twist) reply {
	s.t.Helper()
	path, query, object, text := c.path, url.Values{}, maps.Clone(c.body), ""
	version := int(s.conductor.Table().Series().MaxAPIVersion())
	maps.Copy(query, c.query)
	for _, w := range slices.Backward(twists) {
		maps.Copy(query, w.query)
		for key, value := range w.body {
			if object[key] = value; value == absent {
				delete(object, key)
			}
		}
		if w.path != "" {
			path = w.path
		}
		if w.text != "" || w.body != nil {
			text = w.text
		}
		if w.version != 0 {
			version = min(version, w.version)
		}
	}
	if text == "" {
		text = c.text
	}
	if object != nil && (text == "" || text == c.text) {
		encoded, err := json.Marshal(object)
		require.NoError(s.t, err)
		if text = string(encoded); c.text != "" {
			text = fmt.Sprintf(c.text, encoded)
		}
	}
	return s.do(c.method, "/v1/"+path+"?"+query.Encode(), fmt.Sprintf("1.%d", version), text)
}

// test sends the request with each fault alone, with each two of them, and with each one and all later ones. The answer
// is about the first.
func (c twisted) test(s *server) {
	s.t.Helper()
	for i, first := range c.twists {
		alone := c.send(s, first)
		require.Equal(s.t, first.fault, fmt.Sprintf("%d %s", alone.status, alone.fault()), "%s %s: %+v", c.method, c.path, first)
		later := c.twists[i+1:]
		for j := range later {
			for _, more := range [][]twist{later[j : j+1], later[j:]} {
				both := c.send(s, append([]twist{first}, more...)...)
				require.Equal(s.t, alone.body, both.body, "%s %s: %+v and later %+v", c.method, c.path, first, more)
				require.Equal(s.t, alone.status, both.status)
			}
		}
	}
	valid := c.send(s)
	require.Equal(s.t, c.status, valid.status, "%s %s: %s", c.method, c.path, valid.body)
}

// Source: LookupController in ironic/api/controllers/v1/ramdisk.py.
func TestTheFirstFaultOfALookupIsAnswered(t *testing.T) {
	t.Parallel()
	for _, series := range []states.Series{states.Antelope, states.Latest()} {
		s := start(t, series, api.Config{})
		node := url.Values{"node_uuid": {s.waiting(conductor.AgentInfo{})}}
		c := twisted{method: "GET", path: "lookup", query: node, status: 200, twists: []twist{
			{"400 Unexpected arguments: bogus", 0, "", url.Values{"bogus": {"1"}}, nil, ""},
			{"400 Expected string for addresses: ['x', 'y']", 0, "", url.Values{"addresses": {"x", "y"}}, nil, ""},
			{"400 Expected UUID for node_uuid: x", 0, "", url.Values{"node_uuid": {"x"}}, nil, ""},
			{"404 Resource could not be found.", 21, "", nil, nil, ""},
			{"400 At least one of 'addresses' and 'node_uuid' parameters is required", 0, "",
				url.Values{"node_uuid": nil, "addresses": {"x"}}, nil, ""},
			{"404 Resource could not be found.", 0, "", url.Values{"node_uuid": {absentUUID}}, nil, ""},
		}}
		if series != states.Antelope { // repeated parameters are a list
			c.twists = slices.Delete(c.twists, 1, 2)
		}
		c.test(s)
	}
}

// Source: HeartbeatController in ironic/api/controllers/v1/ramdisk.py.
func TestTheFirstFaultOfAHeartbeatIsAnswered(t *testing.T) {
	t.Parallel()
	waiting := func() *server {
		s := start(t, states.Latest(), api.Config{})
		s.waiting(conductor.AgentInfo{URL: "http://192.0.2.1:9999", Token: "t"})
		return s
	}
	beat := map[string]any{"callback_url": "http://192.0.2.1:9999", "agent_version": "9", "agent_token": "t"}
	arguments := []twist{
		{"400 Missing mandatory parameter: callback_url", 0, "", nil, map[string]any{"callback_url": absent}, ""},
		{"400 Expected string for callback_url: 5", 0, "", nil, map[string]any{"callback_url": 5}, ""},
		{"400 Expected string for agent_version: 5", 0, "", nil, map[string]any{"agent_version": 5}, ""},
		{"400 Expected string for agent_token: 5", 0, "", nil, map[string]any{"agent_token": 5}, ""},
		{"400 Expected string for agent_verify_ca: 5", 0, "", nil, map[string]any{"agent_verify_ca": 5}, ""},
		{"400 Expected string for agent_status: 5", 0, "", nil, map[string]any{"agent_status": 5}, ""},
		{"400 Expected string for agent_status_message: 5", 0, "", nil, map[string]any{"agent_status_message": 5}, ""},
		{"404 Resource could not be found.", 21, "", nil, nil, ""},
		{`400 Field "agent_version" not recognised`, 35, "", nil, map[string]any{"agent_version": "9"}, ""},
		{`400 Fields "agent_status" and "agent_status_message" not recognised.`, 71, "", nil, map[string]any{"agent_status": "start"}, ""},
		{`400 Fields "agent_status" and "agent_status_message" not recognised.`, 71, "", nil, map[string]any{"agent_status_message": "m"}, ""},
		{`400 Field "agent_verify_ca" not recognised in this version`, 67, "", nil,
			map[string]any{"agent_verify_ca": "", "agent_status": absent, "agent_status_message": absent}, ""},
	}
	rules := []twist{
		{`400 An issue with the supplied "callback_url" has been detected.`, 0, "", nil, map[string]any{"callback_url": "ftp://192.0.2.1"}, ""},
		{`400 Detected change in ramdisk provided "callback_url"`, 0, "", nil, map[string]any{"callback_url": "http://192.0.2.2:9999"}, ""},
		{"400 Agent token is required for heartbeat processing.", 0, "", nil, map[string]any{"agent_token": absent}, ""},
		{"400 Agent status is invalid. Valid states are start,end,error.", 0, "", nil, map[string]any{"agent_status": "x"}, ""},
		{"400 Agent did not transmit a version, and a version is required. Please update the agent being used.", 0, "", nil,
			map[string]any{"agent_version": absent}, ""},
		{"400 Invalid or missing agent token received.", 0, "", nil, map[string]any{"agent_token": "x"}, ""},
	}
	twisted{method: "POST", path: "heartbeat/n", body: beat, status: 202, twists: slices.Concat([]twist{
		{"400 The request body is not JSON: unexpected end of JSON input", 0, "", nil, nil, "{"},
		{"400 Unexpected arguments: bogus", 0, "", url.Values{"bogus": {"1"}}, nil, ""},
		{"400 Expected UUID or name for node_ident: a b", 0, "heartbeat/a%20b", nil, nil, ""},
	}, arguments, []twist{
		{"404 Node x could not be found.", 0, "heartbeat/x", nil, nil, ""},
	}, rules)}.test(waiting())
	beat["node_ident"] = "n"
	twisted{method: "POST", path: "heartbeat", body: beat, status: 202, twists: slices.Concat([]twist{
		{"400 The request body is not JSON: unexpected end of JSON input", 0, "", nil, nil, "{"},
		{"400 Unexpected arguments: bogus", 0, "", nil, map[string]any{"bogus": 1}, ""},
		{"400 Missing mandatory parameter: node_ident", 0, "", nil, map[string]any{"node_ident": absent}, ""},
		{"400 Expected UUID or name for node_ident: a b", 0, "", nil, map[string]any{"node_ident": "a b"}, ""},
	}, arguments, []twist{
		{"404 Node x could not be found.", 0, "", nil, map[string]any{"node_ident": "x"}, ""},
	}, rules)}.test(waiting())
}

// Source: ContinueInspectionController in ironic/api/controllers/v1/ramdisk.py.
func TestTheFirstFaultOfInspectionDataIsAnswered(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	uuid := s.inspecting()
	interfaces := func(mac any) map[string]any {
		return map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "mac_address": mac, "ipv4_address": "192.0.2.10"}}}
	}
	twisted{
		method: "POST", path: "continue_inspection", query: url.Values{"node_uuid": {uuid}},
		body: map[string]any{"inventory": interfaces(inspectedMAC)}, status: 202, twists: []twist{
			{"400 The request body is not JSON: unexpected end of JSON input", 0, "", nil, nil, "{"},
			{"400 Unexpected arguments: bogus", 0, "", url.Values{"bogus": {"1"}}, nil, ""},
			{"400 Schema error for data: 'inventory' is a required property", 0, "", nil, map[string]any{"inventory": absent}, ""},
			{"400 Expected UUID for node_uuid: x", 0, "", url.Values{"node_uuid": {"x"}}, nil, ""},
			{"404 API version 1.84 or newer is required", 83, "", nil, nil, ""},
			{"404 API version 1.84 or newer is required", 1, "", url.Values{"node_uuid": {uuid}}, nil, ""},
			{"400 No lookup information provided", 0, "", url.Values{"node_uuid": nil}, map[string]any{"inventory": interfaces("x")}, ""},
			{"404 Resource could not be found.", 0, "", url.Values{"node_uuid": {absentUUID}}, nil, ""},
		},
	}.test(s)
}

// Source: ironic/api/controllers/v1/event.py, since 2026.2 with ironic/api/schemas/v1/event.py.
func TestTheFirstFaultOfEventsIsAnswered(t *testing.T) {
	t.Parallel()
	event := map[string]any{"event": "network.bind_port", "status": "x", "port_id": absentUUID, "mac_address": "52:54:00:00:00:01"}
	noJSON := twist{"400 The request body is not JSON: unexpected end of JSON input", 0, "", nil, nil, "{"}
	bogus := twist{"400 Unexpected arguments: bogus", 0, "", url.Values{"bogus": {"1"}}, nil, ""}
	twisted{method: "POST", path: "events", text: `{"events": [%s]}`, body: event, status: 204, twists: []twist{
		{"404 The API is not supported for this version", 53, "", nil, nil, ""},
		noJSON,
		{"400 Schema error: 'events' is a required property", 0, "", nil, nil, "{}"},
		{"400 Schema error: 'x' is not a 'uuid'", 0, "", nil, map[string]any{"port_id": "x"}, ""},
		{"404 ", 0, "events/a", nil, nil, ""},
		bogus,
	}}.test(start(t, states.Hibiscus, api.Config{}))
	twisted{method: "POST", path: "events", text: `{"events": [%s]}`, body: event, status: 204, twists: []twist{
		noJSON,
		bogus,
		{"400 Schema error for evts: 'events' is a required property", 0, "", nil, nil, "{}"},
		{"400 Schema error for evts: 'event' is a required property", 0, "", nil, map[string]any{"event": absent}, ""},
		{"400 Schema error for evts: 'status' is a required property", 0, "", nil, map[string]any{"status": absent}, ""},
		{"400 Expected UUID for port_id: x", 0, "", nil, map[string]any{"port_id": "x"}, ""},
		{"400 Expected valid MAC address for mac_address: x", 0, "", nil, map[string]any{"mac_address": "x"}, ""},
		{"400 Expected UUID for device_id: x", 0, "", nil, map[string]any{"device_id": "x"}, ""},
		{"400 Expected UUID for binding:host_id: x", 0, "", nil, map[string]any{"binding:host_id": "x"}, ""},
		{"404 Resource could not be found.", 53, "", nil, nil, ""},
	}}.test(start(t, states.Gazpacho, api.Config{}))
}

// Source: get_one, patch and delete of the controllers in ironic/api/controllers/v1, which refuse a parent.
func TestTheFirstFaultOfARecordBelowAnotherIsAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	made := s.do("POST", "/v1/volume/connectors", "latest", `{"node_uuid": "`+node+`", "type": "iqn", "connector_id": "i"}`)
	const below = "nodes/n/volume/connectors/"
	path := below + made.must(201)["uuid"].(string)
	bogus := twist{"400 Unexpected arguments: bogus", 0, "", url.Values{"bogus": {"1"}}, nil, ""}
	noIdent := twist{"400 Missing mandatory parameter: connector_uuid", 0, "nodes/n/volume/connectors", nil, nil, ""}
	badIdent := twist{"400 Expected UUID for connector_uuid: x", 0, below + "x", nil, nil, ""}
	unknown := twist{"404 Volume connector " + absentUUID + " could not be found.", 0, below + absentUUID, nil, nil, ""}
	noJSON := twist{"400 The request body is not JSON: unexpected end of JSON input", 0, "", nil, nil, "["}
	for _, c := range []twisted{
		{method: "GET", path: path, query: url.Values{"fields": {"x"}}, status: 400, twists: []twist{bogus, badIdent, unknown}},
		{method: "DELETE", path: path, status: 400, twists: []twist{bogus, noIdent, badIdent, unknown}},
		{method: "PATCH", path: path, text: "[]", status: 400, twists: []twist{bogus, noIdent, badIdent, noJSON, unknown}},
		{method: "PATCH", path: "nodes/n/ports/" + absentUUID, text: "[]", status: 400, twists: []twist{
			bogus,
			{"400 Missing mandatory parameter: port_ident", 0, "nodes/n/ports", nil, nil, ""},
			{"400 Expected UUID or name for port_ident: a b", 0, "nodes/n/ports/a%20b", nil, nil, ""},
			noJSON,
		}},
		{method: "DELETE", path: "nodes/n/ports/" + absentUUID, status: 400, twists: []twist{
			bogus,
			{"400 Missing mandatory parameter: port_uuid", 0, "nodes/n/ports", nil, nil, ""},
			{"400 Expected UUID for port_uuid: x", 0, "nodes/n/ports/x", nil, nil, ""},
		}},
	} {
		c.test(s)
	}
}

// Source: get_all, get_one and patch in ironic/api/controllers/v1/allocation.py, with
// ironic/api/schemas/v1/allocation.py.
func TestTheFirstFaultOfAQueryIsAnswered(t *testing.T) {
	t.Parallel()
	fields := "400 Schema error: 'x' is not one of ['candidate_nodes', 'created_at', 'extra', 'last_error', 'links', 'name', 'node_uuid', " +
		"'resource_class', 'state', 'traits', 'updated_at', 'uuid', 'owner']"
	bogus := twist{"400 Unexpected arguments: bogus", 0, "", url.Values{"bogus": {"1"}}, nil, ""}
	limit := twist{"400 Expected an integer for limit: x", 0, "", url.Values{"limit": {"x"}}, nil, ""}
	field := twist{fields, 0, "", url.Values{"fields": {"x"}}, nil, ""}
	negative := twist{"400 Limit must be positive", 0, "", url.Values{"limit": {"-1"}, "fields": nil}, nil, ""}
	ident := twist{"400 Expected a logical name or UUID but received a b.", 0, "allocations/a%20b", nil, nil, ""}
	noJSON := twist{"400 The request body is not JSON: unexpected end of JSON input", 0, "", nil, nil, "["}
	old := twist{"404 The API version does not allow allocations", 51, "", nil, nil, ""}
	oldPatch := twist{"405 The API version does not allow updating allocations", 56, "", nil, nil, ""}
	for series, list := range map[states.Series][]twist{
		states.Gazpacho: {bogus, limit, old, field, negative},
		states.Hibiscus: {old, bogus, limit, field, negative},
	} {
		s := start(t, series, api.Config{})
		chassis := s.do("POST", "/v1/chassis", "latest", "{}").must(201)["uuid"].(string)
		s.do("POST", "/v1/allocations", "latest", `{"name": "a", "resource_class": "x"}`).must(201)
		s.waitAllocation("a")
		twisted{method: "GET", path: "allocations", status: 200, twists: list}.test(s)
		twisted{method: "GET", path: "allocations/a", status: 200, twists: []twist{old, bogus, field, ident}}.test(s)
		twisted{method: "PATCH", path: "allocations/a", text: "[]", status: 200, twists: []twist{oldPatch, bogus, noJSON, ident}}.test(s)
		twisted{method: "GET", path: "chassis/" + chassis + "/nodes", status: 200, twists: []twist{
			bogus,
			limit,
			{"400 The path and the query both have the argument chassis_uuid", 0, "", url.Values{"chassis_uuid": {chassis}}, nil, ""},
			negative,
		}}.test(s)
	}
}
