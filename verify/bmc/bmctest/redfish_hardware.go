// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"cmp"
	"fmt"
)

// These constants describe one part of each kind that a Hardware counts.
const (
	coresPerProcessor   = 8
	threadsPerProcessor = 16
	gibPerDIMM          = 16
	bytesPerDrive       = 480_103_981_056
	processorModel      = "bmctest 8-core"
)

// These are the manufacturer and the firmware versions that the resources report.
const (
	manufacturer = "ironstate"
	bmcVersion   = "2.14.0"
	biosVersion  = "1.8.2"
)

// Hardware describes the parts of a system. The default for a number of 0 is a small server's. A negative number means
// that the system has none. Each system also has two PCI devices, a network adapter and a storage controller.
type Hardware struct {
	Processors int // processors with 8 cores and 16 threads each; 2 if 0
	DIMMs      int // memory modules of 16 GiB each; 4 if 0
	Drives     int // SSDs of 480 GB each, behind one controller; 2 if 0

	// MACs has the MAC address of each network interface; any text is allowed. Only the first interface has a link. If
	// MACs is nil, there are two interfaces, whose addresses are made from the BMC's TCP port and differ between BMCs.
	MACs []string
}

// complete returns the hardware with its defaults. index is its system's, and port its BMC's.
func (h Hardware) complete(index, port int) Hardware {
	h.Processors = max(cmp.Or(h.Processors, 2), 0)
	h.DIMMs = max(cmp.Or(h.DIMMs, 4), 0)
	h.Drives = max(cmp.Or(h.Drives, 2), 0)
	if h.MACs == nil {
		for i := range 2 {
			h.MACs = append(h.MACs, fmt.Sprintf("52:54:%02x:%02x:%02x:%02x", port>>8, port&0xff, index&0xff, i))
		}
	}
	return h
}

// addHardware adds the parts of a system. The port of the BMC makes the identifiers of the drives unique.
func (f fixedResources) addHardware(s *system, port int) {
	f.addMembers(s.path()+"/Processors", "ProcessorCollection", "Processors", s.processors()...)
	f.addMembers(s.path()+"/Memory", "MemoryCollection", "Memory", s.dimms()...)
	f.addMembers(s.path()+"/EthernetInterfaces", "EthernetInterfaceCollection", "Ethernet Interfaces", s.nics()...)
	f.addStorage(s, port)
	f.addPCI(s)
}

func (s *system) processors() (list []object) {
	for i := range s.hardware.Processors {
		list = append(list, newDevice(fmt.Sprintf("%s/Processors/CPU%d", s.path(), i+1), "Processor.v1_20_0", "Processor", object{
			"Socket":                fmt.Sprintf("CPU %d", i+1),
			"ProcessorType":         "CPU",
			"ProcessorArchitecture": "x86",
			"InstructionSet":        "x86-64",
			"Manufacturer":          manufacturer,
			"Model":                 processorModel,
			"MaxSpeedMHz":           3200,
			"TotalCores":            coresPerProcessor,
			"TotalThreads":          threadsPerProcessor,
		}))
	}
	return list
}

func (s *system) dimms() (list []object) {
	for i := range s.hardware.DIMMs {
		list = append(list, newDevice(fmt.Sprintf("%s/Memory/DIMM%d", s.path(), i+1), "Memory.v1_20_0", "Memory Module", object{
			"DeviceLocator":     fmt.Sprintf("DIMM %d", i+1),
			"MemoryType":        "DRAM",
			"MemoryDeviceType":  "DDR4",
			"CapacityMiB":       gibPerDIMM << 10,
			"OperatingSpeedMhz": 3200,
			"Manufacturer":      manufacturer,
			"PartNumber":        "DDR4-16G",
			"SerialNumber":      fmt.Sprintf("%s-M%02d", s.serial, i+1),
		}))
	}
	return list
}

func (s *system) nics() (list []object) {
	for i, mac := range s.hardware.MACs {
		o := newDevice(fmt.Sprintf("%s/EthernetInterfaces/NIC%d", s.path(), i+1), "EthernetInterface.v1_12_0", "Ethernet Interface", object{
			"MACAddress":          mac,
			"PermanentMACAddress": mac,
			"InterfaceEnabled":    true,
			"LinkStatus":          "NoLink",
			"SpeedMbps":           nil,
		})
		if i == 0 {
			o["LinkStatus"] = "LinkUp"
			o["SpeedMbps"] = 25000
		}
		list = append(list, o)
	}
	return list
}

// addStorage adds the storage of a system: one controller with all drives, which are not combined to volumes.
func (f fixedResources) addStorage(s *system, port int) {
	path := s.path() + "/Storage/1"
	var drives []string
	for i := range s.hardware.Drives {
		at := fmt.Sprintf("%s/Drives/%d", path, i+1)
		f.add(newDevice(at, "Drive.v1_19_0", fmt.Sprintf("Drive %d", i+1), object{
			"CapacityBytes": bytesPerDrive,
			"MediaType":     "SSD",
			"Protocol":      "SATA",
			"Manufacturer":  manufacturer,
			"Model":         "bmctest 480G",
			"SerialNumber":  fmt.Sprintf("%s-D%02d", s.serial, i+1),
			"Revision":      "1.0.3",
			"Identifiers": []object{{
				"DurableName":       fmt.Sprintf("5000c5%04x%02x%04x", port, s.index&0xff, i+1),
				"DurableNameFormat": "NAA",
			}},
		}))
		drives = append(drives, at)
	}
	o := newDevice(path, "Storage.v1_17_0", "Storage", object{
		"StorageControllers": []object{{
			"@odata.id":                path + "#/StorageControllers/0",
			"MemberId":                 "0",
			"Name":                     "SATA Controller",
			"Manufacturer":             manufacturer,
			"Model":                    "bmctest HBA",
			"FirmwareVersion":          "3.1.0",
			"SupportedDeviceProtocols": []string{"SATA"},
			"Status":                   healthy(),
		}},
		"Drives":             links(drives),
		"Drives@odata.count": len(drives),
		"Volumes":            link(path + "/Volumes"),
	})
	f.addMembers(path+"/Volumes", "VolumeCollection", "Volumes")
	f.addMembers(s.path()+"/Storage", "StorageCollection", "Storage", o)
}
