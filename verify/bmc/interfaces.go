// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"context"
	"net"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// MACAddresses reads the MAC addresses of a node's enabled Ethernet interfaces over Redfish, in lower case, or of the
// ports of its network adapters if the BMC reports no interfaces. Over IPMI the error is of the kind
// [verify.Unsupported].
//
// Source: get_mac_addresses in ironic/drivers/modules/redfish/management.py.
func (d *Driver) MACAddresses(ctx context.Context, id string) ([]string, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the MAC addresses", long: true}, func(r *reader) (macs []string, err error) {
		for _, i := range r.interfaces() {
			if i.Enabled {
				macs = append(macs, i.MACAddress)
			}
		}
		return macs, r.err()
	})
}

// interfaces reads the Ethernet interfaces or, if there are none, the ports of the network adapters: Lenovo's BMCs know
// some adapters' addresses at their ports alone, perhaps in a property of Lenovo's. Ports that cannot be read are no
// error.
//
// Source: issue 176 of github.com/dsx-ai-factory/nv-redfish, for the property.
func (r *reader) interfaces() []Interface {
	all, before := []Interface{}, len(r.errs)
	add := func(address string, i Interface, state string) {
		mac, err := net.ParseMAC(address)
		if err != nil || len(mac) != 6 || bytes.Equal(mac, make([]byte, 6)) {
			return // some are of no Ethernet, and some BMCs have zeroes until the machine has booted
		}
		i.MACAddress, i.Enabled = mac.String(), state == "" || state == "Enabled"
		all = append(all, i)
	}
	readMembers(r, r.link("EthernetInterfaces"), func(nic *schemas.EthernetInterface, _ resource) {
		i := Interface{Name: nic.ID, SpeedMbps: max(0, nic.SpeedMbps)}
		address := nic.MACAddress
		if strings.Trim(address, "0:-.") == "" {
			address = nic.PermanentMACAddress
		}
		add(address, i, string(nic.Status.State))
	})
	failed := len(r.errs)
	if len(all) > 0 || failed > before {
		return all
	}
	r.adapters(func(a *schemas.NetworkAdapter, adapter resource) {
		readMembers(r, adapter.link("Ports"), func(p *schemas.Port, port resource) {
			addresses := p.Ethernet.AssociatedMACAddresses
			if len(addresses) == 0 {
				address, _ := port.at("Oem", "Lenovo", "PhysicalPortMacAddress").(string)
				addresses = []string{address}
			}
			for _, address := range addresses {
				add(address, Interface{Name: a.ID + "/" + p.ID}, string(p.Status.State))
			}
		})
	})
	r.forget(failed)
	return all
}
