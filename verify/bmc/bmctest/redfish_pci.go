// SPDX-License-Identifier: Apache-2.0

package bmctest

// pciFunctions lists the PCI devices of each system, which have one function each.
var pciFunctions = []struct{ id, class, code, device, vendor, subsystem, subsystemVendor, revision string }{
	{"NIC", "NetworkController", "0x020000", "0x1015", "0x15b3", "0x0069", "0x15b3", "0x00"},
	{"HBA", "MassStorageController", "0x010700", "0x00e6", "0x1000", "0x40a0", "0x1000", "0x01"},
}

// pciPaths returns the paths of the system's PCI devices.
func (s *system) pciPaths() (paths []string) {
	for _, p := range pciFunctions {
		paths = append(paths, s.path()+"/PCIeDevices/"+p.id)
	}
	return paths
}

// addPCI adds the PCI devices of a system.
func (f fixedResources) addPCI(s *system) {
	for i, path := range s.pciPaths() {
		p := pciFunctions[i]
		functions := path + "/PCIeFunctions"
		f.add(newDevice(path, "PCIeDevice.v1_13_0", p.id, object{
			"DeviceType":    "SingleFunction",
			"Manufacturer":  manufacturer,
			"PCIeFunctions": link(functions),
		}))
		function := newDevice(functions+"/0", "PCIeFunction.v1_5_0", p.id, object{
			"FunctionId":        0,
			"FunctionType":      "Physical",
			"DeviceClass":       p.class,
			"ClassCode":         p.code,
			"DeviceId":          p.device,
			"VendorId":          p.vendor,
			"SubsystemId":       p.subsystem,
			"SubsystemVendorId": p.subsystemVendor,
			"RevisionId":        p.revision,
			"Links":             object{"PCIeDevice": link(path)},
		})
		f.addMembers(functions, "PCIeFunctionCollection", "PCIe Functions", function)
	}
}
