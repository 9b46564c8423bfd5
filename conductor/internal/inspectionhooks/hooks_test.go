// SPDX-License-Identifier: Apache-2.0

package inspectionhooks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/inspectionhooks"
	"github.com/ironstate/ironstate/states"
)

// object decodes JSON.
func object(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&o), text)
	return o
}

// run runs one hook.
func run(t *testing.T, series states.Series, name, inventory, data string) inspectionhooks.Changes {
	t.Helper()
	in := inspectionhooks.Input{Series: series, Inventory: object(t, inventory), Data: object(t, data)}
	c := inspectionhooks.Run([]string{name}, in)
	require.Equal(t, object(t, inventory), in.Inventory, "the caller's inventory")
	require.Equal(t, object(t, data), in.Data, "the caller's data")
	return c
}

// equal compares a value with JSON.
func equal(t *testing.T, want string, got any, about string) {
	t.Helper()
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, want, string(text), about)
}

func TestEachSeriesHasItsHooks(t *testing.T) {
	require.Empty(t, inspectionhooks.Names(states.Bobcat))
	require.Equal(t, []string{"accelerators", "local-link-connection", "parse-lldp"}, inspectionhooks.Names(states.Caracal))
	require.Equal(t, []string{"accelerators", "local-link-connection", "parse-lldp"}, inspectionhooks.Names(states.Flamingo))
	require.Equal(t, []string{"accelerators", "cpus", "local-link-connection", "parse-lldp"}, inspectionhooks.Names(states.Gazpacho))
}

func TestThePropertyCPUsIsTheirNumber(t *testing.T) {
	for inventory, want := range map[string]string{
		`{"cpu": {"count": 32}}`:    `{"cpus": 32}`,
		`{"cpu": {"count": "8"}}`:   `{"cpus": 8}`,
		`{"cpu": {"count": 0}}`:     `{}`,
		`{"cpu": {"count": "all"}}`: `{}`,
		`{}`:                        `{}`,
	} {
		c := run(t, states.Latest(), "cpus", inventory, `{}`)
		equal(t, want, c.Properties, inventory)
		require.Equal(t, want == `{}`, len(c.Problems) == 1, inventory)
	}
}

func TestAcceleratorsAreThoseThatTheSeriesKnows(t *testing.T) {
	const (
		both = `{"pci_devices": [{"vendor_id": "10de", "product_id": "1eb8", "bus": "0000:3b:00.0"},
			{"vendor_id": "10de", "product_id": "2236", "bus": "0000:5e:00.0"}, {"vendor_id": "8086", "product_id": "1eb8"}, 1]}`
		t4 = `{"vendor_id": "10de", "device_id": "1eb8", "type": "GPU", "device_info": "NVIDIA Corporation Tesla T4",
			"pci_address": "0000:3b:00.0"}`
		a10 = `{"vendor_id": "10de", "device_id": "2236", "type": "GPU", "device_info": "NVIDIA Corporation A10",
			"pci_address": "0000:5e:00.0"}`
		nic = `{"pci_devices": [{"vendor_id": "8086", "product_id": "1521", "bus": "0000:01:00.0"}]}`
	)
	for _, c := range []struct {
		series     states.Series
		data, want string
	}{
		{states.Epoxy, both, `{"accelerators": [` + t4 + `]}`},
		{states.Flamingo, both, `{"accelerators": [` + t4 + `, ` + a10 + `]}`},
		{states.Epoxy, nic, `{}`},
		{states.Flamingo, nic, `{"accelerators": []}`}, // which replaces those that are gone
		{states.Flamingo, `{"pci_devices": []}`, `{}`},
		{states.Flamingo, `{}`, `{}`},
	} {
		equal(t, c.want, run(t, c.series, "accelerators", `{}`, c.data).Properties, c.series.String()+" "+c.data)
	}
}

