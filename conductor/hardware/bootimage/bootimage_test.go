// SPDX-License-Identifier: Apache-2.0

package bootimage_test

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	diskfile "github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/internal/needs"
)

// files are the contents of the files of a test's image.
var files = map[string][]byte{
	"kernel": bytes.Repeat([]byte("kernel "), 10_000), "ramdisk": bytes.Repeat([]byte("ramdisk"), 100_001),
	"esp": bytes.Repeat([]byte{0xeb, 0x3c, 0x90}, 4096), "isolinux": bytes.Repeat([]byte("isolinux"), 4096), "ldlinux": []byte("c32"),
}

// write writes files into a folder and returns an image of them.
func write(t *testing.T) bootimage.Image {
	t.Helper()
	folder := t.TempDir()
	path := map[string]string{}
	for name, content := range files {
		path[name] = filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path[name], content, 0o600))
	}
	return bootimage.Image{
		Kernel: path["kernel"], Ramdisk: path["ramdisk"], ESP: path["esp"], Isolinux: path["isolinux"], Ldlinux: path["ldlinux"],
		Parameters: []string{"ipa-api-url=https://192.0.2.1:6385", "quiet", `sshkey="ssh-ed25519 AAAA me"`, "odd=$x;{`y`}"},
		Publisher:  "2f1e1a4c-6f5e-4b62-bb0d-1bcd3bd7f0c5", NetworkData: []byte(`{"links": []}`),
	}
}

// build writes an image and returns the path of its file.
func build(t *testing.T, i bootimage.Image) string {
	t.Helper()
	temporary := t.TempDir()
	file, err := os.Create(filepath.Join(t.TempDir(), "boot.iso"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, i.Write(file, temporary))
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
	return file.Name()
}

// read reads an image with go-diskfs. The label is without its padding.
func read(t *testing.T, path string) (label string, contents map[string]string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	system, err := iso9660.Read(diskfile.New(file, true), 0, 0, 0)
	require.NoError(t, err)
	contents = map[string]string{}
	require.NoError(t, fs.WalkDir(system, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(system, path)
		contents[path] = string(content)
		return err
	}))
	return strings.TrimRight(system.Label(), " "), contents
}

// SECURITY.md: No file is held in memory while it is downloaded or built into an image.
func TestTheFilesOfAnImageAreNotHeldInMemory(t *testing.T) {
	const size = 32 << 20
	i := write(t)
	require.NoError(t, os.Truncate(i.Ramdisk, size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	path := build(t, i)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/8))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(size))
}

const grubConfig = `set default=0
set timeout=1

menuentry "ramdisk" {
	linux /vmlinuz 'ipa-api-url=https://192.0.2.1:6385' 'quiet' 'sshkey=ssh-ed25519 AAAA me' 'odd=$x;{` + "`y`" + `}'
	initrd /initrd
}
`

const isolinuxConfig = `default ramdisk

label ramdisk
kernel /vmlinuz
append initrd=/initrd ipa-api-url=https://192.0.2.1:6385 quiet sshkey="ssh-ed25519 AAAA me" odd=$x;{` + "`y`" + `}
`

func TestAnImageHasKernelRamdiskLoadersAndParameters(t *testing.T) {
	i := write(t)
	label, contents := read(t, build(t, i))
	require.Equal(t, "config-2", label)
	require.Equal(t, string(files["isolinux"][64:]), contents["isolinux/isolinux.bin"][64:],
		"the boot information table is in its first 64 bytes")
	delete(contents, "isolinux/isolinux.bin")
	require.Equal(t, map[string]string{
		"vmlinuz": string(files["kernel"]), "initrd": string(files["ramdisk"]), "boot/grub/efiboot.img": string(files["esp"]),
		"EFI/BOOT/grub.cfg": grubConfig, "isolinux/isolinux.cfg": isolinuxConfig, "isolinux/ldlinux.c32": string(files["ldlinux"]),
		"openstack/latest/network_data.json": `{"links": []}`,
	}, contents)
	for path, content := range map[string][]byte{i.Kernel: files["kernel"], i.Ramdisk: files["ramdisk"]} {
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, now, "the source stays")
	}
}

