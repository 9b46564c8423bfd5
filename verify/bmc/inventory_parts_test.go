// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// inspectedWith inspects a machine whose resources, by their paths below the system, have other properties.
func inspectedWith(t *testing.T, properties map[string]map[string]any) bmc.Inventory {
	t.Helper()
	server := startRedfish(t, withMACs)
	for path, changes := range properties {
		server.AddFault(bmctest.Fault{On: systemPath + path, Do: changeObject("other properties", func(o map[string]any) {
			for name, value := range changes {
				o[name] = value
			}
		})})
	}
	found, err := inspected(t, server)
	require.NoError(t, err)
	return found
}

func TestOnlyProcessorsThatAreThereCount(t *testing.T) {
	cpu := func(count int, architecture, model string, frequency float64) bmc.CPU {
		return bmc.CPU{Count: count, Architecture: architecture, ModelName: model, Frequency: frequency}
	}
	const usual = "bmctest 8-core"
	for name, test := range map[string]struct {
		first map[string]any // properties of the first of two processors
		want  bmc.CPU
	}{
		"an absent one":    {map[string]any{"Status": map[string]any{"State": "Absent"}, "Model": "other"}, cpu(16, "x86_64", usual, 3200)},
		"a GPU":            {map[string]any{"ProcessorType": "GPU", "Model": "other"}, cpu(16, "x86_64", usual, 3200)},
		"one without type": {map[string]any{"ProcessorType": nil}, cpu(32, "x86_64", usual, 3200)},
		"an empty type":    {map[string]any{"ProcessorType": ""}, cpu(32, "x86_64", usual, 3200)},
		"another": {map[string]any{"Model": "other", "MaxSpeedMHz": 2000, "InstructionSet": "ARM-A64"},
			cpu(32, "aarch64", "other", 2000)},
		"one without model": {map[string]any{"Model": nil}, cpu(32, "x86_64", "of the summary", 3200)},
		"negative numbers":  {map[string]any{"TotalThreads": -4, "MaxSpeedMHz": -1}, cpu(16, "x86_64", usual, 0)},
		"text":              {map[string]any{"TotalThreads": "many"}, cpu(16, "x86_64", usual, 3200)},
	} {
		found := inspectedWith(t, map[string]map[string]any{
			"":                 {"ProcessorSummary": map[string]any{"Model": "of the summary", "LogicalProcessorCount": 99}},
			"/Processors/CPU1": test.first,
		})
		require.Equal(t, test.want, found.CPU, name)
	}
}

func TestDisksAreThoseThatAreThere(t *testing.T) {
	const storage, drive = systemPath + "/Storage", systemPath + "/Storage/1/Drives/1"
	link := func(path string) map[string]any { return map[string]any{"@odata.id": path} }
	simple := []bmctest.Fault{
		{On: systemPath, Do: changeObject("simple storage", func(o map[string]any) { o["SimpleStorage"] = link(systemPath + "/Simple") })},
		{On: systemPath + "/Simple", Do: bmctest.Body(`{"Members": [{"@odata.id": "` + systemPath + `/Simple/1"}]}`)},
		{On: systemPath + "/Simple/1", Do: bmctest.Body(`{"Id": "1", "Devices": [
			{"Name": "sda", "CapacityBytes": 21474836480, "Status": {"State": "Absent"}},
			{"Name": "sdb", "CapacityBytes": 10737418240}, {"Name": "sdc", "CapacityBytes": -1, "Status": {"State": "Enabled"}}]}`)},
	}
	usual := []bmc.Disk{{Name: "Drive 1", Size: 480103981056}, {Name: "Drive 2", Size: 480103981056}}
	for name, test := range map[string]struct {
		faults  []bmctest.Fault
		disks   []bmc.Disk
		localGB int
	}{
		"an absent drive": {[]bmctest.Fault{{On: drive, Do: bmctest.Property("Status", map[string]any{"State": "Absent"})}}, usual[1:], 446},
		"a volume": {[]bmctest.Fault{
			{On: storage + "/1/Volumes", Do: bmctest.Property("Members", []any{link(storage + "/1/Volumes/1"), link(storage + "/1/Volumes/2")})},
			{On: storage + "/1/Volumes/1", Do: bmctest.Body(`{"Id": "1", "CapacityBytes": 644245094400}`)},
			{On: storage + "/1/Volumes/2", Do: bmctest.Body(`{"Id": "2", "CapacityBytes": 966367641600}`)},
		}, usual, 599},
		"a storage without a name":      {[]bmctest.Fault{{On: storage + "/1", Do: bmctest.WithoutProperty("Name")}}, usual, 446},
		"no storage":                    {[]bmctest.Fault{{On: systemPath, Do: bmctest.WithoutProperty("Storage")}}, nil, 0},
		"simple storage beside storage": {simple, usual, 446},
		"simple storage alone": {append(simple, bmctest.Fault{On: storage, Do: bmctest.Body(`{"Members": []}`)}),
			[]bmc.Disk{{Name: "sdb", Size: 10737418240}, {Name: "sdc"}}, 9},
	} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = test.faults })
		found, err := inspected(t, server)
		require.NoError(t, err, name)
		require.Equal(t, test.disks, found.Disks, name)
		require.Equal(t, test.localGB, found.LocalGB, name)
	}
}

