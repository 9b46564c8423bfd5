// SPDX-License-Identifier: Apache-2.0

package agenttest_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
)

const mib = 1 << 20

func digest[T [16]byte | [32]byte | [64]byte](sum T) string { return fmt.Sprintf("%x", sum) }

// info returns an image_info.
func info(url string, with map[string]any) map[string]any {
	image := map[string]any{"id": "x.raw", "urls": []string{url + "/x.raw"}, "disk_format": "raw", "stream_raw_images": true}
	for key, value := range with {
		if value == nil {
			delete(image, key)
		} else {
			image[key] = value
		}
	}
	return image
}

func TestWriteImageVerifiesTheChecksumAndWritesTheDisk(t *testing.T) {
	image := agenttest.Image(3*mib, 1)
	m, s, l := digest(md5.Sum(image)), digest(sha256.Sum256(image)), digest(sha512.Sum512(image))
	files := serveFiles(t, map[string][]byte{
		"x.raw": image, "only": []byte(s + "\n"), "sums": []byte(l + "  other.raw\n" + s + " *x.raw\n"), "without": []byte(s + "  other.raw\n"),
	})
	wrong := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		with  map[string]any
		fails string // a part of the error's details, "" for success
	}{
		"md5":                      {map[string]any{"checksum": m}, ""},
		"sha256":                   {map[string]any{"os_hash_algo": "sha256", "os_hash_value": s}, ""},
		"sha512":                   {map[string]any{"os_hash_algo": "sha512", "os_hash_value": l}, ""},
		"checksum of its length":   {map[string]any{"checksum": l}, ""},
		"URL of a checksum":        {map[string]any{"checksum": files + "/only"}, ""},
		"URL of a hash":            {map[string]any{"os_hash_algo": "sha256", "os_hash_value": files + "/only"}, ""},
		"URL of several checksums": {map[string]any{"checksum": files + "/sums"}, ""},
		"hash before checksum":     {map[string]any{"checksum": "0", "os_hash_algo": "sha256", "os_hash_value": s}, ""},

		"raw, not streamed": {map[string]any{"checksum": m, "stream_raw_images": false}, ""},
		"unknown format":    {map[string]any{"checksum": m, "disk_format": nil}, ""},

		"other image": {map[string]any{"os_hash_algo": "sha256", "os_hash_value": wrong},
			"image ID: /dev/sda; image checksum: " + wrong + "; verification checksum: " + s},
		"no checksum":           {nil, "Image checksum is not available"},
		"unknown algorithm":     {map[string]any{"os_hash_algo": "crc32", "os_hash_value": "1"}, "(currently crc32)"},
		"checksums without it":  {map[string]any{"checksum": files + "/without"}, "Checksum file does not contain name x.raw"},
		"checksums missing":     {map[string]any{"checksum": files + "/none"}, "status code 404"},
		"image missing":         {map[string]any{"checksum": m, "urls": []string{files + "/none"}}, "Download of image x.raw failed"},
		"server missing":        {map[string]any{"checksum": m, "urls": []string{"http://127.0.0.1:1/x.raw"}}, "connection refused"},
		"no URL":                {map[string]any{"checksum": m, "urls": []string{}}, "at least one element"},
		"no ID":                 {map[string]any{"checksum": m, "id": nil}, "missing 'id'"},
		"other format":          {map[string]any{"checksum": m, "disk_format": "qcow2"}, "Expected format was qcow2, but image was actually raw"},
		"type of an image_info": {map[string]any{"checksum": 5}, "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			a := boot(t, agenttest.Config{})
			answer := a.step("deploy", "write_image", map[string]any{"image_info": info(files, c.with)})
			written := make([]byte, len(image)+mib)
			disk, err := os.Open(a.machine.Disk)
			require.NoError(t, err)
			defer disk.Close()
			_, err = io.ReadFull(disk, written)
			require.NoError(t, err)
			if c.fails != "" {
				require.Equal(t, "FAILED", answer["command_status"])
				require.Nil(t, answer["command_result"])
				require.Contains(t, answer["command_error"].(map[string]any)["details"], c.fails)
				return
			}
			require.Equal(t, "SUCCEEDED", answer["command_status"], answer)
			require.True(t, bytes.Equal(image, written[:len(image)]))
			require.Len(t, bytes.TrimLeft(written[len(image):], "\x00"), 0)
			require.Equal(t, int64(len(image)), a.machine.Written())
		})
	}
}

