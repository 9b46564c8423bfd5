// SPDX-License-Identifier: Apache-2.0

package bmctest

import "fmt"

// box returns the chassis that contains all systems.
func (b *Redfish) box() object {
	o := newDevice(boxPath, "Chassis.v1_25_0", "Chassis")
	o["ChassisType"] = "RackMount"
	o["Manufacturer"] = b.profile().Manufacturer
	o["Model"] = "bmctest"
	o["SerialNumber"] = fmt.Sprintf("CH%05d", b.Port)
	o["PowerState"] = powerOn
	o["Links"] = object{
		"ComputerSystems": links(pathsOf(b.systems)),
		"ManagedBy":       links([]string{b.profile().managerPath()}),
	}
	return o
}
