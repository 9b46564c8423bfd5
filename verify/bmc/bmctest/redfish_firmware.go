// SPDX-License-Identifier: Apache-2.0

package bmctest

import "fmt"

const (
	updatePath    = rootPath + "/UpdateService"
	inventoryPath = updatePath + "/FirmwareInventory"
)

// addFirmware adds the update service with the versions of all firmware. It offers no action to update any.
func (f fixedResources) addFirmware(p *Profile, systems []*system) {
	components := []object{
		firmware("BMC", p.BMCVersion, p.managerPath()),
		firmware("BIOS", biosVersion, pathsOf(systems)...),
	}
	for _, s := range systems {
		for i := range s.hardware.MACs {
			id := fmt.Sprintf("NIC%d", i+1)
			components = append(components, firmware(s.id+"-"+id, "22.31.6", s.path()+"/EthernetInterfaces/"+id))
		}
	}
	f.addMembers(inventoryPath, "SoftwareInventoryCollection", "Firmware Inventory", components...)

	f.add(newDevice(updatePath, "UpdateService.v1_14_0", "Update Service", object{
		"ServiceEnabled":    true,
		"FirmwareInventory": link(inventoryPath),
		"Actions":           object{}, // required by sushy
	}))
}

// firmware returns the inventory's entry on the firmware of the related resources.
func firmware(id, version string, related ...string) object {
	return newDevice(inventoryPath+"/"+id, "SoftwareInventory.v1_10_1", id+" Firmware", object{
		"SoftwareId":              "bmctest-" + id,
		"Manufacturer":            manufacturer,
		"Version":                 version,
		"ReleaseDate":             "2026-03-01T00:00:00Z",
		"Updateable":              false,
		"RelatedItem":             links(related),
		"RelatedItem@odata.count": len(related),
	})
}