func TestWriteImageRefusesWhatNoMachineBoots(t *testing.T) {
	large := agenttest.Image(81*mib, 1)
	for name, c := range map[string]struct {
		image []byte
		fails string
	}{
		"no partition table": {make([]byte, mib), "Unable to find a valid partition table on the disk after writing the image"},
		"no partition":       {append(make([]byte, 510), 0x55, 0xaa), "No partitions found on the device /dev/sda"},
		"larger than disk":   {large, "No space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			files := serveFiles(t, map[string][]byte{"x.raw": c.image})
			a := boot(t, agenttest.Config{DiskSize: 80 * mib})
			answer := a.step("deploy", "write_image",
				map[string]any{"image_info": info(files, map[string]any{"checksum": digest(md5.Sum(c.image))})})
			require.Equal(t, "FAILED", answer["command_status"])
			require.Contains(t, answer["command_error"].(map[string]any)["details"], c.fails)
		})
	}
}

// gptImage returns an image of 4 MiB with a GUID partition table, which has one partition, and its second copy.
func gptImage() []byte {
	image := agenttest.Image(4*mib, 2)
	image[446+4] = 0xee
	last := uint64(len(image)/512 - 1)
	entries := make([]byte, 128*128)
	copy(entries, "type of the part")
	binary.LittleEndian.PutUint64(entries[32:], 2048)
	binary.LittleEndian.PutUint64(entries[40:], last-40)
	header := image[512:1024]
	clear(image[512 : 34*512])
	copy(header, "EFI PART\x00\x00\x01\x00\x5c\x00\x00\x00")
	for at, value := range map[int]uint64{24: 1, 32: last, 40: 34, 48: last - 33, 72: 2} {
		binary.LittleEndian.PutUint64(header[at:], value)
	}
	binary.LittleEndian.PutUint32(header[80:], 128)
	binary.LittleEndian.PutUint32(header[84:], 128)
	binary.LittleEndian.PutUint32(header[88:], crc32.ChecksumIEEE(entries))
	binary.LittleEndian.PutUint32(header[16:], crc32.ChecksumIEEE(header[:92]))
	copy(image[1024:], entries)
	return image
}

func TestConfigDriveIsInAPartitionAtTheEndOfTheDisk(t *testing.T) {
	content := drive("meta data and user data")
	full := agenttest.Image(4*mib, 3)
	for i := 1; i < 4; i++ {
		copy(full[446+16*i:], full[446:462])
	}
	labelled := agenttest.Image(4*mib, 4)
	copy(labelled[mib+0x36:], "FAT16")
	copy(labelled[mib+0x2b:], "CONFIG-2   ")
	toEnd := agenttest.Image(80*mib, 5)
	files := serveFiles(t, map[string][]byte{"encoded": []byte(compressed(t, content)), "plain": content})
	for name, c := range map[string]struct {
		image []byte
		drive string
		fails string
	}{
		"in base64":                {agenttest.Image(4*mib, 2), compressed(t, content), ""},
		"URL of base64":            {agenttest.Image(4*mib, 2), files + "/encoded", ""},
		"URL of the content":       {agenttest.Image(4*mib, 2), files + "/plain", ""},
		"GUID partition table":     {gptImage(), compressed(t, content), ""},
		"partition with the label": {labelled, compressed(t, content), ""},
		"not encoded":              {agenttest.Image(4*mib, 2), "{}", "is not base64 encoded or the content is malformed"},
		"not compressed": {agenttest.Image(4*mib, 2), base64.StdEncoding.EncodeToString(content),
			"is not base64 encoded or the content is malformed"},
		"URL of nothing": {agenttest.Image(4*mib, 2), files + "/none", "Can't download the configdrive content"},
		"more than 64 MiB": {agenttest.Image(4*mib, 2), compressed(t, make([]byte, 64*mib+1)),
			"Config drive size exceeds maximum limit of 64MiB"},
		"four partitions":             {full, compressed(t, content), "already has 4 primary partitions"},
		"partition at the disk's end": {toEnd, compressed(t, content), "the disk has no free space at its end"},
		"larger than labelled":        {labelled, compressed(t, bytes.Repeat([]byte("x"), 5*mib)), "the partition has 3145728 bytes"},
		"invalid GUID partition table": {append(slices.Clone(gptImage()[:512]), make([]byte, 2*mib)...), compressed(t, content),
			"Unable to find a valid partition table"},
	} {
		t.Run(name, func(t *testing.T) {
			images := serveFiles(t, map[string][]byte{"x.raw": c.image})
			a := boot(t, agenttest.Config{DiskSize: 80 * mib})
			answer := a.step("deploy", "write_image", map[string]any{
				"image_info": info(images, map[string]any{"checksum": digest(md5.Sum(c.image))}), "configdrive": c.drive,
			})
			got, err := a.machine.ConfigDrive()
			if c.fails != "" {
				require.Equal(t, "FAILED", answer["command_status"])
				require.Contains(t, answer["command_error"].(map[string]any)["details"], c.fails)
				return
			}
			require.Equal(t, "SUCCEEDED", answer["command_status"], answer)
			require.NoError(t, err)
			if !bytes.Equal(c.image, labelled) {
				require.True(t, bytes.Equal(content, got))
			}
			require.True(t, bytes.HasPrefix(got, content))
		})
	}
}

