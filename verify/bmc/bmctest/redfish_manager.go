// SPDX-License-Identifier: Apache-2.0

package bmctest

// manager returns the resource of the BMC itself.
func (b *Redfish) manager() object {
	path := b.profile().managerPath()
	o := newDevice(path, "Manager.v1_19_0", "BMC")
	o["ManagerType"] = "BMC"
	o["Manufacturer"] = manufacturer
	o["Model"] = "bmctest"
	o["FirmwareVersion"] = b.profile().BMCVersion
	o["PowerState"] = powerOn
	if b.profile().ManagerSlots != nil {
		o["VirtualMedia"] = link(path + mediaBelow)
	}
	o["Links"] = object{
		"ManagerForServers": links(pathsOf(b.systems)),
		"ManagerForChassis": links([]string{boxPath}),
	}
	return o
}
