// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"maps"
	"slices"
)

// networkData returns network data, usually valid ones.
func (g *generator) networkData() any {
	data := map[string]any{"links": g.some("link"), "networks": g.some("network"), "services": g.some("service")}
	if g.chance(5) {
		data[pick(g, "links", "networks", "services", "nonsense")] = g.value()
	}
	if g.chance(3) {
		delete(data, pick(g, "links", "networks", "services"))
	}
	return data
}

// some returns a list of up to two values of the template of a name.
func (g *generator) some(name string) any {
	list := []any{}
	for range g.IntN(3) {
		i := named[map[string]any](g, name)
		if g.chance(5) {
			delete(i, pick(g, slices.Sorted(maps.Keys(i))...))
		}
		list = append(list, i)
	}
	return list
}

func (g *generator) link() any {
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
