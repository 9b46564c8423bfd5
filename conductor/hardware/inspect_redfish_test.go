// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func inSeries(series states.Series) func(*conductor.Config) {
	return func(c *conductor.Config) { c.Table = series.Table() }
}

func withHardware(h bmctest.Hardware) func(*bmctest.RedfishConfig) {
	return func(c *bmctest.RedfishConfig) { c.Systems = []bmctest.System{{ID: "1", Hardware: h}} }
}

// portsOf returns the addresses of a node's ports, each with the value of pxe_enabled.
func (s *site) portsOf(n *conductor.Node) map[string]bool {
	s.t.Helper()
	ports, err := s.ObjectsOf(s.t.Context(), conductor.KindPort, n.UUID)
	require.NoError(s.t, err)
	all := map[string]bool{}
	for _, port := range ports {
		p := port.(*conductor.Port)
		all[p.Address] = p.PXEEnabled == nil || *p.PXEEnabled
	}
	return all
}

// addNeighbor gives the machine of a BMC a network adapter that has received LLDP data.
func addNeighbor(server *bmctest.Redfish) {
	const adapters = "/redfish/v1/Chassis/1/NetworkAdapters"
	for path, resource := range map[string]string{
		adapters:                  `{"Members": [{"@odata.id": "` + adapters + `/NIC"}]}`,
		adapters + "/NIC":         `{"Id": "NIC", "Ports": {"@odata.id": "` + adapters + `/NIC/Ports"}}`,
		adapters + "/NIC/Ports":   `{"Members": [{"@odata.id": "` + adapters + `/NIC/Ports/1"}]}`,
		adapters + "/NIC/Ports/1": `{"Id": "NIC.1-1", "Ethernet": {"LLDPReceive": {"PortId": "Ethernet1/2", "ManagementVlanId": 100}}}`,
	} {
		server.AddFault(bmctest.Fault{On: path, Do: bmctest.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, resource)
		})})
	}
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Chassis/1", Do: bmctest.Property("NetworkAdapters", map[string]any{"@odata.id": adapters})})
}

