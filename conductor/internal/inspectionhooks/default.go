// SPDX-License-Identifier: Apache-2.0

package inspectionhooks

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Interface is a network interface that gets a port.
type Interface struct {
	MAC    string // as [NormalMAC] returns it
	PXE    bool   // the agent was booted by it
	Client string // its DHCP client ID, or ""
}

// Default runs the hooks that each inspection has: it checks the data and adds all_interfaces, valid_interfaces and
// macs to them. It returns the interface which booted the agent or, if the data do not name it, all of the node with a
// UUID. Of several with the same address, such as the interfaces of VLANs, it returns the first.
//
// Source: ramdisk_error.py, validate_interfaces.py and ports.py in ironic/drivers/modules/inspector/hooks, with
// Ironic's default option add_ports.
func Default(node string, inventory, data map[string]any) (ports []Interface, err error) {
	if reason := data["error"]; reason != nil && reason != "" {
		//lint:ignore ST1005 the text is Ironic's, in inspector/hooks/ramdisk_error.py
		return nil, fmt.Errorf("Failed to inspect hardware. Reason: Ramdisk reported error: %v", reason)
	}
	boot, _ := inventory["boot"].(map[string]any)
	booted, _ := boot["pxe_interface"].(string)
	if _, address, ok := strings.Cut(booted, "-"); ok { // as PXELINUX writes it: 01-aa-bb-cc-dd-ee-ff
		booted = strings.ReplaceAll(address, "-", ":")
	}
	booted = NormalMAC(booted)
	all, valid, macs := map[string]any{}, map[string]any{}, []any{}
	for _, nic := range interfacesOf(inventory) {
		name, _ := nic["name"].(string)
		mac := NormalMAC(nic["mac_address"])
		if name == "" || mac == "" {
			continue
		}
		nic = maps.Clone(nic)
		pxe := mac == booted
		nic["pxe_enabled"] = pxe
		if address, ok := nic["ipv6_address"].(string); ok { // which inspection rules compare with a network, without its zone
			nic["ipv6_address"], _, _ = strings.Cut(address, "%")
		}
		all[name] = nic
		if name == "lo" || loopback(nic) || booted != "" && !pxe {
			continue
		}
		valid[name] = nic
		macs = append(macs, mac)
		client, _ := nic["client_id"].(string)
		if !slices.ContainsFunc(ports, func(port Interface) bool { return port.MAC == mac }) {
			ports = append(ports, Interface{mac, pxe, client})
		}
	}
	switch {
	case len(all) == 0:
		//lint:ignore ST1005 the text is Ironic's, in inspector/hooks/validate_interfaces.py
		return nil, fmt.Errorf("Inventory for node %s is invalid: no valid network interfaces", node)
	case len(valid) == 0:
		//lint:ignore ST1005 as above
		return nil, fmt.Errorf("Inventory for node %s is invalid: no network interfaces match the configuration "+
			"(add_ports set to \"pxe\")", node)
	}
	data["all_interfaces"], data["valid_interfaces"], data["macs"] = all, valid, macs
	return ports, nil
}

// Addresses returns the MAC addresses of an inventory, each once.
func Addresses(inventory map[string]any) (macs []string) {
	seen := map[string]bool{"": true}
	for _, nic := range interfacesOf(inventory) {
		if mac := NormalMAC(nic["mac_address"]); !seen[mac] {
			seen[mac] = true
			macs = append(macs, mac)
		}
	}
	return macs
}

// interfacesOf returns the network interfaces of an inventory.
func interfacesOf(inventory map[string]any) (all []map[string]any) {
	list, _ := inventory["interfaces"].([]any)
	for _, item := range list {
		if nic, ok := item.(map[string]any); ok {
			all = append(all, nic)
		}
	}
	return all
}

// NormalMAC returns a MAC address in lower case, "" if the value is none.
func NormalMAC(value any) string {
	text, _ := value.(string)
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 {
		return ""
	}
	return mac.String()
}

// loopback reports whether an interface has a loopback address.
func loopback(nic map[string]any) bool {
	return slices.ContainsFunc([]string{"ipv4_address", "ipv6_address"}, func(key string) bool {
		text, _ := nic[key].(string)
		address, err := netip.ParseAddr(text)
		return err == nil && address.IsLoopback()
	})
}
