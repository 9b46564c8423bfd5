// SPDX-License-Identifier: Apache-2.0

// Package special tells the addresses of a network's machines from those that a host must not be led to by others:
//
//	if network := special.Network(address); network.IsValid() {
package special

import "net/netip"

// networks have the addresses that belong to no machine of a network: addresses of the host itself, of the link without
// a router, and of several hosts.
//
// Source: IANA's registries of special-purpose addresses, RFC 6890.
var networks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("::/128"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
}

// Network returns the special network of an address, the zero value for none.
func Network(address netip.Addr) netip.Prefix {
	address = Plain(address)
	for _, network := range networks {
		if network.Contains(address) {
			return network
		}
	}
	return netip.Prefix{}
}

// Plain returns an address without its zone, and an IPv4 address that is mapped to IPv6 as the IPv4 address.
func Plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
