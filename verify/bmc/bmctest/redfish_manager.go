// SPDX-License-Identifier: Apache-2.0

package bmctest

// manager returns the resource of the BMC itself.
func (b *Redfish) manager() object {
	path := b.profile().managerPath()
	o := newDevice(path, "Manager.v1_19_0", "BMC", object{
		"ManagerType":     "BMC",
		"Manufacturer":    manufacturer,
		"Model":           "bmctest",
		"FirmwareVersion": b.profile().BMCVersion,
		"PowerState":      powerOn,
	})
	if b.profile().ManagerSlots != nil {
		o["VirtualMedia"] = link(path + mediaBelow)
	}
	o["Links"] = object{
		"ManagerForServers": links(pathsOf(b.systems)),
		"ManagerForChassis": links([]string{theChassisPath}),
	}
	return o
}
