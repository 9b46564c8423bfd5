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
