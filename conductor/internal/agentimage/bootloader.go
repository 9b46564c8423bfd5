// SPDX-License-Identifier: Apache-2.0

package agentimage

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/conductor/agent"
)

// BootLoader returns the boot loader for an image with the partitions that the agent reports, and whether the agent has
// to install it: a partition image needs one, and so does a whole-disk image that boots by UEFI, or that is on a
// software RAID. With the latter, image_rootfs_uuid of instance_info is the UUID of the root file system.
//
// Source: configure_local_boot in ironic/drivers/modules/agent.py.
func BootLoader(n Node, p agent.PartitionUUIDs) (loader agent.Bootloader, needed bool, err error) {
	ofWholeDisk := n.WholeDisk != nil && *n.WholeDisk
	if n.SoftwareRAID {
		root, _ := n.InstanceInfo["image_rootfs_uuid"].(string)
		p.Root = cmp.Or(root, p.Root, n.Root)
	}
	if p.Root == "" && !ofWholeDisk {
		return loader, false, fmt.Errorf("no root UUID returned from the ramdisk for node %s", n.UUID)
	}
	if ofWholeDisk || n.BootMode != "uefi" {
		p.EFI = ""
	}
	if arch, _ := n.CPUArch.(string); !strings.HasPrefix(arch, "ppc64") {
		p.PReP = ""
	}
	needed = !ofWholeDisk || n.BootMode == "uefi" || n.SoftwareRAID
	return agent.Bootloader{PartitionUUIDs: p, BootMode: n.BootMode, SoftwareRAID: n.SoftwareRAID}, needed, nil
}
