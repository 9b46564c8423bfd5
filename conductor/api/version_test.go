// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// fieldsSince maps each version to the fields of a node that it introduced. Source:
// VERSIONED_FIELDS in ironic/api/controllers/v1/utils.py, master of 2026-08-20, and for
// the links node_convert_with_links in node.py.
var fieldsSince = map[states.APIVersion]string{
	1: "uuid created_at updated_at chassis_uuid console_enabled driver driver_info extra instance_info instance_uuid last_error maintenance " +
		"maintenance_reason power_state properties provision_state provision_updated_at reservation target_power_state " +
		"target_provision_state links ports",
	3: "driver_internal_info", 5: "name", 6: "inspection_finished_at inspection_started_at", 7: "clean_step",
	12: "raid_config target_raid_config", 14: "states", 20: "network_interface", 21: "resource_class", 24: "portgroups",
	31: "boot_interface console_interface deploy_interface inspect_interface management_interface power_interface raid_interface " +
		"vendor_interface",
	32: "volume", 33: "storage_interface", 37: "traits", 38: "rescue_interface", 40: "bios_interface", 42: "fault", 44: "deploy_step",
	46: "conductor_group", 47: "automated_clean", 48: "protected protected_reason", 49: "conductor", 50: "owner", 51: "description",
	52: "allocation_uuid", 61: "retired retired_reason", 65: "lessee", 66: "network_data", 75: "boot_mode secure_boot", 82: "shard",
	83: "parent_node", 86: "firmware_interface", 87: "service_step", 95: "disable_power_off", 104: "instance_name", 109: "health",
}

func TestNodesHaveTheFieldsOfTheVersion(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware"}`)
	var want []string
	for v := states.APIVersion(1); v <= states.Latest().MaxAPIVersion(); v++ {
		want = append(want, strings.Fields(fieldsSince[v])...)
		node := s.do("GET", "/v1/nodes/"+uuid, v.String(), "").must(http.StatusOK)
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(node)), "version %v", v)
	}
}

// portFieldsSince maps each version to the fields of a port that it introduced. Source: port.py,
// as above.
var portFieldsSince = map[states.APIVersion]string{
	1: "uuid created_at updated_at address extra node_uuid links", 18: "internal_info", 19: "local_link_connection pxe_enabled",
	24: "portgroup_uuid", 34: "physical_network", 53: "is_smartnic", 88: "name", 97: "description", 100: "vendor", 101: "category",
	111: "available_for_dynamic_portgroup",
}

func TestPortsHaveTheFieldsOfTheVersion(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	port := s.do("POST", "/v1/ports", "latest", `{"address": "52:54:00:00:00:01", "node_ident": "n", "name": "eth0", "vendor": "v",
		"category": "c", "description": "d"}`).must(http.StatusCreated)
	require.Equal(t, []any{"v", "c", "d"}, []any{port["vendor"], port["category"], port["description"]})
	var want []string
	for v := states.APIVersion(1); v <= states.Latest().MaxAPIVersion(); v++ {
		want = append(want, strings.Fields(portFieldsSince[v])...)
		got := s.do("GET", "/v1/ports/"+port["uuid"].(string), v.String(), "").must(http.StatusOK)
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(got)), "version %v", v)
	}
	s.do("GET", "/v1/ports/eth0", "1.88", "").must(http.StatusOK)
	s.do("GET", "/v1/ports/eth0", "1.87",
		"").must(http.StatusOK) // a name is an identifier in all versions of the series
	s.do("PATCH", "/v1/ports/eth0", "1.87", `[{"op": "replace", "path": "/name", "value": "eth1"}]`).must(http.StatusOK) // as Ironic
	s.do("DELETE", "/v1/ports/eth1", "1.88", "").must(http.StatusBadRequest)
	require.Equal(t, "Request not acceptable.",
		s.do("POST", "/v1/ports", "1.93", `{"address": "52:54:00:00:00:02", "node_ident": "n"}`).fault())
}

func TestEverySeriesSupportsItsVersionsAndNoOther(t *testing.T) {
	for series := range states.AllSeries() {
		t.Run(series.String(), func(t *testing.T) {
			s := start(t, series, api.Config{})
			highest := series.MaxAPIVersion()
			document := s.do("GET", "/", "", "").must(http.StatusOK)
			require.Equal(t, highest.String(), document["default_version"].(map[string]any)["version"])

			a := s.do("GET", "/v1/nodes", "latest", "")
			a.must(http.StatusOK)
			require.Equal(t, highest.String(), a.header.Get("X-OpenStack-Ironic-API-Version"))
			require.Equal(t, "1.1", a.header.Get("X-OpenStack-Ironic-API-Minimum-Version"))
			require.Equal(t, highest.String(), a.header.Get("X-OpenStack-Ironic-API-Maximum-Version"))

			a = s.do("GET", "/v1/nodes", (highest + 1).String(), "")
			require.Equal(t, http.StatusNotAcceptable, a.status)
			require.Equal(t, highest.String(), a.header.Get("X-OpenStack-Ironic-API-Maximum-Version"))
			require.Equal(t, "Version "+(highest+1).String()+" was requested but the minor version is not supported by this service. "+
				"The supported version range is: [1.1, "+highest.String()+"].", a.fault())

			uuid := s.create(`{"driver": "fake-hardware"}`)
			node := s.do("GET", "/v1/nodes/"+uuid, "latest", "").must(http.StatusOK)
			require.Equal(t, highest >= 83, node["parent_node"] == nil && slices.Contains(slices.Collect(maps.Keys(node)), "parent_node"))
			s.provision(uuid, "manage")
			require.Equal(t, "manageable", s.do("GET", "/v1/nodes/"+uuid, "latest", "").json()["provision_state"])
			require.Equal(t, http.StatusNoContent, s.do("DELETE", "/v1/nodes/"+uuid, "latest", "").status)
		})
	}
}

