// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// read decodes the resource at a path.
func read(t *testing.T, bmc *bmctest.Redfish, path string) map[string]any {
	t.Helper()
	r := ask(t, bmc, http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, r.StatusCode, "%s: %s", path, r.body)
	var o map[string]any
	require.NoError(t, json.Unmarshal(r.body, &o))
	return o
}

// membersOf reads the resources that a list of links leads to.
func membersOf(t *testing.T, bmc *bmctest.Redfish, links any) (list []map[string]any) {
	t.Helper()
	for _, link := range links.([]any) {
		list = append(list, read(t, bmc, link.(map[string]any)["@odata.id"].(string)))
	}
	return list
}

// gofishClient returns a client of gofish.
func gofishClient(t *testing.T, bmc *bmctest.Redfish) *schemas.APIClient {
	t.Helper()
	client, err := schemas.ConnectContext(t.Context(), schemas.ClientConfig{
		Endpoint:   strings.TrimSuffix(bmc.URL, "/redfish/v1/"),
		Username:   bmctest.DefaultUser,
		Password:   bmctest.DefaultPassword,
		HTTPClient: bmc.Client(),
	})
	require.NoError(t, err)
	t.Cleanup(client.Logout)
	return client
}

func TestTheSystemSaysWhatItIs(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	s := read(t, bmc, system)
	for _, name := range []string{"Manufacturer", "Model", "SKU", "SerialNumber", "BiosVersion"} {
		require.NotEmpty(t, s[name], name)
	}
	require.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, s["UUID"])
	require.EqualValues(t, 64, s["MemorySummary"].(map[string]any)["TotalSystemMemoryGiB"])
	require.EqualValues(t, 32, s["ProcessorSummary"].(map[string]any)["LogicalProcessorCount"])

	other := read(t, newRedfish(t, bmctest.RedfishConfig{}), system)
	require.NotEqual(t, s["SerialNumber"], other["SerialNumber"])
	require.NotEqual(t, s["UUID"], other["UUID"])
}

func TestManagerAndChassisAreLinkedWithTheSystems(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1"}, {ID: "b"}}})
	link := func(path string) map[string]any { return map[string]any{"@odata.id": path} }
	manager, chassis := link("/redfish/v1/Managers/bmc"), link("/redfish/v1/Chassis/1")
	systems := []any{link("/redfish/v1/Systems/1"), link("/redfish/v1/Systems/b")}
	tests := []struct {
		path string
		want map[string]any
	}{
		{system, map[string]any{"Chassis": []any{chassis}, "ManagedBy": []any{manager}}},
		{"/redfish/v1/Managers/bmc", map[string]any{"ManagerForServers": systems, "ManagerForChassis": []any{chassis}}},
		{"/redfish/v1/Chassis/1", map[string]any{"ComputerSystems": systems, "ManagedBy": []any{manager}}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, read(t, bmc, tt.path)["Links"], tt.path)
	}
}

func TestHardwareIsCountedByItsConfiguration(t *testing.T) {
	tests := []struct {
		name                            string
		hardware                        bmctest.Hardware
		processors, dimms, drives, nics int
	}{
		{"a small server", bmctest.Hardware{}, 2, 4, 2, 2},
		{"a large one", bmctest.Hardware{DIMMs: 32, Drives: 24}, 2, 32, 24, 2},
		{"nothing", bmctest.Hardware{Processors: -1, DIMMs: -1, Drives: -1, MACs: []string{}}, 0, 0, 0, 0},
		{"one NIC", bmctest.Hardware{Processors: 1, MACs: []string{"02:00:00:00:00:01"}}, 1, 4, 2, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Hardware: tt.hardware}}})
			members := func(name string) []map[string]any {
				path := read(t, bmc, system)[name].(map[string]any)["@odata.id"].(string)
				collection := read(t, bmc, path)
				list := membersOf(t, bmc, collection["Members"])
				require.EqualValues(t, len(list), collection["Members@odata.count"])
				return list
			}
			require.Len(t, members("Processors"), tt.processors)
			dimms := members("Memory")
			require.Len(t, dimms, tt.dimms)
			for _, d := range dimms {
				require.EqualValues(t, 16384, d["CapacityMiB"])
			}
			nics := members("EthernetInterfaces")
			require.Len(t, nics, tt.nics)
			for i, n := range nics {
				require.Equal(t, i == 0, n["LinkStatus"] == "LinkUp")
				require.Regexp(t, `^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`, n["MACAddress"])
			}
			storage := members("Storage")
			require.Len(t, storage, 1)
			drives := membersOf(t, bmc, storage[0]["Drives"])
			require.Len(t, drives, tt.drives)
			for _, d := range drives {
				require.EqualValues(t, 480103981056, d["CapacityBytes"])
			}
		})
	}
}

