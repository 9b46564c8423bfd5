// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"regexp"

	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/states"
)

// networkData describes the network data of a series.
//
// Source: ironic/api/controllers/v1/network-data-schema.json.
func networkData(s states.Series) *schema.Schema {
	links := anyOf(networkLinkSchema, bondSchema(s), vlanSchema)
	networks := anyOf(
		networkSchema([]string{"ipv4", "ipv4_dhcp"}, ipv4Host, ipv4Mask, ipv4Route),
		networkSchema([]string{"ipv6", "ipv6_dhcp", "ipv6_slaac"}, ipv6Host, ipv6Mask, ipv6Route))
	return &schema.Schema{
		Types: []string{"object"}, Required: []string{"links", "networks", "services"}, Recent: s >= states.Gazpacho,
		Properties: []schema.Property{
			{Name: "links", Schema: arrayOf(links)},
			{Name: "networks", Schema: arrayOf(networks)},
			{Name: "services", Schema: arrayOf(anyOf(serviceSchema(ipv4Host), serviceSchema(ipv6Host)))},
		},
	}
}

// networkDataField describes the field network_data: null, an empty object, or network data.
//
// Source: node_schema in ironic/api/controllers/v1/node.py.
func networkDataField(r *rest.Request) *schema.Schema {
	return anyOf(&schema.Schema{Types: []string{"null"}}, &schema.Schema{Types: []string{"object"}, Closed: true}, networkData(r.Series))
}

func anyOf(alternatives ...*schema.Schema) *schema.Schema { return &schema.Schema{AnyOf: alternatives} }

func arrayOf(items *schema.Schema) *schema.Schema {
	return &schema.Schema{Types: []string{"array"}, Items: items}
}

func oneWordOf(words ...string) *schema.Schema {
	return &schema.Schema{Types: schema.TextType, Enum: words}
}

func matching(pattern string) *schema.Schema {
	return &schema.Schema{Types: schema.TextType, Pattern: regexp.MustCompile(pattern)}
}

var (
	macAddress = matching(`(?i)^([0-9A-F]{2}[:-]){5}([0-9A-F]{2})$`)
	mtu        = anyOf(&schema.Schema{Types: []string{"number"}, Min: "1", Max: "65535"}, &schema.Schema{Types: []string{"null"}})

	networkLinkSchema = &schema.Schema{
		Types: []string{"object"}, Required: []string{"ethernet_mac_address", "id", "type"},
		Properties: []schema.Property{
			{Name: "id", Schema: schema.Text},
			{Name: "ethernet_mac_address", Schema: macAddress},
			{Name: "mtu", Schema: mtu},
			{Name: "type", Schema: oneWordOf("bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy")},
			{Name: "vif_id", Schema: schema.Text},
		},
	}
	vlanSchema = &schema.Schema{
		Types: []string{"object"}, Required: []string{"vlan_mac_address", "id", "type", "vlan_link", "vlan_id"},
		Properties: []schema.Property{
			{Name: "id", Schema: schema.Text},
			{Name: "vlan_mac_address", Schema: macAddress},
			{Name: "mtu", Schema: mtu},
			{Name: "type", Schema: oneWordOf("vlan")},
			{Name: "vif_id", Schema: schema.Text},
			{Name: "vlan_id", Schema: &schema.Schema{Types: []string{"integer"}}},
			{Name: "vlan_link", Schema: schema.Text},
		},
	}
)

// bondSchema describes a bond. The name of the mode 802.3ad was wrong until 2023.2.
func bondSchema(s states.Series) *schema.Schema {
	aggregation := "802.3ad"
	if s < states.Caracal {
		aggregation = "802.1ad"
	}
	return &schema.Schema{
		Types: []string{"object"}, Required: []string{"ethernet_mac_address", "id", "type", "bond_mode", "bond_links"},
		Properties: []schema.Property{
			{Name: "id", Schema: schema.Text},
			{Name: "ethernet_mac_address", Schema: macAddress},
			{Name: "mtu", Schema: mtu},
			{Name: "type", Schema: oneWordOf("bond")},
			{Name: "vif_id", Schema: schema.Text},
			{Name: "bond_mode", Schema: oneWordOf(aggregation, "balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb",
				"balance-alb")},
			{Name: "bond_links", Schema: arrayOf(schema.Text)},
		},
	}
}

