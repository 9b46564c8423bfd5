// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// Source: the decorators of the methods in ironic/api/controllers/v1, which are called from the first to the last.
func TestEachResourceChecksInIronicsOrder(t *testing.T) {
	t.Parallel()
	const (
		noAPI, noAllocations = "The API is not supported for this version", "The API version does not allow allocations"
		bogus, badTraits     = "Unexpected arguments: bogus", "Schema error: 5 is not of type 'array', 'null'"
		noDriver             = "Could not find the following driver(s) or hardware type(s): x."
		noInventory          = "Schema error for data: 'inventory' is a required property"
		badField             = "Schema error: 'bogus' is not one of ['hosts', 'links', 'name', " +
			"'default_boot_interface', 'enabled_boot_interfaces', 'default_console_interface', 'enabled_console_interfaces', " +
			"'default_deploy_interface', 'enabled_deploy_interfaces', " +
			"'default_inspect_interface', 'enabled_inspect_interfaces', 'default_management_interface', 'enabled_management_interfaces', " +
			"'default_network_interface', 'enabled_network_interfaces', 'default_power_interface', 'enabled_power_interfaces', " +
			"'default_raid_interface', 'enabled_raid_interfaces', 'default_vendor_interface', 'enabled_vendor_interfaces', " +
			"'default_storage_interface', 'enabled_storage_interfaces', 'default_rescue_interface', 'enabled_rescue_interfaces', " +
			"'default_bios_interface', 'enabled_bios_interfaces', "
	)
	for _, c := range []struct {
		series                      states.Series
		method, path, version, body string
		status                      int
		fault                       string
	}{
		{states.Hibiscus, "GET", "conductors?bogus=1", "1.48", "", 404, noAPI},
		{states.Gazpacho, "GET", "conductors?bogus=1", "1.48", "", 400, bogus},
		{states.Hibiscus, "GET", "conductors/x?bogus=1", "1.48", "", 404, noAPI},
		{states.Hibiscus, "GET", "conductors?bogus=1", "1.49", "", 400, bogus},
		{states.Gazpacho, "GET", "allocations?bogus=1&marker=x", "1.51", "", 400, bogus},
		{states.Hibiscus, "GET", "allocations?bogus=1&marker=x", "1.51", "", 404, noAllocations},
		{states.Gazpacho, "GET", "allocations?marker=x", "1.51", "", 404, noAllocations},
		{states.Gazpacho, "GET", "allocations/x?bogus=1", "1.51", "", 404, noAllocations},
		{states.Gazpacho, "POST", "allocations?bogus=1", "1.51", `{}`, 405, noAllocations},
		{states.Gazpacho, "DELETE", "allocations/x?bogus=1", "1.51", "", 405, noAllocations},
		{states.Gazpacho, "PATCH", "allocations/x?bogus=1", "1.56", `[]`, 405, "The API version does not allow updating allocations"},
		{states.Hibiscus, "DELETE", "portgroups/x?bogus=1", "1.22", "", 404, noAPI},
		{states.Hibiscus, "GET", "volume?bogus=1", "1.31", "", 404, noAPI},
		{states.Flamingo, "POST", "allocations?bogus=1", "latest", `{"traits": 5}`, 400, badTraits},
		{states.Epoxy, "POST", "allocations?bogus=1", "latest", `{"traits": 5}`, 400, bogus},
		{states.Gazpacho, "POST", "allocations?bogus=1", "latest", `{"resource_class": "x"}`, 400, bogus},
		{states.Epoxy, "POST", "continue_inspection?bogus=1&node_uuid=x", "", `{}`, 400, bogus},
		{states.Epoxy, "POST", "continue_inspection?node_uuid=x", "", `{}`, 400, noInventory},
		{states.Flamingo, "PATCH", "inspection_rules/" + absentUUID, "latest", "null", 404, "Rule " + absentUUID + " could not be found."},
		{states.Gazpacho, "PATCH", "inspection_rules/" + absentUUID, "latest", "null", 400, "Schema error: None is not of type 'array'"},
		{states.Epoxy, "POST", "continue_inspection?=1&node_uuid=x", "", `{"": 1, "node_uuid": 1}`, 400, noInventory},
		{states.Gazpacho, "GET", "drivers/x?fields=bogus", "latest", "", 404, noDriver},
		{states.Gazpacho, "GET", "drivers?detail=true&fields=name", "1.29", "", 400,
			"Can not specify ?detail=True and fields in the same request."},
		{states.Gazpacho, "GET", "conductors?sort_key=alive&marker=x", "latest", "", 400,
			"The sort_key value alive is an invalid field for sorting"},
		{states.Gazpacho, "GET", "conductors?sort_key=bogus&marker=x", "latest", "", 404, "Conductor x could not be found."},
		{states.Gazpacho, "GET", "nodes?limit=-1&sort_dir=x", "latest", "", 400, "Limit must be positive"},
		{states.Gazpacho, "GET", "nodes?provision_state=x", "1.8", "", 406, "Request not acceptable."},
		{states.Gazpacho, "GET", "nodes?fault=x", "1.41", "", 406,
			"Request not acceptable. The minimal required API version should be 1.42"},
		{states.Hibiscus, "GET", "drivers/x?fields=bogus", "1.76", "", 406, "Request not acceptable."},
		{states.Hibiscus, "GET", "drivers/x?fields=bogus", "1.85", "", 400, badField + "'properties', 'type']"},
		{states.Hibiscus, "GET", "drivers?fields=bogus&detail=true", "latest", "", 400,
			badField + "'default_firmware_interface', 'enabled_firmware_interfaces', 'properties', 'type']"},
		{states.Hibiscus, "GET", "drivers/x/bogus", "latest", "", 404, noDriver},
		{states.Hibiscus, "GET", "conductors/x/bogus", "latest", "", 404, "Conductor x could not be found."},
		{states.Hibiscus, "GET", "allocations/x/bogus", "latest", "", 404, "Allocation x could not be found."},
		{states.Epoxy, "GET", "chassis/a%2Fchassis/detail", "latest", "", 400, "Expected UUID for marker: a"},
		{states.Epoxy, "GET", "chassis/" + absentUUID + "/b/detail", "latest", "", 400, "Expected an integer for limit: b"},
		{states.Epoxy, "GET", "portgroups/x/52:54:00:00:00:01/c/detail", "latest", "", 400, "Expected UUID for marker: c"},
		{states.Epoxy, "GET", "nodes/" + absentUUID + "/" + absentUUID + "/yes/x/detail", "latest", "", 400,
			"Invalid maintenance: Unrecognized value 'x', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', " +
				"'true', 'y', 'yes'"},
		{states.Epoxy, "GET", "nodes/" + absentUUID + "/" + absentUUID + "/1/0/no/available/" + absentUUID + "/x/detail", "latest", "", 400,
			"Expected an integer for limit: x"},
		{states.Epoxy, "GET", "nodes/" + absentUUID + "/" + absentUUID + "/yes/detail", "latest", "", 404, "Resource could not be found."},
		{states.Gazpacho, "POST", "inspection_rules?bogus=1", "latest", `{}`, 400, "Schema error: 'actions' is a required property"},
		{states.Epoxy, "POST", "continue_inspection/a/b", "", `{}`, 400, "Schema error for data: 'a' is not of type 'object'"},
		{states.Epoxy, "POST", "continue_inspection/a/b?bogus=1", "", `{}`, 400, bogus},
		{states.Gazpacho, "POST", "events/a/b", "latest", `{}`, 400, "Schema error for evts: 'a' is not of type 'object'"},
		{states.Hibiscus, "POST", "events/a/b?bogus=1", "latest", `{}`, 400, "Schema error: 'events' is a required property"},
		{states.Hibiscus, "POST", "events/a", "1.53", `{}`, 404, noAPI},
		{states.Hibiscus, "POST", "events/a", "latest", `{"events": [{"event": "network.bind_port", "status": "x", "port_id": "` + absentUUID +
			`", "mac_address": "52:54:00:00:00:01"}]}`, 404, ""},
		{states.Hibiscus, "POST", "heartbeat/x/a", "latest", `{}`, 404, "Node x could not be found."},
		{states.Hibiscus, "POST", "heartbeat/a%20b/x", "latest", `{}`, 400, "Expected UUID or name for node_ident: a b"},
		{states.Hibiscus, "POST", "heartbeat/x/a?bogus=1", "latest", `{}`, 400, bogus},
		{states.Hibiscus, "POST", "heartbeat/x/a?callback_url=u", "latest", `{}`, 400,
			"The path and the query both have the argument callback_url"},
		{states.Hibiscus, "POST", "heartbeat/x/a", "latest", `{"callback_url": "u"}`, 400, "Expected string for callback_url: ['a', 'u']"},
		{states.Hibiscus, "POST", "heartbeat/x/a/b/c/d/e/f/g", "latest", `{}`, 404, ""},
		{states.Hibiscus, "GET", "nodes/x/states/y?bogus=1", "latest", "", 400, bogus},
		{states.Hibiscus, "GET", "nodes/x/states/y", "latest", "", 404, ""},
		{states.Hibiscus, "GET", "nodes/x/a/b?bogus=1", "latest", "", 400, bogus},
		{states.Hibiscus, "POST", "drivers/x/vendor_passthru/a?method=b", "latest", `{}`, 400,
			"The path and the query both have the argument method"},
		{states.Hibiscus, "PUT", "nodes/x/states/provision/active/y/z", "latest", "", 400,
			"Expected types <class 'NoneType'>, <class 'list'> for clean_steps: z"},
		{states.Antelope, "PUT", "nodes/x/states/provision/1/2/3/4/5/6/7?service_steps=1", "latest", "", 400,
			"Unexpected arguments: service_steps"},
		{states.Hibiscus, "PUT", "nodes/a%20b/states/power/x/1/y", "latest", "", 400, "Expected UUID or name for node_ident: a b"},
	} {
		s := start(t, c.series, api.Config{})
		got := s.do(c.method, "/v1/"+c.path, c.version, c.body)
		require.Equal(t, c.fault, got.fault(), "%v: %s %s", c.series, c.method, c.path)
		require.Equal(t, c.status, got.status, "%v: %s %s", c.series, c.method, c.path)
	}
}

