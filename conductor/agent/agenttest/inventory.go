// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"fmt"
	"os"
)

// device is the name of the disk.
const device = "/dev/sda"

// The other properties of the disk.
const (
	diskModel  = "SIMDISK"
	diskVendor = "SIM"
	diskSerial = "SIM0001"
	diskWWN    = "0x5000c500a0000001"
)

// inventory returns the inspection data of the machine.
//
// Source: collect_default in ironic_python_agent/inspector.py; the recorded exchange.
func (m *Machine) inventory() map[string]any {
	var interfaces []any
	for i, mac := range m.config.MACs {
		interfaces = append(interfaces, map[string]any{
			"name": fmt.Sprintf("eth%d", i), "mac_address": mac, "ipv4_address": ifFirst(i, fmt.Sprintf("192.0.2.%d", 10+i)), "ipv6_address": nil,
			"has_carrier": i == 0, "lldp": nil, "vendor": "0x1af4", "product": "0x0001", "client_id": nil, "biosdevname": nil,
		})
	}
	disk := map[string]any{
		"name": device, "model": diskModel, "size": m.diskSize(), "rotational": false, "wwn": diskWWN, "serial": diskSerial, "vendor": diskVendor,
		"wwn_with_extension": nil, "wwn_vendor_extension": nil, "hctl": nil, "by_path": nil,
	}
	return map[string]any{
		"inventory": map[string]any{
			"interfaces": interfaces,
			"cpu": map[string]any{"model_name": "Sim CPU", "frequency": 2000, "count": 4, "architecture": "x86_64",
				"flags": []string{"vmx"}},
			"disks":         []any{disk},
			"memory":        map[string]any{"total": 8 << 30, "physical_mb": 8 << 10},
			"bmc_address":   orNull(m.config.BMCAddress),
			"bmc_v6address": "::/0",
			"system_vendor": map[string]any{"product_name": "Sim", "serial_number": diskSerial, "manufacturer": "ironstate"},
			"boot":          map[string]any{"current_boot_mode": "bios", "pxe_interface": m.config.MACs[0]},
			"hostname":      "vm",
		},
		"boot_interface": m.config.MACs[0],
		"root_disk":      disk,
		"configuration": map[string]any{
			"collectors": []string{"default", "logs"}, "managers": []any{map[string]any{"name": managerName, "version": managerVersion}},
		},
		"error": nil,
	}
}

// ifFirst returns a text for the first interface and null for the others, which have no link.
func ifFirst(i int, text string) any {
	if i == 0 {
		return text
	}
	return nil
}

// diskSize returns the size of the disk in bytes.
func (m *Machine) diskSize() int64 {
	info, err := os.Stat(m.Disk)
	if err != nil {
		return 0
	}
	return info.Size()
}
