// SPDX-License-Identifier: Apache-2.0

package agenttest_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
)

// read returns a part of a machine's disk.
func read(t *testing.T, m *agenttest.Machine, p agenttest.Partition) []byte {
	t.Helper()
	disk, err := os.Open(m.Disk)
	require.NoError(t, err)
	defer disk.Close()
	content, err := io.ReadAll(io.NewSectionReader(disk, p.Start, p.Size))
	require.NoError(t, err)
	return content
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	if strings.HasSuffix(name, ".gz") {
		zipped, err := gzip.NewReader(bytes.NewReader(content))
		require.NoError(t, err)
		content, err = io.ReadAll(zipped)
		require.NoError(t, err)
	}
	return content
}

func TestWriteImageConvertsQCOW2(t *testing.T) {
	raw := agenttest.Image(2*mib, 1)
	clear(raw[mib+16<<10:])
	made := agenttest.QCOW2(raw)
	// changed returns the image with another byte.
	changed := func(at int, value byte) []byte {
		image := slices.Clone(made)
		image[at] = value
		return image
	}
	for name, c := range map[string]struct {
		image  []byte
		format any
		fails  string
	}{
		"of qemu-img, compressed": {file(t, "compressed.qcow2.gz"), "qcow2", ""},
		"of qemu-img, version 2":  {file(t, "version2.qcow2.gz"), "qcow2", ""},
		"of QCOW2":                {made, "qcow2", ""},
		"format unknown":          {made, nil, ""},
		"said to be raw":          {made, "raw", "Unable to find a valid partition table"},
		"with a backing file":     {file(t, "backed.qcow2"), "qcow2", "Security: Image failed safety check"},
		"with an external file":   {changed(79, 4), "qcow2", "Security: Image failed safety check"},
		"encrypted":               {changed(35, 1), "qcow2", "Security: Image failed safety check"},
		"clusters too large":      {changed(23, 60), "qcow2", "Security: Image failed safety check"},
		"first level too large":   {changed(36, 0xff), "qcow2", "Security: Image failed safety check"},
		"only a header":           {made[:40], "qcow2", "Security: Image failed safety check"},
		"cut off":                 {made[:4*65536], "qcow2", "Writing image to device /dev/sda failed"},
		"larger than the disk":    {changed(24, 0x10), "qcow2", "Writing image to device /dev/sda failed"},
		"another format":          {made, "vmdk", "Expected format was vmdk, but image was actually qcow2"},
	} {
		t.Run(name, func(t *testing.T) {
			files := serveFiles(t, map[string][]byte{"x.raw": c.image})
			a := boot(t, agenttest.Config{DiskSize: 80 * mib})
			answer := a.step("deploy", "write_image", map[string]any{
				"image_info":  info(files, map[string]any{"checksum": digest(md5.Sum(c.image)), "disk_format": c.format}),
				"configdrive": compressed(t, drive("content")),
			})
			if c.fails != "" {
				require.Equal(t, "FAILED", answer["command_status"])
				require.Contains(t, answer["command_error"].(map[string]any)["details"], c.fails)
				return
			}
			require.Equal(t, "SUCCEEDED", answer["command_status"], answer)
			written := read(t, a.machine, agenttest.Partition{Size: 3 * mib})
			require.True(t, bytes.Equal(raw[512:], written[512:2*mib]), "only the master boot record has changed")
			require.Len(t, bytes.TrimLeft(written[2*mib:], "\x00"), 0)
			content, err := a.machine.ConfigDrive()
			require.NoError(t, err)
			require.Equal(t, drive("content"), content)
		})
	}
}

