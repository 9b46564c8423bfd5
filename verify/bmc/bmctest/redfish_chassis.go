// SPDX-License-Identifier: Apache-2.0

package bmctest

import "fmt"

// chassis returns the chassis that contains all systems.
func (b *Redfish) chassis() object {
	return newDevice(theChassisPath, "Chassis.v1_25_0", "Chassis", object{
		"ChassisType":  "RackMount",
		"Manufacturer": b.profile().Manufacturer,
		"Model":        "bmctest",
		"SerialNumber": fmt.Sprintf("CH%05d", b.Port),
		"PowerState":   powerOn,
		"Links": object{
			"ComputerSystems": links(pathsOf(b.systems)),
			"ManagedBy":       links([]string{b.profile().managerPath()}),
		},
	})
}
