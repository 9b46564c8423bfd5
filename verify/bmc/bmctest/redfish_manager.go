// SPDX-License-Identifier: Apache-2.0

package bmctest

// manager returns the resource of the BMC itself.
func (b *Redfish) manager() object {
	o := newDevice(managerPath, "Manager.v1_19_0", "BMC")
	o["ManagerType"] = "BMC"
	o["Manufacturer"] = manufacturer
	o["Model"] = "bmctest"
	o["FirmwareVersion"] = bmcVersion
	o["PowerState"] = powerOn
	o["VirtualMedia"] = link(mediaPath)
	o["Links"] = object{
		"ManagerForServers": links(pathsOf(b.systems)),
		"ManagerForChassis": links([]string{boxPath}),
	}
	return o
}
