// SPDX-License-Identifier: Apache-2.0

package inspectionhooks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestLLDPDataBecomeReadable(t *testing.T) {
	const long = 511
	for about, c := range map[string]struct {
		elements, want string
		problems       int
	}{
		"a switch": {`[0, ""], [1, "04885a92ec5459"], [2, "0545746865726e6574312f3138"], [3, "0078"], [4, "75706c696e6b"],
			[5, "7377697463682d31"], [6, "4f532031"], [7, "00140014"], [8, "0501c0000201020000000100"],
			[8, "110220010db8000000000000000000000001"]`,
			`{"switch_chassis_id": "88:5a:92:ec:54:59", "switch_port_id": "Ethernet1/18", "switch_port_description": "uplink",
				"switch_system_name": "switch-1", "switch_system_description": "OS 1", "switch_capabilities_support": ["Bridge", "Router"],
				"switch_capabilities_enabled": ["Bridge", "Router"], "switch_mgmt_addresses": ["192.0.2.1", "2001:db8::1"]}`, 0},
		"all capabilities": {`[7, "07fe0001"]`, `{"switch_capabilities_support": ["Repeater", "Bridge", "WLAN", "Router", "Telephone",
			"DOCSIS cable device", "Station only", "C-Vlan", "S-Vlan", "TPMR"], "switch_capabilities_enabled": []}`, 0},
		"of a wrong length": {`[7, "000400"]`, `null`, 1},
		"802.1Q": {
			`[127, "0080c2010064"], [127, "0080c202060065"], [127, "0080c202020066"], [127, "0080c203006704766c616e"],
				[127, "0080c20402888e"], [127, "0080c2060068"], [127, "0080c2070300000005"]`,
			`{"switch_port_untagged_vlan_id": 100, "switch_port_protocol_vlan_enabled": true,
				"switch_port_protocol_vlan_support": true, "switch_port_protocol_vlan_ids": [101, 102],
				"switch_port_vlans": [{"id": 103, "name": "vlan"}], "switch_protocol_identities": ["888e"],
				"switch_port_management_vlan_id": 104, "switch_port_link_aggregation_enabled": true,
				"switch_port_link_aggregation_support": true, "switch_port_link_aggregation_id": 5}`, 0},
		"802.3": {`[127, "00120f01036c11001e"], [127, "00120f0301ffffffff"], [127, "00120f0405ee"]`,
			`{"switch_port_autonegotiation_enabled": true, "switch_port_autonegotiation_support": true,
				"switch_port_physical_capabilities": ["1000BASE-T fdx", "100BASE-TX fdx", "100BASE-TX hdx", "10BASE-T fdx",
				"10BASE-T hdx", "Asym and Sym PAUSE fdx"], "switch_port_mau_type": "1000BASE-T full duplex",
				"switch_port_link_aggregation_enabled": false, "switch_port_link_aggregation_support": true,
				"switch_port_link_aggregation_id": 4294967295, "switch_port_mtu": 1518}`, 0},
		"short ones": {
			`[127, "0080c2"], [127, "0080c20100"], [127, "0080c20200"], [127, "0080c2030067"], [127,
				"0080c203006705766c616e"], [127, "0080c204"], [127, "0080c20403888e"], [127, "0080c20700"], [127,
				"00120f0100"], [8, "05"], [8, "0501c00002"], [1, ""], [2, "04"], [1, "0401"]`, `null`, 14},
		"an unknown type":       {`[127, "00120f0100000000ff"], [9, "00"], [127, "001b2101ff"], [127, "0080c263"]`, `null`, 1},
		"an unknown identifier": {`[1, "00ab"], [1, "08ab"], [2, "0641"], [2, "0841"], [8, "0209ab"]`, `null`, 4},
		"other identifiers":     {`[1, "0501c0000201"], [2, "0756312f32"]`, `{"switch_chassis_id": "192.0.2.1", "switch_port_id": "V1/2"}`, 0},
		"a MAC address":         {`[8, "0706885a92ec5459"]`, `{"switch_mgmt_addresses": ["88:5a:92:ec:54:59"]}`, 0},
		"texts by the first":    {`[5, "61"], [5, "62"]`, `{"switch_system_name": "a"}`, 0},
		"one is not UTF-8":      {`[5, "ff61"], [4, "61"], [127, "0080c203006701ff"]`, `{"switch_port_description": "a"}`, 2},
		"no pairs":              {`1, [4], [4, "61", 2], ["four", "61"], [4, 61], [4, "6"], [5, "61"]`, `{"switch_system_name": "a"}`, 6},
		"as long as may be": {fmt.Sprintf(`[5, "%s"]`, strings.Repeat("61", long)),
			`{"switch_system_name": "` + strings.Repeat("a", long) + `"}`, 0},
		"longer": {fmt.Sprintf(`[5, "%s"]`, strings.Repeat("61", long+1)), `null`, 1},
		"many":   {strings.TrimSuffix(strings.Repeat(`[5, "ff"],`, 30), ","), `null`, 16},
	} {
		got := run(t, states.Latest(), "parse-lldp", interfaces(c.elements), `{}`)
		want := `{"parsed_lldp": {"eth0": ` + c.want + `}}`
		if c.want == `null` {
			want = `{}`
		}
		equal(t, want, got.Data, about)
		require.Len(t, got.Problems, c.problems, about)
	}
}

