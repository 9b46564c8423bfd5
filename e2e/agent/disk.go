// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/ironstate/ironstate/internal/try"
)

// The marks that are on the disk after a deployment.
const (
	imageMark  = "this is the image" // at markOffset
	markOffset = 2 << 20
	customMark = "written by a custom deploy step" // at the beginning
	userData   = "#cloud-config of the machine"    // in the configuration drive
	// The programs in a partition image write these: the first one at the beginning of the disk, the second one into a
	// file.
	loaderMark = "boot loader of the image"
	menuMark   = "menu of the image"
	swapMiB    = 16
)

// imageUUID is the UUID of the file system that is a partition image.
const imageUUID = "6a1b7c9e-0b5d-4f4e-9d55-1d2f5a3c8e71"

// image makes an image, and returns its name and SHA-256. It has a partition table, or is one partition.
func (l *life) image(ctx context.Context) (name, sum string) {
	raw := filepath.Join(l.folder, "image.raw")
	if l.partition {
		execute(ctx, "./e2e/agent/image.sh", raw, imageUUID)
	} else {
		try.OK(os.WriteFile(raw, wholeDisk(), 0o600))
	}
	name = "image." + l.format
	if l.format != "raw" {
		execute(ctx, "qemu-img", "convert", "-O", l.format, raw, filepath.Join(l.folder, name))
	}
	content := try.Get(os.ReadFile(filepath.Join(l.folder, name)))
	return name, fmt.Sprintf("%x", sha256.Sum256(content))
}

// wholeDisk returns the content of an image with a partition table.
func wholeDisk() []byte {
	raw := make([]byte, 16<<20)
	copy(raw[markOffset:], imageMark)
	entry := raw[446:]
	entry[4] = 0x83
	binary.LittleEndian.PutUint32(entry[8:], 2048)
	binary.LittleEndian.PutUint32(entry[12:], 20480)
	raw[510], raw[511] = 0x55, 0xaa
	return raw
}

func execute(ctx context.Context, name string, args ...string) {
	if text, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		try.Failf("%s: %w: %s", name, err, text)
	}
}

// content returns size bytes of a disk, or fewer at its end.
func content(disk io.ReaderAt, offset int64, size int) []byte {
	content := make([]byte, size)
	n, _ := disk.ReadAt(content, offset)
	return content[:n]
}

// partition is an entry of the partition table.
type partition struct {
	kind  byte
	begin int64 // in bytes
}

func partitions(disk io.ReaderAt) []partition {
	var found []partition
	for entry := range slices.Chunk(content(disk, 446, 64), 16) {
		if entry[4] != 0 {
			found = append(found, partition{entry[4], 512 * int64(binary.LittleEndian.Uint32(entry[8:]))})
		}
	}
	return found
}

// isConfigDrive reports whether a partition has the configuration drive of the machine, an image by ISO 9660.
func (p partition) isConfigDrive(disk io.ReaderAt) bool {
	volume := content(disk, p.begin+16*2048, 1<<20) // it begins with the volume descriptor, which has the label at 40
	return bytes.HasPrefix(volume, []byte("\x01CD001")) && bytes.HasPrefix(volume[min(40, len(volume)):], []byte("config-2")) &&
		bytes.Contains(volume, []byte(userData))
}

// checkWholeDisk looks for the image of a whole disk, and for the configuration drive in a partition behind it.
func checkWholeDisk(disk io.ReaderAt) {
	if string(content(disk, markOffset, len(imageMark))) != imageMark {
		try.Failf("the disk does not have the image")
	}
	if !slices.ContainsFunc(partitions(disk), func(p partition) bool { return p.isConfigDrive(disk) }) {
		try.Failf("no partition has the configuration drive")
	}
}

// checkPartitions looks for the partitions that the agent makes for a partition image: swap, the configuration drive,
// and the image, with its boot loader. The agent must have found the UUID of the image's file system.
func (l *life) checkPartitions(ctx context.Context) {
	disk := l.machine.disk
	found := partitions(disk)
	if len(found) != 3 || found[0].kind != 0x82 || found[1].kind != 0x83 || found[2].kind != 0x83 {
		try.Failf("the partitions are %v, want swap and two of Linux", found)
	}
	if swap := content(disk, found[0].begin, 4096); !bytes.HasSuffix(swap, []byte("SWAPSPACE2")) {
		try.Failf("the swap partition has no header")
	}
	if !found[1].isConfigDrive(disk) {
		try.Failf("the second partition is not the configuration drive")
	}
	file := fmt.Sprintf("%s?offset=%d", l.machine.disk.Name(), found[2].begin)
	menu, err := exec.CommandContext(ctx, "debugfs", "-R", "cat /boot/grub/grub.cfg", file).Output()
	if err != nil || string(menu) != menuMark {
		try.Failf("the boot loader's configuration is %q, want %q: %v", menu, menuMark, err)
	}
	if mark := content(disk, 0, len(loaderMark)); string(mark) != loaderMark {
		try.Failf("the disk begins with %q, want the boot loader", mark)
	}
	var n struct {
		Internal struct {
			Root string `json:"root_uuid_or_disk_id"`
		} `json:"driver_internal_info"`
	}
	if l.call(ctx, http.MethodGet, l.node, nil, &n); n.Internal.Root != imageUUID {
		try.Failf("the agent reports the root UUID %q, want %s", n.Internal.Root, imageUUID)
	}
}