func TestWriteImageMakesThePartitionsOfAPartitionImage(t *testing.T) {
	content := bytes.Repeat([]byte("a file system "), mib/14)
	images := map[string][]byte{"raw": content, "qcow2": agenttest.QCOW2(content)}
	type sizes = map[string]any
	bios, uefi := map[string]any{}, map[string]any{"properties": map[string]any{"capabilities": "boot_mode:uefi"}}
	gpt := map[string]any{"instance_info": map[string]any{"capabilities": `{"disk_label": "gpt"}`}}
	for name, c := range map[string]struct {
		node   map[string]any
		sizes  sizes
		format string
		drive  bool
		want   []int64 // the sizes in MiB, the root partition last
		gpt    bool
		fails  string
	}{
		"BIOS": {bios, nil, "raw", false, []int64{10}, false, ""},
		"UEFI": {uefi, nil, "raw", false, []int64{200, 10}, true, ""},
		"UEFI by Ironic": {map[string]any{"driver_internal_info": map[string]any{"deploy_boot_mode": "uefi"}}, nil, "raw", false,
			[]int64{200, 10}, true, ""},
		"secure boot": {map[string]any{"instance_info": map[string]any{"capabilities": map[string]any{"secure_boot": "true"}}},
			nil, "raw", false, []int64{200, 10}, true, ""},
		"BIOS with GPT": {gpt, nil, "raw", false, []int64{1, 10}, true, ""},
		"all":           {uefi, sizes{"swap_mb": 3, "ephemeral_mb": 4}, "raw", true, []int64{200, 4, 3, 1, 10}, true, ""},
		"all with BIOS": {bios, sizes{"swap_mb": 3, "ephemeral_mb": 4}, "qcow2", true, []int64{4, 3, 1, 10}, false, ""},
		"qcow2":         {bios, nil, "qcow2", false, []int64{10}, false, ""},

		"root too small": {bios, sizes{"root_mb": 0}, "qcow2", false, nil, false,
			"Root partition is too small for requested image. Image virtual size: 1 MB, Root size: 0 MB"},
		"root too small, raw": {uefi, sizes{"root_mb": 0}, "raw", false, nil, false, "Root device '/dev/sda2' not found"},
		"disk too small":      {bios, sizes{"swap_mb": 300}, "raw", false, nil, false, "the partitions need 301 MiB, more than /dev/sda has"},
		"nothing to preserve": {bios, sizes{"preserve_ephemeral": true}, "raw", false, nil, false, "Root device '/dev/sda1' not found"},
	} {
		t.Run(name, func(t *testing.T) {
			files := serveFiles(t, map[string][]byte{"x.raw": images[c.format]})
			a := boot(t, agenttest.Config{DiskSize: 300 * mib})
			image := info(files, map[string]any{
				"checksum": digest(md5.Sum(images[c.format])), "disk_format": c.format, "image_type": "partition",
				"root_mb": 10, "swap_mb": 0, "ephemeral_mb": 0, "preserve_ephemeral": false,
			})
			for key, size := range c.sizes {
				image[key] = size
			}
			args := map[string]any{"image_info": image}
			if c.drive {
				args["configdrive"] = compressed(t, drive("content"))
			}
			params := map[string]any{"node": c.node, "step": map[string]any{"interface": "deploy", "step": "write_image", "args": args}}
			_, answer, err := a.command("deploy.execute_deploy_step", params, "true")
			require.NoError(t, err)
			if c.fails != "" {
				require.Equal(t, "FAILED", answer["command_status"])
				require.Contains(t, answer["command_error"].(map[string]any)["details"], c.fails)
				return
			}
			require.Equal(t, "SUCCEEDED", answer["command_status"], answer)
			partitions, err := a.machine.Partitions()
			require.NoError(t, err)
			var got []int64
			next := int64(mib)
			for _, p := range partitions {
				require.Equal(t, next, p.Start, "the partitions follow each other")
				got, next = append(got, p.Size/mib), p.Start+p.Size
			}
			require.Equal(t, c.want, got)
			root := read(t, a.machine, partitions[len(partitions)-1])
			require.True(t, bytes.Equal(content, root[:len(content)]), "the image is in the root partition")
			require.Len(t, bytes.TrimLeft(root[len(content):], "\x00"), 0)
			if c.drive {
				found, err := a.machine.ConfigDrive()
				require.NoError(t, err)
				require.Equal(t, drive("content"), found)
			}
			require.Equal(t, c.gpt, string(read(t, a.machine, agenttest.Partition{Start: 512, Size: 8})) == "EFI PART")
			_, answer, err = a.command("standby.get_partition_uuids", map[string]any{}, "true")
			require.NoError(t, err)
			uuids := answer["command_result"].(map[string]any)
			require.Equal(t, len(c.want) > 0 && c.want[0] == 200, uuids["efi system partition uuid"] != nil)
			_, answer, err = a.command("image.install_bootloader", map[string]any{"root_uuid": uuids["root uuid"]}, "true")
			require.NoError(t, err)
			require.Equal(t, "SUCCEEDED", answer["command_status"], answer)
			_, answer, err = a.command("image.install_bootloader", map[string]any{"root_uuid": "another"}, "true")
			require.NoError(t, err)
			require.Contains(t, answer["command_error"].(map[string]any)["details"], "No partition with UUID another found on device /dev/sda")
		})
	}
}