// networkSchema describes a network of one of the types.
func networkSchema(types []string, host, mask, route *schema.Schema) *schema.Schema {
	return &schema.Schema{
		Types: []string{"object"}, Required: []string{"id", "link", "network_id", "type"},
		Properties: []schema.Property{
			{Name: "id", Schema: schema.Text},
			{Name: "link", Schema: schema.Text},
			{Name: "network_id", Schema: schema.Text},
			{Name: "type", Schema: oneWordOf(types...)},
			{Name: "ip_address", Schema: host},
			{Name: "netmask", Schema: mask},
			{Name: "routes", Schema: arrayOf(route)},
		},
	}
}

// routeSchema describes a route of a network.
func routeSchema(network, mask, gateway, host *schema.Schema) *schema.Schema {
	return &schema.Schema{
		Types: []string{"object"}, Required: []string{"gateway", "netmask", "network"},
		Properties: []schema.Property{
			{Name: "network", Schema: network},
			{Name: "netmask", Schema: mask},
			{Name: "gateway", Schema: gateway},
			{Name: "services", Schema: arrayOf(serviceSchema(host))},
		},
	}
}

// serviceSchema describes a service at an address.
func serviceSchema(host *schema.Schema) *schema.Schema {
	return &schema.Schema{
		Types: []string{"object"}, Required: []string{"address", "type"},
		Properties: []schema.Property{{Name: "address", Schema: host}, {Name: "type", Schema: oneWordOf("dns")}},
	}
}

// The patterns of addresses are Ironic's: a fault repeats them. They are stricter in some places, and more permissive
// in others, than package netip: a mask before its last alternative is not anchored on both sides.
const (
	octet     = `25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?`
	dotted    = `^(?:(?:` + octet + `)\.){3}(?:` + octet + `)$`
	plainByte = `([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])`
	maskByte  = `(254|252|248|240|224|192|128|0)`

	group = `[0-9a-fA-F]{1,4}`
	// ipv6Start has all forms of the leading parts of an IPv6 address; the forms of the last parts differ.
	ipv6Start = `^((` + group + `:){7,7}` + group +
		`|(` + group + `:){1,7}:` +
		`|(` + group + `:){1,6}:` + group +
		`|(` + group + `:){1,5}(:` + group + `){1,2}` +
		`|(` + group + `:){1,4}(:` + group + `){1,3}` +
		`|(` + group + `:){1,3}(:` + group + `){1,4}` +
		`|(` + group + `:){1,2}(:` + group + `){1,5}` +
		`|` + group + `:((:` + group + `){1,6})` +
		`|:((:` + group + `){1,7}`
	lowByte   = `(25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9])`
	ipv6Host4 = ipv6Start + `|:)|fe80:(:[0-9a-fA-F]{0,4}){0,4}%[0-9a-zA-Z]{1,}` +
		`|::(ffff(:0{1,4}){0,1}:){0,1}(` + lowByte + `\.){3,3}` + lowByte +
		`|(` + group + `:){1,4}:(` + lowByte + `\.){3,3}` + lowByte + `)`
)

var (
	ipv4Host = matching(dotted)
	ipv4Mask = matching(`^` + maskByte + `\.0\.0\.0|255\.` + maskByte + `\.0\.0|255\.255\.` + maskByte + `\.0|255\.255\.255\.` +
		maskByte + `$`)
	ipv4Route = routeSchema(matching(`^(`+plainByte+`\.){3}`+plainByte+`$`), ipv4Mask, ipv4Host, ipv4Host)
	ipv6Host  = matching(ipv6Host4 + `(/[0-9]{1,2})?$`)
	ipv6Mask  = matching(ipv6Start + `)|(::))$`)
	ipv6Route = routeSchema(ipv6Mask, ipv6Mask, matching(ipv6Host4+`$`), ipv6Host)
)