// TestAnInspectionHasTheTypesOfItsSeries checks the types of the properties, and which ones are stored, by the series
// in which Ironic has changed them.
func TestAnInspectionHasTheTypesOfItsSeries(t *testing.T) {
	enabled := map[string]bool{"52:54:00:00:00:01": true, "52:54:00:00:00:02": true}
	hooked := map[string]bool{"52:54:00:00:00:01": false, "52:54:00:00:00:02": false, "52:54:00:00:00:03": false}
	for series, want := range map[states.Series]struct {
		properties string
		ports      map[string]bool
		plugins    []string // nil without an inventory
	}{
		states.Antelope: {`{"capabilities":"cpu_vt:true,boot_mode:uefi","cpu_arch":"x86_64","cpus":32,"local_gb":"446","memory_mb":"65536"}`,
			enabled, nil},
		states.Bobcat: {`{"capabilities":"cpu_vt:true,boot_mode:uefi","cpu_arch":"x86_64","cpus":32,"local_gb":"446","memory_mb":65536}`,
			enabled, []string{}},
		states.Epoxy: {`{"capabilities":"cpu_vt:true,boot_mode:uefi","cpu_arch":"x86_64","cpus":32,"local_gb":"446","memory_mb":65536}`,
			enabled, []string{}},
		states.Flamingo: {`{"capabilities":"cpu_vt:true,boot_mode:uefi","cpu_arch":"x86_64","local_gb":"446","memory_mb":65536}`,
			hooked, []string{"all_interfaces", "macs", "valid_interfaces"}},
		states.Gazpacho: {`{"capabilities":"cpu_vt:true,boot_mode:uefi","cpu_arch":"x86_64","local_gb":446,"memory_mb":65536}`,
			hooked, []string{"all_interfaces", "macs", "valid_interfaces", "parsed_lldp"}},
	} {
		t.Run(series.String(), func(t *testing.T) {
			server := startRedfish(t, withHardware(bmctest.Hardware{MACs: []string{"52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03"}}))
			server.AddFault(bmctest.Fault{
				On: "/redfish/v1/Systems/1/EthernetInterfaces/NIC3",
				Do: bmctest.Property("Status", map[string]any{"State": "Disabled"}),
			})
			addNeighbor(server)
			s := start(t, hardware.Config{}, inSeries(series))
			n := s.node(redfishMachine(server, t), func(n *conductor.Node) {
				n.ProvisionState, n.Properties = states.Manageable, map[string]any{"capabilities": "cpu_vt:true"}
			})
			require.NoError(t, server.SetPower("1", "On"))
			_, err := s.CreateObject(t.Context(), &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:02"})
			require.NoError(t, err)
			for range 2 { // the second inspection replaces what the first has stored
				n = s.request(n, "inspect")
				require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			}
			require.Equal(t, states.PowerOn, n.Power)
			text, err := json.Marshal(n.Properties)
			require.NoError(t, err)
			require.Equal(t, want.properties, string(text))
			require.Equal(t, want.ports, s.portsOf(n))

			o, err := s.Object(t.Context(), conductor.KindInventory, n.UUID)
			if want.plugins == nil {
				require.ErrorIs(t, err, conductor.NotFound)
				return
			}
			require.NoError(t, err)
			inventory := o.(*conductor.Inventory)
			require.ElementsMatch(t, want.plugins, slices.Collect(maps.Keys(inventory.PluginData)))
			require.Equal(t, "map[architecture:x86_64 count:32 frequency:3200 model_name:bmctest 8-core]",
				printed(inventory.Inventory["cpu"].(map[string]any)))
			require.Len(t, inventory.Inventory["interfaces"], 3)
			if series < states.Gazpacho {
				require.NotContains(t, inventory.Inventory, "pci_devices")
				require.NotContains(t, inventory.Inventory, "storage_controllers")
				return
			}
			require.Len(t, inventory.Inventory["storage_controllers"], 1)
			require.Len(t, inventory.Inventory["pci_devices"], 2)
			require.Equal(t, "map[class:NetworkController product_id:0x1015 revision:0x00 subsystem_id:0x0069 "+
				"subsystem_vendor_id:0x15b3 vendor_id:0x15b3]", printed(inventory.Inventory["pci_devices"].([]any)[1].(map[string]any)))
			require.Equal(t, map[string]any{"NIC.1-1": map[string]any{"switch_port_id": "Ethernet1/2", "switch_vlan_id": json.Number("100")}},
				inventory.PluginData["parsed_lldp"])
		})
	}
}

func TestAnInspectionKeepsTheCapabilitiesOfTheNode(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	for before, want := range map[any]any{
		nil: "boot_mode:uefi", "": "boot_mode:uefi", "a:1": "a:1,boot_mode:uefi", "boot_mode:": "boot_mode:,boot_mode:uefi",
		"a:1, boot_mode:bios": "a:1, boot_mode:bios", "boot_mode:other": "boot_mode:other", 7: 7,
	} {
		n := s.request(s.node(redfishMachine(server, t), func(n *conductor.Node) {
			n.ProvisionState = states.Manageable
			n.InstanceInfo = map[string]any{"capabilities": map[string]any{"boot_mode": "bios"}} // is the instance's
			if before != nil {
				n.Properties = map[string]any{"capabilities": before}
			}
		}), "inspect")
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		require.EqualValues(t, fmt.Sprint(want), fmt.Sprint(n.Properties["capabilities"]))
	}
}

func TestAnInspectionNeedsANetworkInterfaceSince2025(t *testing.T) {
	for series, state := range map[states.Series]states.State{states.Epoxy: states.Manageable, states.Flamingo: states.InspectFail} {
		server := startRedfish(t, withHardware(bmctest.Hardware{MACs: []string{}}))
		s := start(t, hardware.Config{}, inSeries(series))
		n := s.request(s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable }), "inspect")
		require.Equal(t, state, n.ProvisionState)
		if state == states.InspectFail {
			require.Equal(t, "Inventory for node "+n.UUID+" is invalid: no valid network interfaces", n.LastError)
		}
	}
}

func TestAnInspectionSaysWhatItCouldNotRead(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/Storage/1/Drives/1", Do: bmctest.Status(http.StatusInternalServerError)})
	s := start(t, hardware.Config{})
	n := s.request(s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable }), "inspect")
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	o, err := s.Object(t.Context(), conductor.KindInventory, n.UUID)
	require.NoError(t, err)
	require.Contains(t, o.(*conductor.Inventory).PluginData["incomplete"], "Drives/1")
	require.Len(t, o.(*conductor.Inventory).Inventory["disks"], 1)
}

