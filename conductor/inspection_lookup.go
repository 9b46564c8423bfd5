// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// inspected returns the node of an agent's inventory. It has the UUID, unless that is empty, and the ports with the MAC
// addresses; without both it is the only node that waits for an inspection and whose BMC has an address in the
// inventory. If the UUID, the ports and the BMC do not agree, the error matches [NotFound].
//
// Source: lookup_node in ironic/drivers/modules/inspect_utils.py.
func (f *fleet) inspected(ctx context.Context, uuid string, inventory map[string]any) (n *Node, err error) {
	none := refuse(NotFound, "No node that waits for an inspection agrees with the inventory.")
	if uuid != "" {
		if n, err = f.node(ctx, uuid); err != nil {
			return nil, err
		}
	}
	switch byMAC, err := f.byAddress(ctx, addressesOf(inventory)); {
	case errors.Is(err, NotFound): // no port, or ports of several nodes
	case err != nil:
		return nil, err
	case n != nil && n.UUID != byMAC:
		return nil, none
	default:
		if n, err = f.node(ctx, byMAC); err != nil {
			return nil, err
		}
	}
	byBMC, err := f.inspectedByBMC(ctx, inventory)
	switch {
	case err != nil:
		return nil, err
	case n == nil && len(byBMC) == 1:
		return byBMC[0], nil
	case n == nil, len(byBMC) > 0 && !slices.ContainsFunc(byBMC, func(other *Node) bool { return other.UUID == n.UUID }):
		return nil, none
	}
	return n, nil
}

// inspectedByBMC returns the nodes that wait for an inspection and whose BMC has an address in an inventory.
func (f *fleet) inspectedByBMC(ctx context.Context, inventory map[string]any) (found []*Node, err error) {
	var wanted []netip.Addr
	for _, key := range []string{"bmc_address", "bmc_v6address"} {
		text, _ := inventory[key].(string)
		if address, err := netip.ParseAddr(text); err == nil && !address.IsUnspecified() && !address.IsLoopback() {
			wanted = append(wanted, address)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	all, err := f.nodes.list(ctx)
	if err != nil {
		return nil, err
	}
	isWanted := func(a netip.Addr) bool { return slices.Contains(wanted, a) }
	for _, n := range all {
		if inspection.waits(n) && slices.ContainsFunc(n.bmcAddresses(), isWanted) {
			found = append(found, n)
		}
	}
	return found, nil
}

// bmcAddresses returns the addresses of a node's BMC in driver_info. Names are not resolved.
//
// Source: _get_bmc_addresses in ironic/drivers/modules/inspect_utils.py, which resolves names.
func (n *Node) bmcAddresses() (addresses []netip.Addr) {
	for key, value := range n.DriverInfo {
		text, _ := value.(string)
		if !strings.HasSuffix(key, "_address") {
			continue
		}
		if at, err := url.Parse(text); err == nil && at.Host != "" {
			text = at.Hostname()
		} else if host, _, err := net.SplitHostPort(text); err == nil {
			text = host
		}
		if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}
