// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"maps"
	"slices"
)

// networkData returns network data, usually valid ones.
func (g *generator) networkData() any {
	data := map[string]any{"links": g.some(g.link), "networks": g.some(g.network), "services": g.some(g.service)}
	if g.chance(5) {
		data[pick(g, "links", "networks", "services", "nonsense")] = g.value()
	}
	if g.chance(3) {
		delete(data, pick(g, "links", "networks", "services"))
	}
	return data
}

// some returns a list of up to two items.
func (g *generator) some(item func() map[string]any) any {
	list := []any{}
	for range g.IntN(3) {
		i := item()
		if g.chance(5) {
			delete(i, pick(g, slices.Sorted(maps.Keys(i))...))
		}
		list = append(list, i)
	}
	return list
}

func (g *generator) link() map[string]any {
	link := map[string]any{"id": g.of("eth0"), "type": g.of("phy", "vif", "bond", "vlan", "nonsense")}
	if g.chance(20) {
		link["mtu"] = g.of(1500, 0, 70000, nil, 1.5)
	}
	address := g.of(mac(1), mac(2), "52-54-00-00-00-01", "52:54", "")
	switch link["type"] {
	case "vlan":
		link["vlan_mac_address"], link["vlan_id"], link["vlan_link"] = address, g.of(7, "7"), g.of("eth0")
	case "bond":
		link["bond_mode"], link["bond_links"] = g.of("802.3ad", "802.1ad", "active-backup"), g.of([]any{"eth0"}, []any{}, []any{1})
		fallthrough
	default:
		link["ethernet_mac_address"] = address
	}
	return link
}

func (g *generator) network() map[string]any {
	network := map[string]any{"id": g.of("n"), "link": g.of("eth0"), "network_id": g.of("i"),
		"type": g.of("ipv4", "ipv4", "ipv4_dhcp", "ipv6", "ipv6_slaac", "ipv5")}
	if g.chance(70) {
		network["ip_address"] = g.of("192.0.2.1", "192.0.2.1", "192.0.2.300", "2001:db8::1", "2001:db8::1/64", "x")
	}
	if g.chance(50) {
		network["netmask"] = g.of("255.255.255.0", "255.255.0.0", "255.0.255.0", "ffff:ffff::", "24", "x255.255.0.0")
	}
	if g.chance(25) {
		route := map[string]any{"network": g.of("0.0.0.0", "::", "x"), "netmask": g.of("0.0.0.0", "::", "0"),
			"gateway": g.of("192.0.2.254", "2001:db8::1", "x")}
		network["routes"] = g.of([]any{route}, []any{route}, []any{})
	}
	return network
}

func (g *generator) service() map[string]any {
	return map[string]any{"type": g.of("dns", "dns", "ntp"), "address": g.of("192.0.2.53", "2001:db8::53", "x")}
}
