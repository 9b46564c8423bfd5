// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ironstate/ironstate/conductor"
)

// The deploy interfaces. The package comment describes them.
const (
	ramdisk     = "ramdisk"
	customAgent = "custom-agent"
	direct      = "direct"
)

// unsupportedKeys maps each deploy interface to the keys of instance_info that it does not support, each with the
// reason. A deployment that ignored them would end in active with another instance than
// the one that was requested.
var unsupportedKeys = map[string]map[string]string{
	ramdisk: {
		"configdrive":          "it writes no configuration drive",
		"image_source":         "it writes no image; with direct, Ironic's agent writes it",
		"kernel_append_params": "the instance's kernel parameters are ramdisk_kernel_arguments",
	},
	customAgent: {
		"boot_iso": "it boots the instance from its disk",
	},
	direct: {
		"boot_iso": "it boots the instance from its disk",
	},
}

// servedKeys lists the keys of instance_info that the deploy interface "ramdisk" supports only with a boot interface that
// serves files.
var servedKeys = []string{"boot_iso", "kernel", "ramdisk", "ramdisk_kernel_arguments"}

// validateDeploy refuses an instance that the node's deploy interface does not support.
func (b *Type) validateDeploy(n *conductor.Node) error {
	if err := b.boot(n).validate(n); err != nil {
		return err
	}
	deploy, boot := b.chosen(n, "deploy"), b.chosen(n, "boot")
	reasons := maps.Clone(unsupportedKeys[deploy])
	if _, servesNothing := b.boot(n).(networkBoot); deploy == ramdisk && servesNothing {
		for _, key := range servedKeys {
			reasons[key] = "the boot interface " + boot + " serves no files: the network decides what the machine boots"
		}
	}
	maps.DeleteFunc(reasons, func(key, _ string) bool { return n.InstanceInfo[key] == nil || n.InstanceInfo[key] == "" })
	if len(reasons) > 0 {
		key := slices.Min(slices.Collect(maps.Keys(reasons)))
		return &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf(
			"Node %s has %s in instance_info, which the deploy interface %s of driver %s cannot realise: %s.", n.UUID, key, deploy, n.Driver, reasons[key])}
	}
	if deploy == direct {
		if err := b.config.validateImage(n); err != nil {
			return err
		}
	}
	if mode := n.InstanceCapabilities()["boot_mode"]; mode != nil && n.WantedBootMode() == "" {
		return &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf("Node %s has an invalid capability boot_mode in instance_info: it must be bios or uefi.", n.UUID)}
	}
	if n.WantsSecureBoot() && b.chosen(n, "management") != "redfish" {
		return &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf(
			"Node %s has the capability secure_boot in instance_info, but the management interface %s of driver %s does not change secure boot.",
			n.UUID, b.chosen(n, "management"), n.Driver)}
	}
	return nil
}