func TestTheInventoryMayHaveThePCIDevicesSince2026_2(t *testing.T) {
	const (
		inventory = `{"pci_devices": [{"vendor_id": "0x10DE", "product_id": "0x2236"}]}`
		a10       = `{"accelerators": [{"vendor_id": "10de", "device_id": "2236", "type": "GPU", "device_info": "NVIDIA Corporation A10",
			"pci_address": null}]}`
	)
	for series, want := range map[states.Series]string{states.Gazpacho: `{}`, states.Hibiscus: a10} {
		equal(t, want, run(t, series, "accelerators", inventory, `{"pci_devices": []}`).Properties, series.String())
	}
	other := `{"pci_devices": [{"vendor_id": "8086", "product_id": "1521"}]}`
	equal(t, `{"accelerators": []}`, run(t, states.Hibiscus, "accelerators", inventory, other).Properties, "the agent's devices count")
}

// interfaces returns an inventory with the LLDP data of an interface.
func interfaces(elements string) string {
	return `{"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:0a", "lldp": [` + elements + `]}]}`
}

func TestThePortOfASwitchIsInTheLLDPData(t *testing.T) {
	const (
		all     = `{"all_interfaces": {"eth0": {}}}`
		chassis = `[1, "04885a92ec5459"]`
		port    = `[2, "0545746865726e6574312f3138"]`
		name    = `[5, "7377697463682d31"]`
	)
	for about, c := range map[string]struct {
		series          states.Series
		inventory, data string
		want            string
		problems        int
	}{
		"all": {states.Flamingo, interfaces(chassis + "," + port + "," + name), all,
			`{"switch_id": "88:5a:92:ec:54:59", "port_id": "Ethernet1/18", "switch_info": "switch-1"}`, 0},
		"before 2025.2": {states.Epoxy, interfaces(chassis + "," + port + "," + name), all,
			`{"switch_id": "88:5a:92:ec:54:59", "port_id": "Ethernet1/18"}`, 0},
		"a chassis by its name":     {states.Latest(), interfaces(`[1, "0773776974636831"],` + port), all, `{"port_id": "Ethernet1/18"}`, 0},
		"a port by its MAC address": {states.Latest(), interfaces(`[2, "03885a92ec5458"]`), all, `{"port_id": "88:5a:92:ec:54:58"}`, 0},
		"a port of an unknown kind": {states.Latest(), interfaces(chassis + `,[2, "0631"]`), all, `{"switch_id": "88:5a:92:ec:54:59"}`, 0},
		"an empty chassis":          {states.Latest(), interfaces(`[1, ""],` + port), all, `{"port_id": "Ethernet1/18"}`, 0},
		"a short MAC address":       {states.Latest(), interfaces(port + `,[1, "04885a92"]`), all, `null`, 1},
		"a text that is not UTF-8":  {states.Latest(), interfaces(chassis + `,[5, "ff"]`), all, `null`, 1},
		"not hexadecimal":           {states.Latest(), interfaces(chassis + `,[4, "xyz"],` + port), all, `null`, 1},
		"no data":                   {states.Latest(), interfaces(""), all, `null`, 0},
		"an invalid interface":      {states.Latest(), interfaces(chassis), `{"all_interfaces": {"eth1": {}}}`, `null`, 0},
		"raw data first": {states.Latest(), interfaces(chassis), `{"all_interfaces": {"eth0": {}}, "lldp_raw": {"eth0": [` + port + `]}}`,
			`{"port_id": "Ethernet1/18"}`, 0},
	} {
		got := run(t, c.series, "local-link-connection", c.inventory, c.data)
		equal(t, c.want, got.Links["52:54:00:00:00:0a"], about)
		require.Len(t, got.Problems, c.problems, about)
	}
}

func TestAnIPv6AddressHasNoZone(t *testing.T) {
	inventory := object(t, `{"interfaces": [
		{"name": "eth0", "mac_address": "52:54:00:00:00:0a", "ipv6_address": "fe80::1%eth0"},
		{"name": "lo6", "mac_address": "52:54:00:00:00:0b", "ipv6_address": "::1%lo6"}]}`)
	data := map[string]any{}
	_, err := inspectionhooks.Default("1be26c0b", inventory, data)
	require.NoError(t, err)
	equal(t, `{"eth0": {"name": "eth0", "mac_address": "52:54:00:00:00:0a", "ipv6_address": "fe80::1", "pxe_enabled": false}}`,
		data["valid_interfaces"], "without the zone of the agent's machine")
	require.Equal(t, "fe80::1%eth0", inventory["interfaces"].([]any)[0].(map[string]any)["ipv6_address"], "the inventory stays")
}