// Both copies of the table describe both partitions, and their checksums are right.
func TestGUIDPartitionTableIsValidAfterwards(t *testing.T) {
	image := gptImage()
	images := serveFiles(t, map[string][]byte{"x.raw": image})
	a := boot(t, agenttest.Config{DiskSize: 80 * mib})
	answer := a.step("deploy", "write_image", map[string]any{
		"image_info": info(images, map[string]any{"checksum": digest(md5.Sum(image)), "configdrive": compressed(t, drive("content"))}),
	})
	require.Equal(t, "SUCCEEDED", answer["command_status"], answer)
	disk, err := os.ReadFile(a.machine.Disk)
	require.NoError(t, err)
	last := uint64(len(disk)/512 - 1)
	for at, other := range map[uint64]uint64{1: last, last: 1} {
		header := slices.Clone(disk[at*512:][:92])
		number := func(at int) uint64 { return binary.LittleEndian.Uint64(header[at:]) }
		require.Equal(t, "EFI PART", string(header[:8]))
		require.Equal(t, []uint64{at, other, last - 33}, []uint64{number(24), number(32), number(48)})
		entries := disk[number(72)*512:][:128*128]
		require.Equal(t, crc32.ChecksumIEEE(entries), binary.LittleEndian.Uint32(header[88:]))
		sum := binary.LittleEndian.Uint32(header[16:])
		clear(header[16:20])
		require.Equal(t, crc32.ChecksumIEEE(header), sum)
		first, end := binary.LittleEndian.Uint64(entries[128+32:]), binary.LittleEndian.Uint64(entries[128+40:])
		require.Zero(t, first%2048)
		require.LessOrEqual(t, end, last-34)
		require.GreaterOrEqual(t, (end-first+1)*512, uint64(64*mib))
		require.Equal(t, uint64(2048), binary.LittleEndian.Uint64(entries[32:]))
	}
	require.Equal(t, uint32(last), binary.LittleEndian.Uint32(disk[446+12:]))
}

