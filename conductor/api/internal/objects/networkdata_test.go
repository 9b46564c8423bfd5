// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// The texts of refusals are compared with Ironic's in testdata/segments.txt of package api.
func TestABondHasTheModesOfItsSeries(t *testing.T) {
	for series, mode := range map[states.Series]string{
		states.Victoria: "802.1ad", states.Bobcat: "802.1ad", states.Caracal: "802.3ad", states.Latest(): "802.3ad",
	} {
		for _, of := range []string{"802.1ad", "802.3ad", "active-backup"} {
			bond := map[string]any{
				"id": "b", "type": "bond", "ethernet_mac_address": "52:54:00:00:00:01", "bond_mode": of, "bond_links": []any{"a"},
			}
			_, _, refused := networkData(series).Refusal(map[string]any{"links": []any{bond}, "networks": []any{}, "services": []any{}})
			require.Equal(t, of == mode || of == "active-backup", !refused, "%v %s", series, of)
		}
	}
}

func TestTheAddressesOfNetworkData(t *testing.T) {
	for _, c := range []struct {
		kind, field, value string
		valid              bool
	}{
		{"ipv4", "ip_address", "192.0.2.1", true}, {"ipv4", "ip_address", "192.0.2.256", false}, {"ipv4", "ip_address", "::1", false},
		{"ipv4", "netmask", "255.255.254.0", true}, {"ipv4", "netmask", "255.255.253.0", false}, {"ipv4", "netmask", "0.0.0.0", true},
		{"ipv6", "ip_address", "2001:db8::1/64", true}, {"ipv6", "ip_address", "::ffff:192.0.2.1", true},
		{"ipv6", "ip_address", "fe80::1%eth0", true},
		{"ipv6", "ip_address", "2001:db8::1/640", false}, {"ipv6", "ip_address", "2001:db8:::1", false},
		{"ipv6", "ip_address", "192.0.2.1", false},
		{"ipv6", "netmask", "ffff:ffff::", true}, {"ipv6", "netmask", "::ffff:192.0.2.1", false}, {"ipv6", "netmask", "64", false},
	} {
		network := map[string]any{"id": "n", "type": c.kind, "link": "l", "network_id": "i", c.field: c.value}
		_, _, refused := networkData(states.Latest()).Refusal(map[string]any{"links": []any{}, "networks": []any{network}, "services": []any{}})
		require.Equal(t, c.valid, !refused, "%s %s", c.field, c.value)
	}
}

func TestTheLastPartOfNetworkDataIsReportedSince20261(t *testing.T) {
	data := map[string]any{"links": []any{map[string]any{}}, "networks": []any{map[string]any{"id": "n"}}, "services": []any{}}
	for series, part := range map[states.Series]string{states.Flamingo: "{}", states.Gazpacho: "{'id': 'n'}"} {
		text, _, _ := networkData(series).Refusal(data)
		require.Equal(t, part+" is not valid under any of the given schemas", text, "%v", series)
	}
}
