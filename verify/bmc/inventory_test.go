// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func inspected(t *testing.T, server *bmctest.Redfish) (bmc.Inventory, error) {
	t.Helper()
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	return d.Inspect(t.Context(), "node")
}

// withMACs gives the BMC's system two network interfaces.
func withMACs(c *bmctest.RedfishConfig) {
	c.Systems[0].Hardware.MACs = []string{"52:54:00:AA:BB:01", "52:54:00:aa:bb:02"}
}

// The names and types are the same as in the inventory that Ironic's Redfish inspection stores
// (ironic/drivers/modules/redfish/inspect.py).
func TestTheInventoryIsAsIronicWritesIt(t *testing.T) {
	server := startRedfish(t, withMACs)
	got, err := inspected(t, server)
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, got.Power)
	require.Equal(t, 446, got.LocalGB)
	vendor := got.SystemVendor
	require.NotEmpty(t, vendor.SerialNumber)
	require.NotEmpty(t, vendor.SystemUUID)
	require.Equal(t, "bmctest", vendor.ProductName, "the model, and not the name of the system")
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"memory": {"physical_mb": 65536},
		"cpu": {"count": 32, "architecture": "x86_64", "model_name": "bmctest 8-core", "frequency": 3200},
		"disks": [{"name": "Drive 1", "size": 480103981056}, {"name": "Drive 2", "size": 480103981056}],
		"storage_controllers": [{"id": "1", "name": "Storage", "storage_controllers": [
			{"member_id": "0", "name": "SATA Controller", "raid_types": [], "controller_protocols": [], "device_protocols": ["SATA"],
				"status": {"health": "OK", "state": "Enabled"}}], "drives": [
			{"id": "1", "name": "Drive 1", "size": 480103981056, "media_type": "SSD", "serial_number": "`+vendor.SerialNumber+`-D01",
				"manufacturer": "ironstate", "model": "bmctest 480G", "revision": "1.0.3", "protocol": "SATA",
				"status": {"health": "OK", "state": "Enabled"}},
			{"id": "2", "name": "Drive 2", "size": 480103981056, "media_type": "SSD", "serial_number": "`+vendor.SerialNumber+`-D02",
				"manufacturer": "ironstate", "model": "bmctest 480G", "revision": "1.0.3", "protocol": "SATA",
				"status": {"health": "OK", "state": "Enabled"}}]}],
		"interfaces": [{"mac_address": "52:54:00:aa:bb:01", "name": "NIC1", "speed_mbps": 25000},
			{"mac_address": "52:54:00:aa:bb:02", "name": "NIC2"}],
		"system_vendor": {"product_name": "`+vendor.ProductName+`", "serial_number": "`+vendor.SerialNumber+`", "manufacturer": "ironstate",
			"system_uuid": "`+vendor.SystemUUID+`", "firmware": {"version": "1.8.2"}},
		"boot": {"current_boot_mode": "uefi"}
	}`, string(text))
}

func TestAPartThatCannotBeReadLeavesTheOthers(t *testing.T) {
	on := func(path string, do bmctest.Effect) bmctest.Fault {
		return bmctest.Fault{On: systemPath + path, Do: do}
	}
	link := func(path string) any { return map[string]any{"@odata.id": path} }
	drive2 := []bmc.Disk{{Name: "Drive 2", Size: 480103981056}}
	tests := []struct {
		name  string
		fault bmctest.Fault
		kind  error // nil if it is no error
		check func(t *testing.T, i bmc.Inventory)
	}{
		{"one bad drive", on("/Storage/1/Drives/1", bmctest.Status(http.StatusInternalServerError)), verify.Protocol,
			func(t *testing.T, i bmc.Inventory) {
				require.Equal(t, drive2, i.Disks)
				require.Equal(t, 446, i.LocalGB)
			}},
		{"a null drive", on("/Storage/1", bmctest.Property("Drives", []any{nil, link(systemPath + "/Storage/1/Drives/2")})), nil,
			func(t *testing.T, i bmc.Inventory) {
				require.Equal(t, drive2, i.Disks)
			}},
		{"a null member", on("/EthernetInterfaces", bmctest.Property("Members", []any{nil, link(systemPath + "/EthernetInterfaces/NIC2")})),
			verify.Protocol, func(t *testing.T, i bmc.Inventory) {
				require.Equal(t, "52:54:00:aa:bb:02", i.Interfaces[0].MACAddress)
			}},
		{"a member elsewhere", on("/EthernetInterfaces", bmctest.Property("Members", []any{link("https://other.invalid/x")})),
			verify.Protocol, func(t *testing.T, i bmc.Inventory) {
				require.Empty(t, i.Interfaces)
			}},
		{"an InfiniBand address", on("/EthernetInterfaces/NIC1",
			bmctest.Property("MACAddress", "80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1")), nil,
			func(t *testing.T, i bmc.Inventory) {
				require.Len(t, i.Interfaces, 1)
			}},
		{"a disabled interface", on("/EthernetInterfaces/NIC1", bmctest.Property("Status", map[string]any{"State": "Disabled"})),
			nil, func(t *testing.T, i bmc.Inventory) {
				require.False(t, i.Interfaces[0].Enabled)
				require.True(t, i.Interfaces[1].Enabled)
			}},
		{"no summary of the memory", on("", bmctest.WithoutProperty("MemorySummary")), nil, func(t *testing.T, i bmc.Inventory) {
			require.Equal(t, 64<<10, i.Memory.PhysicalMB)
		}},
		{"a summary that is text", on("", bmctest.Property("MemorySummary", map[string]any{"TotalSystemMemoryGiB": "96"})), nil,
			func(t *testing.T, i bmc.Inventory) {
				require.Equal(t, 64<<10, i.Memory.PhysicalMB)
			}},
		{"half a GiB", on("", bmctest.Property("MemorySummary", map[string]any{"TotalSystemMemoryGiB": 0.5})), nil,
			func(t *testing.T, i bmc.Inventory) {
				require.Equal(t, 512, i.Memory.PhysicalMB)
			}},
		{"memory without end", on("", bmctest.Property("MemorySummary", map[string]any{"TotalSystemMemoryGiB": 1e30})), verify.Protocol,
			func(t *testing.T, i bmc.Inventory) {
				require.Zero(t, i.Memory)
				require.Equal(t, 32, i.CPU.Count)
			}},
		{"no processors", on("/Processors", bmctest.Status(http.StatusNotFound)), nil, func(t *testing.T, i bmc.Inventory) {
			require.Equal(t, bmc.CPU{Count: 32, ModelName: "bmctest 8-core"}, i.CPU)
		}},
		{"threads that are text", on("/Processors/CPU1", bmctest.Property("TotalThreads", "24")), nil, func(t *testing.T, i bmc.Inventory) {
			require.Equal(t, 40, i.CPU.Count)
		}},
		{"less than no processors", on("", bmctest.Property("ProcessorSummary", map[string]any{"LogicalProcessorCount": -1})),
			nil, func(t *testing.T, i bmc.Inventory) {
				require.Equal(t, 32, i.CPU.Count)
			}},
		{"another power state", on("", bmctest.Property("PowerState", "Paused")), verify.Unsupported, func(t *testing.T, i bmc.Inventory) {
			require.Equal(t, states.NoPower, i.Power)
			require.Len(t, i.Disks, 2)
		}},
		{"no system", on("", bmctest.Status(http.StatusInternalServerError)), verify.Protocol, func(t *testing.T, i bmc.Inventory) {
			require.Equal(t, bmc.Inventory{}, i)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := startRedfish(t, withMACs)
			server.AddFault(test.fault)
			got, err := inspected(t, server)
			test.check(t, got)
			if test.kind != nil {
				require.ErrorIs(t, err, test.kind)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestNumbersThatNoMachineHasAreLeftOut(t *testing.T) {
	for _, test := range []struct {
		summary, name string // of the system
		value         float64
		want          int // MiB or processors
		kind          error
	}{
		{"MemorySummary", "TotalSystemMemoryGiB", 0, 0, nil},
		{"MemorySummary", "TotalSystemMemoryGiB", -1, 0, verify.Protocol},
		{"MemorySummary", "TotalSystemMemoryGiB", 1 << 30, 1 << 40, nil},
		{"MemorySummary", "TotalSystemMemoryGiB", 1<<30 + 128, 0, verify.Protocol}, // the next number that gofish can read
		{"ProcessorSummary", "LogicalProcessorCount", 0, 0, nil},
		{"ProcessorSummary", "LogicalProcessorCount", -1, 0, verify.Protocol},
		{"ProcessorSummary", "LogicalProcessorCount", 1 << 20, 1 << 20, nil},
		{"ProcessorSummary", "LogicalProcessorCount", 1<<20 + 1, 0, verify.Protocol},
	} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Systems[0].Hardware = bmctest.Hardware{Processors: -1, DIMMs: -1} })
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property(test.summary, map[string]any{test.name: test.value})})
		got, err := inspected(t, server)
		if test.kind != nil {
			require.ErrorIs(t, err, test.kind, "%v", test)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, test.want, got.Memory.PhysicalMB+got.CPU.Count, "%v", test)
	}
}

func TestTheSmallestDriveOfAtLeast4GiBIsLocalGB(t *testing.T) {
	for _, test := range []struct {
		sizes [2]int64 // of the drives
		want  int
	}{
		{[2]int64{4 << 30, 8 << 30}, 3},
		{[2]int64{8 << 30, 4 << 30}, 3},
		{[2]int64{4<<30 - 1, 8 << 30}, 7},
		{[2]int64{4<<30 - 1, 0}, 0},
		{[2]int64{-1, 5<<30 + 1}, 4},
	} {
		server := startRedfish(t)
		for i, size := range test.sizes {
			path := fmt.Sprintf("%s/Storage/1/Drives/%d", systemPath, i+1)
			server.AddFault(bmctest.Fault{On: path, Do: bmctest.Property("CapacityBytes", size)})
		}
		got, err := inspected(t, server)
		require.NoError(t, err)
		require.Equal(t, test.want, got.LocalGB, test.sizes)
		require.Equal(t, max(0, test.sizes[0]), got.Disks[0].Size)
	}
}

func TestALargeServerIsInspectedWithinTheLimits(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Systems[0].Hardware = bmctest.Hardware{Drives: 60, DIMMs: 64} })
	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("MemorySummary")})
	got, err := inspected(t, server)
	require.NoError(t, err)
	require.Len(t, got.Disks, 60)
	require.Equal(t, 1<<20, got.Memory.PhysicalMB)
}

func TestABMCThatStopsAnsweringGetsNoMoreRequests(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: systemPath + "/Processors/CPU1", Do: bmctest.CloseAfter(0)})
	got, err := inspected(t, server)
	require.Error(t, err)
	require.Equal(t, 64<<10, got.Memory.PhysicalMB)
	require.Empty(t, got.Disks)
	for _, asked := range server.Requests() {
		require.NotContains(t, asked.Path, "Storage")
	}
}

func TestIPMIHasNoInventory(t *testing.T) {
	server := startIPMI(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": ipmiConfigOf(server)})
	_, err := d.Inspect(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported)
}