func TestAnInterfaceHasAnEthernetAddress(t *testing.T) {
	const address = "52:54:00:aa:bb:01"
	first := func(address string) []bmc.Interface {
		return []bmc.Interface{{MACAddress: address, Name: "NIC1", SpeedMbps: 25000, Enabled: true}}
	}
	for name, test := range map[string]struct {
		first map[string]any // properties of the first of two interfaces
		want  []bmc.Interface
	}{
		"permanent": {map[string]any{"MACAddress": "", "PermanentMACAddress": "52:54:00:AA:BB:09"}, first("52:54:00:aa:bb:09")},
		"none":      {map[string]any{"MACAddress": "no address"}, nil},
		"no state":  {map[string]any{"Status": nil}, first(address)},
		"disabled": {map[string]any{"Status": map[string]any{"State": "StandbyOffline"}, "SpeedMbps": -1},
			[]bmc.Interface{{MACAddress: address, Name: "NIC1"}}},
	} {
		found := inspectedWith(t, map[string]map[string]any{"/EthernetInterfaces/NIC1": test.first})
		want := append(test.want, bmc.Interface{MACAddress: "52:54:00:aa:bb:02", Name: "NIC2", Enabled: true})
		require.Equal(t, want, found.Interfaces, name)
	}
}

func TestControllersOfAnotherTypeTellNothing(t *testing.T) {
	controllers := []any{
		map[string]any{
			"MemberId": "0", "Name": "RAID", "SupportedRAIDTypes": []any{"RAID0", 7, "RAID1"}, "SpeedGbps": 12.5,
			"SupportedControllerProtocols": []string{"PCIe"}, "SupportedDeviceProtocols": "SAS",
			"Status": map[string]any{"Health": "Warning", "State": nil, "HealthRollup": "Critical"},
		},
		"no controller", nil, map[string]any{"MemberId": 7, "SpeedGbps": -1, "Status": "OK"},
	}
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Faults = []bmctest.Fault{{On: systemPath + "/Storage/1", Do: bmctest.Property("StorageControllers", controllers)}}
	})
	found, _ := inspected(t, server)
	require.Len(t, found.StorageControllers, 1)
	require.Equal(t, []bmc.Controller{
		{
			MemberID: "0", Name: "RAID", RAIDTypes: []string{"RAID0", "RAID1"}, SpeedGbps: 12.5, ControllerProtocols: []string{"PCIe"},
			DeviceProtocols: []string{}, Status: bmc.Status{Health: "Warning", HealthRollup: "Critical"},
		},
		{RAIDTypes: []string{}, ControllerProtocols: []string{}, DeviceProtocols: []string{}},
	}, found.StorageControllers[0].Controllers)
}
