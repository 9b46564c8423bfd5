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

	o := newDevice(updatePath, "UpdateService.v1_14_0", "Update Service")
	o["ServiceEnabled"] = true
	o["FirmwareInventory"] = link(inventoryPath)
	o["Actions"] = object{} // required by sushy
	f.add(o)
}

// firmware returns the inventory's entry on the firmware of the related resources.
func firmware(id, version string, related ...string) object {
	o := newDevice(inventoryPath+"/"+id, "SoftwareInventory.v1_10_1", id+" Firmware")
	o["SoftwareId"] = "bmctest-" + id
	o["Manufacturer"] = manufacturer
	o["Version"] = version
	o["ReleaseDate"] = "2026-03-01T00:00:00Z"
	o["Updateable"] = false
	o["RelatedItem"] = links(related)
	o["RelatedItem@odata.count"] = len(related)
	return o
}