func TestTheLLDPDataOf64InterfacesAreParsedSince2026_2(t *testing.T) {
	var nics []string
	for k := range 65 {
		nics = append(nics, fmt.Sprintf(`{"name": "eth%d", "lldp": [[5, "61"]]}`, k))
	}
	for series, want := range map[states.Series]int{states.Gazpacho: 65, states.Hibiscus: 64} {
		got := run(t, series, "parse-lldp", `{"interfaces": [`+strings.Join(nics, ",")+`]}`, `{}`)
		require.Len(t, got.Data["parsed_lldp"], want, series)
	}
}

func TestInterfacesOfTheSameNameShareTheirLLDPData(t *testing.T) {
	nics := `{"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:0a"}, {"name": "eth0", "mac_address": "52:54:00:00:00:0b"}]}`
	data := `{"all_interfaces": {"eth0": {}}, "lldp_raw": {"eth0": [[2, "0756312f32"], %s]}}`
	got := run(t, states.Latest(), "parse-lldp", nics, fmt.Sprintf(data, `[4, "6"]`))
	equal(t, `{"parsed_lldp": {"eth0": {"switch_port_id": "V1/2"}}}`, got.Data, "the first of two elements")
	require.Len(t, got.Problems, 1, "decoded once")

	got = run(t, states.Latest(), "local-link-connection", nics, fmt.Sprintf(data, `[0, ""]`))
	equal(t, `{"52:54:00:00:00:0a": {"port_id": "V1/2"}, "52:54:00:00:00:0b": {"port_id": "V1/2"}}`, got.Links, "both")
}

func TestAnInterfaceHasABoundedNumberOfLLDPElements(t *testing.T) {
	const most = 1024
	for more, want := range []string{`{"parsed_lldp": {"eth0": {"switch_system_name": "a"}}}`, `{}`} {
		got := run(t, states.Latest(), "parse-lldp", interfaces(strings.Repeat(`[0, ""], `, most-1+more)+`[5, "61"]`), `{}`)
		equal(t, want, got.Data, fmt.Sprint(more))
		require.Len(t, got.Problems, more)
	}
}

func TestTheFirstInterfaceOfAnAddressNamesItsSwitch(t *testing.T) {
	inventory := `{"interfaces": [
		{"name": "eth0", "mac_address": "52:54:00:00:00:0A", "lldp": [[2, "0756312f32"]]},
		{"name": "bond0", "mac_address": "52:54:00:00:00:0a", "lldp": [[2, "0756312f33"], [5, "61"]]}]}`
	got := run(t, states.Latest(), "local-link-connection", inventory, `{"all_interfaces": {"eth0": {}, "bond0": {}}}`)
	equal(t, `{"52:54:00:00:00:0a": {"port_id": "V1/2", "switch_info": "a"}}`, got.Links, "a port has one link")
}