func TestASymbolicLinkIsFollowed(t *testing.T) {
	i := write(t)
	link := filepath.Join(t.TempDir(), "kernel")
	require.NoError(t, os.Symlink(i.Kernel, link))
	i.Kernel = link
	_, contents := read(t, build(t, i))
	require.Equal(t, string(files["kernel"]), contents["vmlinuz"])
}

func TestThePublisherMayFillItsField(t *testing.T) {
	i := write(t)
	i.Publisher = strings.Repeat("p", 128)
	image, err := os.ReadFile(build(t, i))
	require.NoError(t, err)
	require.Equal(t, i.Publisher, string(image[32768+318:32768+446]), "the publisher identifier of ISO 9660")
}

func TestAnImageForUEFIAlone(t *testing.T) {
	i := write(t)
	i.Isolinux, i.Ldlinux, i.NetworkData, i.GRUBConfig = "", "", nil, "/boot/grub/grub.cfg"
	label, contents := read(t, build(t, i))
	require.Equal(t, "VMEDIA_BOOT_ISO", label)
	require.Len(t, contents, 4)
	require.Equal(t, grubConfig, contents["boot/grub/grub.cfg"])
}

// The catalog is read by its specification (El Torito 1.0), as firmware does.
func TestTheBootCatalogNamesBothLoaders(t *testing.T) {
	image, err := os.ReadFile(build(t, write(t)))
	require.NoError(t, err)
	const sector = 2048
	record := image[17*sector:]
	require.Equal(t, "\x00CD001\x01EL TORITO SPECIFICATION", string(record[:30]))
	catalog := image[sector*int(binary.LittleEndian.Uint32(record[0x47:])):]
	require.Equal(t, []byte{0x55, 0xaa}, catalog[30:32])
	loader := func(entry []byte, size int) string {
		require.Equal(t, byte(0x88), entry[0], "bootable")
		require.Zero(t, entry[1], "without emulation")
		at := sector * int(binary.LittleEndian.Uint32(entry[8:]))
		return string(image[at : at+size])
	}
	require.Equal(t, byte(0), catalog[1], "the first entry is for BIOS")
	require.Equal(t, uint16(4), binary.LittleEndian.Uint16(catalog[32+6:]))
	require.Equal(t, string(files["isolinux"][64:]), loader(catalog[32:], len(files["isolinux"]))[64:])
	require.Equal(t, []byte{0x91, 0xef}, catalog[64:66], "the last section is for UEFI")
	require.Equal(t, uint16(len(files["esp"])/512), binary.LittleEndian.Uint16(catalog[96+6:]))
	require.Equal(t, string(files["esp"]), loader(catalog[96:], len(files["esp"])))
}

