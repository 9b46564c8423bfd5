// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"context"
	"net"

	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// MACAddresses reads the MAC addresses of a node's enabled Ethernet interfaces over Redfish, in lower case; none if the
// BMC does not report its interfaces. Over IPMI the error is of the kind [verify.Unsupported].
//
// Source: get_mac_addresses in ironic/drivers/modules/redfish/management.py.
func (d *Driver) MACAddresses(ctx context.Context, id string) ([]string, error) {
	return read(ctx, d, call{id: id, op: "read the MAC addresses", long: true}, func(r *reader) (macs []string, err error) {
		for _, i := range r.interfaces() {
			if i.Enabled {
				macs = append(macs, i.MACAddress)
			}
		}
		return macs, r.err()
	})
}

// interfaces reads the Ethernet interfaces.
func (r *reader) interfaces() []Interface {
	all := []Interface{}
	list(r, r.link("EthernetInterfaces"), func(nic *schemas.EthernetInterface, _ resource) {
		mac, err := net.ParseMAC(cmp.Or(nic.MACAddress, nic.PermanentMACAddress))
		if err != nil || len(mac) != 6 {
			return // Ironic leaves it out too: some are of no Ethernet
		}
		all = append(all, Interface{
			MACAddress: mac.String(), Name: nic.ID, SpeedMbps: max(0, nic.SpeedMbps),
			Enabled: nic.Status.State == "" || nic.Status.State == schemas.EnabledState,
		})
	})
	return all
}