// Also if the machine has no network interface that is enabled.
func TestAnInspectionRuleThatFailsTellsItsTextAlone(t *testing.T) {
	const system = "/redfish/v1/Systems/1"
	for _, state := range []string{"Enabled", "Disabled"} {
		server := startRedfish(t)
		server.AddFault(bmctest.Fault{On: system + "/Storage/1/Drives/1", Do: bmctest.Status(http.StatusInternalServerError)})
		for _, id := range []string{"1", "2"} {
			server.AddFault(bmctest.Fault{
				On: system + "/EthernetInterfaces/NIC" + id, Do: bmctest.Property("Status", map[string]any{"State": state}),
			})
		}
		s := start(t, hardware.Config{})
		_, err := s.CreateObject(t.Context(), &conductor.InspectionRule{Phase: "main", Actions: []map[string]any{
			{"op": "fail", "args": []any{"not in the inventory of the site"}},
		}})
		require.NoError(t, err)
		n := s.request(s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable }), "inspect")
		require.Equal(t, states.InspectFail, n.ProvisionState)
		require.Contains(t, n.LastError, "not in the inventory of the site")
		require.NotContains(t, n.LastError, "Drives/1")
	}
}

func TestAnIncompleteInspectionNeedsMemoryOrProcessors(t *testing.T) {
	for _, test := range []struct {
		has  bmctest.Hardware
		want string // part of the error; empty for none
	}{
		{bmctest.Hardware{Processors: -1}, ""},
		{bmctest.Hardware{DIMMs: -1}, "Failed to discover the following properties: memory_mb on node"},
		{bmctest.Hardware{Processors: -1, DIMMs: -1}, "Drives/1"},
	} {
		server := startRedfish(t, withHardware(test.has))
		server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/Storage/1/Drives/1", Do: bmctest.Status(http.StatusInternalServerError)})
		s := start(t, hardware.Config{})
		n := s.request(s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable }), "inspect")
		if test.want == "" {
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			continue
		}
		require.Equal(t, states.InspectFail, n.ProvisionState)
		require.Contains(t, n.LastError, test.want)
	}
}

func TestAMachineWithoutDisksHasNoLocalGB(t *testing.T) {
	for fault, want := range map[string]any{"": 0, "/redfish/v1/Systems/1/EthernetInterfaces/NIC2": nil} {
		server := startRedfish(t, withHardware(bmctest.Hardware{Drives: -1}))
		if fault != "" { // whether there is a disk is not known
			server.AddFault(bmctest.Fault{On: fault, Do: bmctest.Status(http.StatusInternalServerError)})
		}
		s := start(t, hardware.Config{})
		n := s.request(s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable }), "inspect")
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		require.Equal(t, want, n.Properties["local_gb"])
	}
}

func TestAnInspectionThatFindsNothingFails(t *testing.T) {
	all := "cpu_arch, cpus, memory_mb"
	for _, test := range []struct {
		series states.Series
		has    bmctest.Hardware
		known  map[string]any // the node's properties
		want   string         // the missing properties; empty for none
		found  string         // the properties that are stored nevertheless; empty for those before
	}{
		{states.Hibiscus, bmctest.Hardware{DIMMs: -1}, nil, "memory_mb", "map[capabilities:boot_mode:uefi cpu_arch:x86_64 local_gb:446]"},
		{states.Flamingo, bmctest.Hardware{DIMMs: -1}, nil, "memory_mb", "map[capabilities:boot_mode:uefi cpu_arch:x86_64 local_gb:446]"},
		{states.Hibiscus, bmctest.Hardware{Processors: -1}, nil, "", ""},
		{states.Epoxy, bmctest.Hardware{Processors: -1}, nil, "cpu_arch", ""},
		{states.Epoxy, bmctest.Hardware{Processors: -1}, map[string]any{"cpu_arch": "x86_64"}, "", ""},
		{states.Antelope, bmctest.Hardware{Processors: -1}, nil, "cpu_arch, cpus", ""},
		{states.Antelope, bmctest.Hardware{Processors: -1}, map[string]any{"cpus": 8, "cpu_arch": "x86_64"}, "", ""},
		{states.Hibiscus, bmctest.Hardware{Processors: -1, DIMMs: -1}, nil, all, "map[capabilities:boot_mode:uefi local_gb:446]"},
		{states.Antelope, bmctest.Hardware{Processors: -1, DIMMs: -1},
			map[string]any{"cpus": 8, "cpu_arch": "x86_64", "memory_mb": 1024}, all, ""},
	} {
		server := startRedfish(t, withHardware(test.has))
		s := start(t, hardware.Config{}, inSeries(test.series))
		n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState, n.Properties = states.Manageable, test.known })
		n = s.request(n, "inspect")
		if test.want == "" {
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			continue
		}
		require.Equal(t, states.InspectFail, n.ProvisionState)
		require.Equal(t, "Failed to inspect hardware. Reason: Failed to discover the following properties: "+test.want+" on node "+n.UUID,
			n.LastError)
		require.Equal(t, cmp.Or(test.found, printed(test.known)), printed(n.Properties))
		s.requireHistory(n)
	}
}