func TestNoTwoInterfacesHaveOneMAC(t *testing.T) {
	seen := map[any]bool{}
	for range 2 {
		bmc := newRedfish(t, bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1"}, {ID: "2"}}})
		for _, id := range []string{"1", "2"} {
			for _, nic := range []string{"NIC1", "NIC2"} {
				mac := read(t, bmc, "/redfish/v1/Systems/"+id+"/EthernetInterfaces/"+nic)["MACAddress"]
				require.False(t, seen[mac], mac)
				seen[mac] = true
			}
		}
	}
}

func TestGofishReadsTheHardware(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	systems, err := gofishClient(t, bmc).Service.Systems()
	require.NoError(t, err)
	require.Len(t, systems, 1)
	processors, err := systems[0].Processors()
	require.NoError(t, err)
	require.Len(t, processors, 2)
	require.Equal(t, 16, processors[0].TotalThreads)
	dimms, err := systems[0].Memory()
	require.NoError(t, err)
	require.Len(t, dimms, 4)
	require.Equal(t, 16384, dimms[0].CapacityMiB)
	nics, err := systems[0].EthernetInterfaces()
	require.NoError(t, err)
	require.Len(t, nics, 2)
	storage, err := systems[0].Storage()
	require.NoError(t, err)
	require.Len(t, storage, 1)
	drives, err := storage[0].Drives()
	require.NoError(t, err)
	require.Len(t, drives, 2)
	require.EqualValues(t, 480103981056, drives[0].CapacityBytes)
	volumes, err := storage[0].Volumes()
	require.NoError(t, err)
	require.Empty(t, volumes)
	managers, err := systems[0].ManagedBy()
	require.NoError(t, err)
	require.Len(t, managers, 1)
	require.NotEmpty(t, managers[0].FirmwareVersion)
}

// A BMC's worst answers on a part of the machine, each at its own path.
func TestFaultsStrikePartsOfTheMachine(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	const drives, drive = system + "/Storage/1", system + "/Storage/1/Drives/1"
	const nics = system + "/EthernetInterfaces"
	for _, f := range []bmctest.Fault{
		{On: drive, Do: bmctest.Status(http.StatusNotFound)},
		{On: drives, Do: bmctest.Property("Drives", []any{nil, map[string]any{"@odata.id": drive}})},
		{On: nics, Do: bmctest.Property("Members@odata.nextLink", nics)},
		{On: system + "/Memory/DIMM1", Do: bmctest.Property("CapacityMiB", "16384")},
	} {
		bmc.AddFault(f)
	}
	require.Equal(t, http.StatusNotFound, ask(t, bmc, http.MethodGet, drive, "").StatusCode)
	require.Equal(t, http.StatusOK, ask(t, bmc, http.MethodGet, system+"/Storage/1/Drives/2", "").StatusCode)
	require.Nil(t, read(t, bmc, drives)["Drives"].([]any)[0])
	require.Equal(t, nics, read(t, bmc, nics)["Members@odata.nextLink"])
	require.Equal(t, "16384", read(t, bmc, system+"/Memory/DIMM1")["CapacityMiB"])
}
