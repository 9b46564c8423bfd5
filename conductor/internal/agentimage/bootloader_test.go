// SPDX-License-Identifier: Apache-2.0

package agentimage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentimage"
)

func TestTheBootLoaderOfAnImage(t *testing.T) {
	yes, no := true, false
	for _, wholeDisk := range []*bool{&yes, &no, nil} {
		for _, mode := range []string{"bios", "uefi"} {
			for _, arch := range []any{nil, "x86_64", "ppc64le", "ppc64"} {
				for _, root := range []string{"", "0x6f7cc4a8"} {
					isWholeDisk := wholeDisk != nil && *wholeDisk
					n := agentimage.Node{UUID: "1be26c0b", WholeDisk: wholeDisk, BootMode: mode, CPUArch: arch}
					loader, needed, err := agentimage.BootLoader(n, agent.PartitionUUIDs{Root: root, EFI: "efi", PReP: "prep"})
					if root == "" && !isWholeDisk {
						require.EqualError(t, err, "no root UUID returned from the ramdisk for node 1be26c0b")
						continue
					}
					require.NoError(t, err)
					want := agent.Bootloader{PartitionUUIDs: agent.PartitionUUIDs{Root: root}, BootMode: mode}
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
	for name, test := range map[string]struct {
		software  bool
		wholeDisk bool
		mode      string
		rootfs    any
		reported  string // by the agent
		recorded  string
		root      string
		needed    bool
	}{
		"the file system that the client names": {true, true, "bios", "fs", "disk", "", "fs", true},
		"the root that the agent reports":       {true, true, "bios", nil, "disk", "old", "disk", true},
		"the root of the record":                {true, true, "bios", "", "", "old", "old", true},
		"no root":                               {true, true, "bios", 7, "", "", "", true},
		"by UEFI":                               {true, true, "uefi", "fs", "disk", "", "fs", true},
		"a partition image":                     {true, false, "uefi", "fs", "", "", "fs", true},
		"no software RAID":                      {false, true, "bios", "fs", "disk", "", "disk", false},
	} {
		loader, needed, err := agentimage.BootLoader(agentimage.Node{
			WholeDisk: &test.wholeDisk, BootMode: test.mode, Root: test.recorded, SoftwareRAID: test.software,
			InstanceInfo: map[string]any{"image_rootfs_uuid": test.rootfs},
		}, agent.PartitionUUIDs{Root: test.reported})
		require.NoError(t, err, name)
		require.Equal(t, test.root, loader.Root, name)
		require.Equal(t, test.mode, loader.BootMode, name)
		require.Equal(t, test.needed, needed, name)
		require.Equal(t, test.software, loader.SoftwareRAID, name)
	}
}
