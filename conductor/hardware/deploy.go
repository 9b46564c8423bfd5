// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

// The deploy interfaces. The package comment describes them.
const (
	ramdisk     = "ramdisk"
	customAgent = "custom-agent"
)

// unrealised maps each deploy interface to the keys of instance_info that ask for what it does not do,
// each with the reason. A deployment that ignored them would end in active with another instance than
// the one that was requested.
var unrealised = map[string]map[string]string{
	ramdisk: {
		"boot_iso":                 "it attaches no virtual media",
		"configdrive":              "it writes no configuration drive",
		"image_source":             "it writes no image; with custom-agent, a program in the ramdisk can write it",
		"kernel":                   "it serves no files: the network decides what the machine boots",
		"ramdisk":                  "it serves no files: the network decides what the machine boots",
		"kernel_append_params":     "it serves no files: the network decides what the machine boots",
		"ramdisk_kernel_arguments": "it serves no files: the network decides what the machine boots",
	},
	customAgent: {
		"boot_iso": "it attaches no virtual media",
	},
}

// validateDeploy refuses an instance that the node's deploy interface cannot realise.
func (b *BMC) validateDeploy(n *conductor.Node) error {
	deploy := b.chosen(n, "deploy")
	var asked []string
	for key := range unrealised[deploy] {
		if value := n.InstanceInfo[key]; value != nil && value != "" {
			asked = append(asked, key)
		}
	}
	if len(asked) > 0 {
		key := slices.Min(asked)
		return &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf(
			"Node %s has %s in instance_info, which the deploy interface %s of driver %s cannot realise: %s.", n.UUID, key, deploy, n.Driver, unrealised[deploy][key])}
	}
	if mode := instanceCapabilities(n)["boot_mode"]; mode != nil && bootMode(n) == "" {
		return &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf("Node %s has an invalid capability boot_mode in instance_info: it must be bios or uefi.", n.UUID)}
	}
	if strings.EqualFold(fmt.Sprint(instanceCapabilities(n)["secure_boot"]), "true") {
		return &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf(
			"Node %s has the capability secure_boot in instance_info, but driver %s does not change secure boot.", n.UUID, n.Driver)}
	}
	return nil
}

// instanceCapabilities returns the capabilities of a node's instance: an object, or one in JSON.
//
// Source: parse_instance_info_capabilities in ironic/common/utils.py.
func instanceCapabilities(n *conductor.Node) map[string]any {
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
