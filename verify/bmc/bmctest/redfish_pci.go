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
		device := newDevice(path, "PCIeDevice.v1_13_0", p.id)
		device["DeviceType"] = "SingleFunction"
		device["Manufacturer"] = manufacturer
		device["PCIeFunctions"] = link(functions)
		f.add(device)
		function := newDevice(functions+"/0", "PCIeFunction.v1_5_0", p.id)
		function["FunctionId"] = 0
		function["FunctionType"] = "Physical"
		function["DeviceClass"] = p.class
		function["ClassCode"] = p.code
		function["DeviceId"] = p.device
		function["VendorId"] = p.vendor
		function["SubsystemId"] = p.subsystem
		function["SubsystemVendorId"] = p.subsystemVendor
		function["RevisionId"] = p.revision
		function["Links"] = object{"PCIeDevice": link(path)}
		f.addMembers(functions, "PCIeFunctionCollection", "PCIe Functions", function)
	}
}