func TestOldVersionsSeeOldStates(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	node := s.do("POST", "/v1/nodes", "1.1", `{"driver": "fake-hardware"}`).must(http.StatusCreated)
	require.Nil(t, node["provision_state"], "available is null below 1.2")
	path := "/v1/nodes/" + node["uuid"].(string)
	require.Equal(t, "available", s.do("GET", path, "1.2", "").json()["provision_state"])
	require.Nil(t, s.do("GET", path+"/states", "1.1", "").json()["provision_state"])
	require.Equal(t, "enroll", s.do("POST", "/v1/nodes", "1.11", `{"driver": "fake-hardware"}`).json()["provision_state"])
}

func TestTheStandardVersionHeaderIsKnownSinceDalmatian(t *testing.T) {
	for series, version := range map[states.Series]string{states.Caracal: "1.1", states.Dalmatian: "1.50"} {
		s := start(t, series, api.Config{})
		r := request("GET", "/v1/nodes", "", nil)
		r.Header.Set("OpenStack-API-Version", "compute 2.1, baremetal 1.50")
		require.Equal(t, version, s.send(r).header.Get("X-OpenStack-Ironic-API-Version"))
	}
}

func TestPathsExistSinceTheirVersion(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware", "uuid": "11111111-2222-3333-4444-555555555555"}`).must(http.StatusCreated)
	const node = "/v1/nodes/11111111-2222-3333-4444-555555555555"
	for _, c := range []struct {
		path   string
		since  states.APIVersion
		before int // the status below since
	}{
		{"/v1/portgroups", 23, 404}, {node + "/portgroups", 24, 404}, {"/v1/volume", 32, 404}, {"/v1/volume/targets", 32, 404},
		{node + "/traits", 37, 406}, {node + "/vifs", 28, 404}, {node + "/bios", 40, 404}, {"/v1/conductors", 49, 404},
		{"/v1/allocations", 52, 404}, {"/v1/deploy_templates", 55, 404}, {node + "/history", 78, 404}, {"/v1/shards", 82, 404},
		{node + "/children", 83, 404}, {node + "/firmware", 86, 404}, {"/v1/runbooks", 92, 404},
	} {
		require.Equal(t, c.before, s.do("GET", c.path, (c.since-1).String(), "").status, "%s before %v", c.path, c.since)
		require.Equal(t, http.StatusOK, s.do("GET", c.path, c.since.String(), "").status, "%s at %v", c.path, c.since)
	}
}

func TestAPathOfALaterSeriesIsUnknown(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for path, fault := range map[string]string{
		"/v1/runbooks": "", "/v1/runbooks/x": "", "/v1/inspection_rules": "", "/v1/continue_inspection": "",
		"/v1/nodes/n/firmware": "Field firmware is not a valid field.", "/v1/nodes/n/vmedia": "Field vmedia is not a valid field.",
	} {
		require.Equal(t, fault, s.do("GET", path, "1.82", "").fault(), path)
	}
	require.Equal(t, "Unexpected arguments: parent_node", s.do("GET", "/v1/nodes?parent_node=x", "1.82", "").fault())
	require.Equal(t, "Schema error for node: Additional properties are not allowed ('parent_node' was unexpected)",
		s.do("POST", "/v1/nodes", "1.82", `{"driver": "fake-hardware", "parent_node": "x"}`).fault())
}

func TestTheSuffixJSONIsRemovedBelow191(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "a"}`)
	s.create(`{"driver": "fake-hardware", "name": "b.json"}`)
	name := func(path, version string) any { return s.do("GET", path, version, "").json()["name"] }
	require.Equal(t, "a", name("/v1/nodes/a.json", "1.90"))
	require.Equal(t, "b.json", name("/v1/nodes/b.json", "1.90"))
	require.Equal(t, "b.json", name("/v1/nodes/b.json.json", "1.90"))
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v1/nodes/a.json", "1.91", "").status)
	require.Equal(t, "Node b could not be found.", s.do("PUT", "/v1/nodes/maintenance/b.json", "1.90", `{}`).fault())
	require.Equal(t, http.StatusOK, s.do("PATCH", "/v1/nodes/b.json", "1.90", `[]`).status)
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v1/nodes.json", "", "").status, "the lowest version is not asked for")
	for series, status := range map[states.Series]int{states.Caracal: http.StatusOK, states.Dalmatian: http.StatusNotFound} {
		require.Equal(t, status, start(t, series, api.Config{}).do("GET", "/v1/nodes.json", "", "").status, series)
	}
	require.Equal(t, "b.json", name("/v1/nodes/b.json", "1.91"))
}

func TestTheRootHasTheHeadersOfVersionsSince2024_2(t *testing.T) {
	for series, want := range map[states.Series]string{states.Caracal: "", states.Dalmatian: "1.93", states.Latest(): "1.115"} {
		header := start(t, series, api.Config{}).do("GET", "/", "latest", "").header
		require.Equal(t, want, header.Get("X-OpenStack-Ironic-API-Version"), series)
		require.Equal(t, want, header.Get("X-OpenStack-Ironic-API-Maximum-Version"), series)
		require.Equal(t, want != "", header.Get("X-OpenStack-Ironic-API-Minimum-Version") == "1.1", series)
	}
}
