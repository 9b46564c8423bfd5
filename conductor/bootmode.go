// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"encoding/json"
	"fmt"
	"strings"
)

// InstanceCapabilities returns the capabilities that the node's instance asks for. In instance_info they are an object,
// or the text of one in JSON; any other value has none.
//
// Source: parse_instance_info_capabilities in ironic/common/utils.py.
func (n *Node) InstanceCapabilities() map[string]any {
	switch value := n.InstanceInfo["capabilities"].(type) {
	case map[string]any:
		return value
	case string:
		var capabilities map[string]any
		_ = json.Unmarshal([]byte(value), &capabilities)
		return capabilities
	}
	return nil
}

// WantsSecureBoot reports whether the node's instance is booted with UEFI secure boot.
//
// Source: is_secure_boot_requested in ironic/drivers/modules/boot_mode_utils.py.
func (n *Node) WantsSecureBoot() bool {
	return strings.EqualFold(fmt.Sprint(n.InstanceCapabilities()["secure_boot"]), "true")
}

// WantedBootMode returns the boot mode, "bios" or "uefi", that the capabilities of the instance or else of the node ask
// for, and "" if they ask for none or for another one. Secure boot needs UEFI.
//
// Source: get_boot_mode in ironic/drivers/modules/boot_mode_utils.py.
func (n *Node) WantedBootMode() string {
	if n.WantsSecureBoot() {
		return "uefi"
	}
	if mode := n.InstanceCapabilities()["boot_mode"]; mode != nil {
		return knownBootMode(mode)
	}
	capabilities, _ := n.Properties["capabilities"].(string)
	for _, capability := range strings.Split(capabilities, ",") {
		if name, mode, _ := strings.Cut(capability, ":"); strings.TrimSpace(name) == "boot_mode" {
			return knownBootMode(strings.TrimSpace(mode))
		}
	}
	return ""
}

// bootModes returns the boot modes that the node is to be deployed with: its property boot_mode, which alone Ironic
// compares with the modes that the operator does not allow, and the mode that its capabilities ask for.
func (n *Node) bootModes() (modes []string) {
	if len(n.Properties) == 0 && len(n.InstanceInfo) == 0 {
		return nil
	}
	property, _ := n.Properties["boot_mode"].(string)
	for _, mode := range []string{knownBootMode(strings.ToLower(strings.TrimSpace(property))), n.WantedBootMode()} {
		if mode != "" {
			modes = append(modes, mode)
		}
	}
	return modes
}

func knownBootMode(mode any) string {
	if mode == "bios" || mode == "uefi" {
		return mode.(string)
	}
	return ""
}
