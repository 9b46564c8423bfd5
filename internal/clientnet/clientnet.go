// SPDX-License-Identifier: Apache-2.0

// Package clientnet says which addresses count as one client where a client's share is bounded.
package clientnet

import "net/netip"

// Of returns the network of the client at remote, which is ADDRESS:PORT as in [net/http.Request.RemoteAddr]: an IPv4
// address, or a network of 64 bits in IPv6, since a client usually chooses freely among its addresses (RFC 8981). It is
// the zero value if remote is no address.
func Of(remote string) netip.Prefix {
	hostPort, _ := netip.ParseAddrPort(remote)
	ip := hostPort.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, _ := ip.Prefix(bits)
	return prefix
}