func TestPreserveEphemeralWritesTheRootPartitionOnly(t *testing.T) {
	image := bytes.Repeat([]byte("root"), mib/4)
	copy(image[1024+0x38:], "\x53\xef")
	binary.BigEndian.PutUint64(image[1024+0x68:], 0x0123456789abcdef)
	files := serveFiles(t, map[string][]byte{"x.raw": image})
	a := boot(t, agenttest.Config{DiskSize: 80 * mib})
	args := map[string]any{"checksum": digest(md5.Sum(image)), "image_type": "partition", "root_mb": 10, "swap_mb": 0,
		"ephemeral_mb": 4, "preserve_ephemeral": false}
	require.Equal(t, "SUCCEEDED", a.step("deploy", "write_image", map[string]any{"image_info": info(files, args)})["command_status"])
	before, err := a.machine.Partitions()
	require.NoError(t, err)
	disk, err := os.OpenFile(a.machine.Disk, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer disk.Close()
	_, err = disk.WriteAt([]byte("kept"), before[0].Start)
	require.NoError(t, err)
	_, err = disk.WriteAt([]byte("lost"), before[1].Start)
	require.NoError(t, err)
	args["preserve_ephemeral"] = true
	require.Equal(t, "SUCCEEDED", a.step("deploy", "write_image", map[string]any{"image_info": info(files, args)})["command_status"])
	after, err := a.machine.Partitions()
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Equal(t, "kept", string(read(t, a.machine, agenttest.Partition{Start: after[0].Start, Size: 4})))
	require.Equal(t, "root", string(read(t, a.machine, agenttest.Partition{Start: after[1].Start, Size: 4})))
	_, answer, err := a.command("standby.get_partition_uuids", map[string]any{}, "true")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(answer["command_result"].(map[string]any)["root uuid"].(string), "01234567-89ab-cdef-"),
		"the UUID of the file system")
}

func TestAPartitionOfAnInvalidTableHasTheDisksIdentifier(t *testing.T) {
	table := make([]byte, 80*mib)
	copy(table[440:], "\x01\x02\x03\x04")
	table[446+4], table[510], table[511] = 0xee, 0x55, 0xaa
	copy(table[512:], "EFI PART")
	binary.LittleEndian.PutUint64(table[512+72:], 2)
	binary.LittleEndian.PutUint32(table[512+80:], 1)
	binary.LittleEndian.PutUint32(table[512+84:], 128)
	table[1024] = 1                                     // a type
	binary.LittleEndian.PutUint64(table[1024+32:], 1)   // the partition begins with the table, which the image overwrites
	binary.LittleEndian.PutUint64(table[1024+40:], 100) // its last sector
	path := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.WriteFile(path, table, 0o600))
	image := bytes.Repeat([]byte("root"), 4096)
	a := boot(t, agenttest.Config{Disk: path})
	args := map[string]any{"checksum": digest(md5.Sum(image)), "image_type": "partition", "root_mb": 10, "swap_mb": 0,
		"ephemeral_mb": 0, "preserve_ephemeral": true}
	answer := a.step("deploy", "write_image", map[string]any{"image_info": info(serveFiles(t, map[string][]byte{"x.raw": image}), args)})
	require.Equal(t, "SUCCEEDED", answer["command_status"], answer)
	_, answer, err := a.command("standby.get_partition_uuids", map[string]any{}, "true")
	require.NoError(t, err)
	require.Equal(t, "04030201-00", answer["command_result"].(map[string]any)["root uuid"])
}
