// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

func TestTheBootLoaderOfAnImage(t *testing.T) {
	yes, no := true, false
	for _, wholeDisk := range []*bool{&yes, &no, nil} {
		for _, mode := range []string{"", "bios", "uefi"} {
			for _, arch := range []any{nil, "x86_64", "ppc64le", "ppc64"} {
				for _, root := range []string{"", "0x6f7cc4a8"} {
					isWholeDisk := wholeDisk != nil && *wholeDisk
					n := &Node{
						UUID: "1be26c0b", Properties: map[string]any{"cpu_arch": arch, "capabilities": "boot_mode:" + mode},
						Deployment: DeploymentInfo{WholeDisk: wholeDisk},
					}
					if mode == "" {
						delete(n.Properties, "capabilities")
					}
					loader, needed, err := n.bootloader(agent.PartitionUUIDs{Root: root, EFI: "efi", PReP: "prep"})
					if root == "" && !isWholeDisk {
						require.EqualError(t, err, "no root UUID returned from the ramdisk for node 1be26c0b")
						continue
					}
					require.NoError(t, err)
					want := agent.Bootloader{PartitionUUIDs: agent.PartitionUUIDs{Root: root}, BootMode: "uefi"}
					if mode == "bios" {
						want.BootMode = mode
					}
					if !isWholeDisk && mode != "bios" {
						want.EFI = "efi"
					}
					if arch == "ppc64le" || arch == "ppc64" {
						want.PReP = "prep"
					}
					require.Equal(t, want, loader)
					require.Equal(t, !isWholeDisk || mode != "bios", needed)
				}
			}
		}
	}
}

func TestTheBootLoaderOfAnImageOnASoftwareRAID(t *testing.T) {
	software := []any{map[string]any{"controller": "software"}}
	for name, test := range map[string]struct {
		disks     any
		wholeDisk bool
		mode      string
		rootfs    any
		reported  string // by the agent
		recorded  string
		root      string
		needed    bool
	}{
		"the file system that the client names": {software, true, "bios", "fs", "disk", "", "fs", true},
		"the root that the agent reports":       {software, true, "bios", nil, "disk", "old", "disk", true},
		"the root of the record":                {software, true, "bios", "", "", "old", "old", true},
		"no root":                               {software, true, "bios", 7, "", "", "", true},
		"by UEFI":                               {software, true, "uefi", "fs", "disk", "", "fs", true},
		"a partition image":                     {software, false, "uefi", "fs", "", "", "fs", true},
		"one disk of two": {
			[]any{map[string]any{"controller": "x"}, 7, map[string]any{"controller": "software"}}, true, "bios", "fs", "disk", "", "fs", true,
		},
		"no such disk": {[]any{map[string]any{"size_gb": 1}}, true, "bios", "fs", "disk", "", "disk", false},
		"no disks":     {nil, true, "bios", "fs", "disk", "", "disk", false},
	} {
		n := &Node{
			Properties:       map[string]any{"capabilities": "boot_mode:" + test.mode},
			Deployment:       DeploymentInfo{WholeDisk: &test.wholeDisk, Root: test.recorded},
			TargetRAIDConfig: map[string]any{"logical_disks": test.disks},
			InstanceInfo:     map[string]any{"image_rootfs_uuid": test.rootfs},
		}
		loader, needed, err := n.bootloader(agent.PartitionUUIDs{Root: test.reported})
		require.NoError(t, err, name)
		require.Equal(t, test.root, loader.Root, name)
		require.Equal(t, test.mode, loader.BootMode, name)
		require.Equal(t, test.needed, needed, name)
	}
}