func TestAnotherProgramReadsTheImage(t *testing.T) {
	needs.Programs(t, "isoinfo")
	path := build(t, write(t))
	isoinfo := func(args ...string) string {
		output, err := exec.CommandContext(t.Context(), "isoinfo", append(args, "-i", path)...).CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	described := isoinfo("-d")
	require.Contains(t, described, "\nVolume id: config-2")
	require.Contains(t, described, "\nPublisher id: 2f1e1a4c-6f5e-4b62-bb0d-1bcd3bd7f0c5")
	require.Contains(t, described, "Rock Ridge signatures version 1 found")
	require.Contains(t, described, "Eltorito validation header:")
	require.Equal(t, string(files["ramdisk"]), isoinfo("-R", "-x", "/initrd"))
	require.Equal(t, grubConfig, isoinfo("-R", "-x", "/EFI/BOOT/grub.cfg"))
	require.Equal(t, `{"links": []}`, isoinfo("-R", "-x", "/openstack/latest/network_data.json"))
}

func TestAnImageThatCannotBootIsRefused(t *testing.T) {
	for want, change := range map[string]func(*bootimage.Image){
		"it needs a kernel and a ramdisk":                     func(i *bootimage.Image) { i.Kernel = "" },
		"it needs a boot loader":                              func(i *bootimage.Image) { i.ESP, i.Isolinux = "", "" },
		"no such file":                                        func(i *bootimage.Image) { i.Ramdisk += "x" },
		"a file with content, and all files together smaller": func(i *bootimage.Image) { i.ESP, i.Isolinux = "", filepath.Dir(i.Isolinux) },
		"must be a file with content":                         func(i *bootimage.Image) { i.Ramdisk = filepath.Dir(i.Ramdisk) },
		"kernel must be a file with content, and all files": func(i *bootimage.Image) {
			require.NoError(t, os.Truncate(i.Kernel, bootimage.MaxSize))
		},
		"the publisher has more than 128 characters":         func(i *bootimage.Image) { i.Publisher = strings.Repeat("p", 129) },
		"which a boot loader's configuration cannot express": func(i *bootimage.Image) { i.Parameters = []string{"a=b\ninitrd /other"} },
		"kernel parameters of 1901 bytes: at most 1900 are": func(i *bootimage.Image) {
			i.Parameters = []string{strings.Repeat("a", 1901)}
		},
		"kernel parameters with a double quote that is not close": func(i *bootimage.Image) { i.Parameters = []string{`a="b`} },
	} {
		i := write(t)
		change(&i)
		file, err := os.Create(filepath.Join(t.TempDir(), "boot.iso"))
		require.NoError(t, err)
		defer file.Close()
		require.ErrorContains(t, i.Write(file, t.TempDir()), want)
		info, err := file.Stat()
		require.NoError(t, err)
		require.Zero(t, info.Size())
	}
}

func TestAFailedWriteIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "boot.iso")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	file, err := os.Open(path) // for reading only
	require.NoError(t, err)
	defer file.Close()
	temporary := t.TempDir()
	require.ErrorContains(t, write(t).Write(file, temporary), "build a boot image: ")
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestKernelParametersAreSplitAtSpaces(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                    {},
		`a=b  c="d e" f`:                      {"a=b", `c="d e"`, "f"},
		`"a b"=c`:                             {`"a b"=c`},
		"a~b !":                               {"a~b", "!"},
		strings.Repeat("a", 1898) + " " + "b": {strings.Repeat("a", 1898), "b"},
	} {
		got, err := bootimage.ParseParameters(line)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, line := range []string{"a\x1f", "a\x7f", "ä", "it's", `a\b`, `a"`, strings.Repeat("a", 1901)} {
		_, err := bootimage.ParseParameters(line)
		require.Error(t, err, line)
	}
}

func TestNoFileOfAnImageStaysAfterItsBuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "boot.iso")
	for name, c := range map[string]struct {
		mode   int // of the image's file
		change func(*bootimage.Image)
		want   string // part of the error, empty for none
	}{
		"success":                             {os.O_RDWR, func(*bootimage.Image) {}, ""},
		"an image that cannot be written":     {os.O_RDONLY, func(*bootimage.Image) {}, "build a boot image: "},
		"a file that cannot be put beside it": {os.O_RDWR, func(i *bootimage.Image) { i.GRUBConfig = "vmlinuz/grub.cfg" }, "not a directory"},
		"a file that leads out of the folder": {os.O_RDWR, func(i *bootimage.Image) { i.GRUBConfig = "../grub.cfg" }, "path escapes"},
		"a path that is too long for a folder": {os.O_RDWR, func(i *bootimage.Image) { i.GRUBConfig = strings.Repeat("g", 300) },
			"name too long"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			file, err := os.OpenFile(path, c.mode, 0)
			require.NoError(t, err)
			defer file.Close()
			i, temporary := write(t), t.TempDir()
			c.change(&i)
			err = i.Write(file, temporary)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			left, err := os.ReadDir(temporary)
			require.NoError(t, err)
			require.Empty(t, left, "the kernel, the ramdisk, and the configuration with the agent's token")
		})
	}
}

func FuzzParseParameters(f *testing.F) {
	f.Add(`a=b  c="d e" f`)
	f.Add("a\n}")
	f.Fuzz(func(t *testing.T, line string) {
		parameters, err := bootimage.ParseParameters(line)
		if err != nil {
			return
		}
		again, err := bootimage.ParseParameters(strings.Join(parameters, " "))
		require.NoError(t, err)
		require.Equal(t, parameters, again)
		for _, p := range parameters {
			require.NotContains(t, p, "\n")
			require.NotContains(t, p, "'")
		}
	})
}
