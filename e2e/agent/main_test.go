// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/internal/debian"
	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/try"
)

func TestWrongFlagsAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"-agent is missing":                     {},
		`-boot is "pxe": want ipxe`:             {"-agent", "x", "-boot", "pxe"},
		`-format is "vmdk": want raw or qcow2`:  {"-agent", "x", "-format", "vmdk"},
		"flag provided but not defined: -sites": {"-sites"},
	} {
		err := run(t.Context(), args, io.Discard, io.Discard)
		require.ErrorIs(t, err, program.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}

// TestARealAgent takes a machine with the agent of a folder of e2e/ironic through its life, with fast track, since that
// boots the agent least often.
func TestARealAgent(t *testing.T) {
	needs.Time(t)
	needs.Turn(t)
	folders := slices.DeleteFunc(lockstep.Folders(), func(root string) bool {
		_, err := debian.Root(root).LookPath("ironic-python-agent")
		return err != nil
	})
	needs.Installed(t, len(folders) > 0, "a folder with ironic-python-agent, named by "+lockstep.FoldersVariable)
	needs.Installed(t, os.Geteuid() == 0, "the right to make loop devices and mount namespaces, which root has,")
	t.Chdir("../..")
	folder := t.TempDir()
	err := run(t.Context(), []string{"-agent", folders[0], "-fast-track", "-folder", folder}, t.Output(), t.Output())
	if err != nil {
		logs, _ := filepath.Glob(filepath.Join(folder, "*.log"))
		for _, log := range logs {
			content, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", log, content[max(0, len(content)-8000):])
		}
	}
	require.NoError(t, err)
}

func TestTheImageHasAPartitionAndItsMark(t *testing.T) {
	l := &life{options: options{format: "raw", folder: t.TempDir()}}
	name, sum := l.image(t.Context())
	image, err := os.ReadFile(filepath.Join(l.folder, name))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(image)), sum)
	require.Equal(t, []byte{0x55, 0xaa}, image[510:512])
	require.Equal(t, imageMark, string(image[markOffset:markOffset+len(imageMark)]))
}

func TestAPartitionImageIsAFileSystemWithTheProgramsOfABootLoader(t *testing.T) {
	needs.Programs(t, "mkfs.ext4", "debugfs")
	t.Chdir("../..")
	l := &life{options: options{format: "raw", folder: t.TempDir(), partition: true}}
	name, _ := l.image(t.Context())
	read := func(request string) string {
		text, err := exec.Command("debugfs", "-R", request, filepath.Join(l.folder, name)).Output()
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, read("show_super_stats -h"), imageUUID)
	require.Contains(t, read("cat /usr/bin/grub-install"), "#!/bin/sh")
	require.Contains(t, read("cat /usr/bin/grub-mkconfig"), "#!/bin/sh")
	require.NotEmpty(t, read("cat /bin/sh"))
	require.Empty(t, read("cat /boot/grub/grub.cfg"), "the agent has it written")
}

func TestTheConfigurationDriveIsLookedForInThePartitions(t *testing.T) {
	drive := make([]byte, 64<<10)
	copy(drive[16*2048:], "\x01CD001\x01")
	copy(drive[16*2048+40:], "config-2")
	copy(drive[20*2048:], userData)
	for want, change := range map[string]func(disk []byte) []byte{
		"":                        func(disk []byte) []byte { return append(disk, drive...) },
		"does not have the image": func(disk []byte) []byte { return append(make([]byte, len(disk)), drive...) },
		"no partition has the configuration drive": func(disk []byte) []byte { return append(append(disk, 0), drive...) },
		"no partition has":                         func(disk []byte) []byte { return append(disk, drive[:20*2048]...) },
		"no partition":                             func(disk []byte) []byte { return disk },
	} {
		disk := wholeDisk()
		entry := disk[446+16:] // of a partition that begins at the end of the image
		entry[4] = 0x83
		binary.LittleEndian.PutUint32(entry[8:], uint32(len(disk)/512))
		err := try.Catch(func() { checkWholeDisk(bytes.NewReader(change(disk))) })
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