// TestTheChecksHaveIronicsOrder sends requests with two faults, of which the check that is first in Ironic must speak.
//
// Source: post, patch, _validate_patch and provision in ironic/api/controllers/v1/node.py; patch in allocation.py and
// port.py beside it, and update_port in ironic/conductor/manager.py.
func TestTheChecksHaveIronicsOrder(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	busy := s.create(`{"driver": "fake-hardware", "name": "busy"}`)
	made := s.do("POST", "/v1/ports", "1.82", `{"address": "52:54:00:00:00:01", "node_uuid": "`+busy+`"}`)
	port := made.must(http.StatusCreated)["uuid"].(string)
	s.provision("busy", "manage")
	s.provision("busy", "provide")
	s.do("POST", "/v1/allocations", "1.82", `{"name": "al", "resource_class": "none"}`).must(http.StatusCreated)
	s.waitAllocation("al")
	reached, release := s.hold("deploy.deploy")
	s.do("PUT", "/v1/nodes/busy/states/provision", "1.82", `{"target": "active"}`).must(http.StatusAccepted)
	<-reached
	_, err := s.conductor.UpdateNode(t.Context(), s.create(`{"driver": "fake-hardware", "name": "console"}`), func(n *conductor.Node) error {
		n.ConsoleEnabled = true
		return nil
	})
	require.NoError(t, err)
	const (
		newer     = "Request not acceptable."
		badName   = `{"op": "replace", "path": "/name", "value": "a b"}`
		badData   = `{"op": "add", "path": "/network_data", "value": {"links": 1}}`
		resetText = "The reset_interfaces parameter can only be used when changing the node's driver."
		nameText  = "Node n: Cannot change name to invalid name 'a b'"
	)
	for _, c := range []struct {
		method, path, version, body string
		status                      int
		fault                       string
	}{
		{"POST", "/nodes", "1.10", `{"driver": "fake-hardware", "name": "a b", "resource_class": "x"}`, 406, newer},
		{"POST", "/nodes", "1.82", `{"driver": "fake-hardware", "name": "a b", "chassis_uuid": "` + absentUUID + `"}`, 400,
			"Cannot create node with invalid name 'a b'"},
		{"POST", "/nodes", "1.82", `{"driver": "absent", "chassis_uuid": "` + absentUUID + `"}`, 400,
			"Chassis " + absentUUID + " could not be found."},
		{"PATCH", "/nodes/n?reset_interfaces=maybe", "1.82", `{}`, 400,
			"Invalid reset_interfaces: Unrecognized value 'maybe', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', " +
				"'on', 't', 'true', 'y', 'yes'"},
		{"PATCH", "/nodes/n?reset_interfaces=true", "1.44", `[{"op": "replace", "path": "/last_error", "value": "x"}]`, 406, newer},
		{"PATCH", "/nodes/n?reset_interfaces=true", "1.45", `[{"op": "add", "path": "/owner", "value": "x"}]`, 406, newer},
		{"PATCH", "/nodes/n?reset_interfaces=true", "1.82", "[" + badData + "]", 400, resetText},
		{"PATCH", "/nodes/absent", "1.82", "[" + badData + "]", 400, "Invalid network_data: 'networks' is a required property "},
		{"PATCH", "/nodes/busy", "1.82", "[" + badName + "]", 409, "Node busy can not be updated while a state transition is in progress."},
		{"PATCH", "/nodes/n", "1.82", "[" + badName + `, {"op": "remove", "path": "/extra/absent"}]`, 400, nameText},
		{"PATCH", "/nodes/console", "1.82", `[{"op": "replace", "path": "/driver", "value": "absent"}]`, 400,
			`No valid host was found. Reason: No conductor service registered which supports driver absent for conductor group "".`},
		{"PUT", "/nodes/n/states/provision", "1.82", `{"target": "manage", "configdrive": "x", "disable_ramdisk": true}`, 400,
			"Adding a config drive is only supported when setting provision state to active, rebuild"},
		{"PATCH", "/allocations/al", "1.57", `[{"op": "replace", "path": "/owner", "value": "x"}]`, 400,
			"Cannot patch /owner. Only the following can be updated: name, extra"},
		{"PATCH", "/ports/" + port, "1.82", `[{"op": "replace", "path": "/pxe_enabled", "value": false}]`, 409,
			"Node " + busy + " is locked by host testhost, please retry after the current operation is completed."},
	} {
		got := s.do(c.method, "/v1"+c.path, c.version, c.body)
		require.Equal(t, c.fault, got.fault(), "%s %s %s", c.method, c.path, c.body)
		require.Equal(t, c.status, got.status, "%s %s %s", c.method, c.path, c.body)
	}
	release()
}