// Some images have a boot loader at sector 2 and the entries behind it, larger entries, or a hybrid master boot record.
func TestTheImagesGUIDPartitionTableKeepsItsLayout(t *testing.T) {
	const at, number, size = 1024, 64, 256
	image := gptImage()
	entries := make([]byte, number*size)
	copy(entries, image[1024:][:128])
	copy(image[1024:], bytes.Repeat([]byte("loader"), 32*512/6))
	copy(image[at*512:], entries)
	header, hybrid := image[512:1024], image[446+16:446+32]
	binary.LittleEndian.PutUint64(header[72:], at)
	binary.LittleEndian.PutUint32(header[80:], number)
	binary.LittleEndian.PutUint32(header[84:], size)
	hybrid[4] = 0x0c
	binary.LittleEndian.PutUint32(hybrid[8:], 2048)
	binary.LittleEndian.PutUint32(hybrid[12:], 1000)

	a := boot(t, agenttest.Config{DiskSize: 80 * mib})
	answer := a.step("deploy", "write_image", map[string]any{
		"image_info":  info(serveFiles(t, map[string][]byte{"x.raw": image}), map[string]any{"checksum": digest(md5.Sum(image))}),
		"configdrive": compressed(t, drive("content")),
	})
	require.Equal(t, "SUCCEEDED", answer["command_status"], answer)
	disk, err := os.ReadFile(a.machine.Disk)
	require.NoError(t, err)
	last := uint64(len(disk)/512 - 1)
	require.Equal(t, uint32(last), binary.LittleEndian.Uint32(disk[446+12:]), "the size of the protected part")
	require.Equal(t, image[446+16:512], disk[446+16:512], "the rest of the master boot record")
	require.True(t, bytes.Equal(image[1024:at*512], disk[1024:at*512]), "the boot loader")
	for _, copied := range []struct{ header, entries uint64 }{{1, at}, {last, last - number*size/512}} {
		header := disk[copied.header*512:][:512]
		require.Equal(t, copied.entries, binary.LittleEndian.Uint64(header[72:]))
		require.Equal(t, image[512+80:512+88], header[80:88], "the number and the size of the entries")
		written := disk[copied.entries*512:][:number*size]
		require.Equal(t, crc32.ChecksumIEEE(written), binary.LittleEndian.Uint32(header[88:]))
		require.Equal(t, entries[:size], written[:size], "the image's partition")
		require.NotZero(t, written[size], "the config drive's partition")
		require.Zero(t, written[2*size])
	}
}

func TestEraseLeavesNothingToBoot(t *testing.T) {
	image := agenttest.Image(4*mib, 1)
	for name, c := range map[string]struct{ kept bool }{
		"erase_devices": {false}, "erase_devices_metadata": {true}, "erase_devices_express": {true},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/disk"
			require.NoError(t, os.WriteFile(path, append(slices.Clone(image), make([]byte, 76*mib)...), 0o600))
			a := boot(t, agenttest.Config{Disk: path})
			status, _, err := a.command("image.install_bootloader", map[string]any{}, "true")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, "SUCCEEDED", a.step("clean", name, nil)["command_status"])
			disk, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Len(t, disk, 80*mib)
			require.Zero(t, bytes.Count(disk[:34*512], []byte{1}))
			require.Equal(t, c.kept, bytes.Equal(image[2*mib:], disk[2*mib:4*mib]))
			_, answer, err := a.command("image.install_bootloader", map[string]any{}, "true")
			require.NoError(t, err)
			require.Equal(t, "FAILED", answer["command_status"])
			_, err = a.machine.ConfigDrive()
			require.ErrorContains(t, err, "unrecognised disk label")
		})
	}
}

func TestRootDeviceHintsSelectTheDisk(t *testing.T) {
	image := agenttest.Image(4*mib, 1)
	files := serveFiles(t, map[string][]byte{"x.raw": image})
	a := boot(t, agenttest.Config{DiskSize: 20 << 30})
	for hint, matches := range map[[2]string]bool{
		{"name", "s== /dev/sda"}:  true,
		{"name", "s== /dev/sdb"}:  false,
		{"serial", "s== sim0001"}: true,
		{"model", "<in> disk"}:    true,
		{"vendor", "<in> Other"}:  false,
		{"size", ">= 10"}:         true,
		{"size", ">= 40"}:         false,
		{"size", "20"}:            true,
		{"rotational", "true"}:    false,
		{"rotational", "false"}:   true,
		{"hctl", "s== 1:0:0:0"}:   false,
	} {
		params := map[string]any{
			"node": map[string]any{"instance_info": map[string]any{"root_device": map[string]any{hint[0]: hint[1]}}},
			"step": map[string]any{"step": "write_image",
				"args": map[string]any{"image_info": info(files, map[string]any{"checksum": digest(md5.Sum(image))})}},
		}
		_, answer, err := a.command("deploy.execute_deploy_step", params, "true")
		require.NoError(t, err)
		require.Equal(t, matches, answer["command_status"] == "SUCCEEDED", "%v: %v", hint, answer)
	}
}
