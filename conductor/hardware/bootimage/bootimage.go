// SPDX-License-Identifier: Apache-2.0

// Package bootimage builds ISO 9660 images from which machines boot a kernel and a ramdisk over virtual
// media, with UEFI and BIOS:
//
//	file, err := os.Create("boot.iso")
//	...
//	err = bootimage.Image{
//		Kernel: "ipa.kernel", Ramdisk: "ipa.initramfs", ESP: "esp.img",
//		Parameters: []string{"ipa-api-url=http://192.0.2.1:6385", "boot_method=vmedia"},
//	}.Write(file, os.TempDir())
//
// No program is run: github.com/diskfs/go-diskfs writes the file system.
package bootimage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/diskfs/go-diskfs/backend"
	diskfile "github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// MaxSize is the maximum size of all files of an image together, in bytes.
const MaxSize = 4 << 30

// Image describes an image. The fields that name files are paths.
type Image struct {
	// Kernel and Ramdisk are the files to boot. They are required.
	Kernel, Ramdisk string
	// ESP is the file of an EFI system partition with a boot loader that reads GRUB's
	// configuration from GRUBConfig in the image. UEFI machines need it.
	ESP string
	// GRUBConfig is where GRUB's configuration is in the image; "" stands for
	// EFI/BOOT/grub.cfg ([DEFAULT]grub_config_path).
	GRUBConfig string
	// Isolinux is the file isolinux.bin of Syslinux, and Ldlinux the file ldlinux.c32 of the
	// same version. Isolinux before version 5 needs no Ldlinux. BIOS machines need them.
	Isolinux, Ldlinux string
	// Parameters are the kernel parameters, as [ParseParameters] returns them.
	Parameters []string
	// Publisher is the publisher identifier, by which a ramdisk recognizes its image; "" for
	// none.
	Publisher string
	// NetworkData is the content of openstack/latest/network_data.json; nil for none.
	NetworkData []byte
}

// The paths of files in an image.
//
// Source: create_esp_image_for_uefi and create_isolinux_image_for_bios in ironic/common/images.py.
const (
	kernelPath      = "vmlinuz"
	ramdiskPath     = "initrd"
	espPath         = "boot/grub/efiboot.img"
	grubPath        = "EFI/BOOT/grub.cfg"
	isolinuxPath    = "isolinux/isolinux.bin"
	ldlinuxPath     = "isolinux/ldlinux.c32"
	isolinuxConfig  = "isolinux/isolinux.cfg"
	networkDataPath = "openstack/latest/network_data.json"
)

// Write writes the image to an empty file. It needs a temporary folder, in which it links or copies the
// files of the image, and removes them again.
func (i Image) Write(to *os.File, temporary string) error {
	if err := i.check(); err != nil {
		return fmt.Errorf("build a boot image: %w", err)
	}
	folder, err := os.MkdirTemp(temporary, "boot-image-")
	if err != nil {
		return fmt.Errorf("build a boot image: %w", err)
	}
	defer os.RemoveAll(folder)
	if err := i.collect(folder); err != nil {
		return fmt.Errorf("build a boot image: %w", err)
	}
	if err := write(to, folder, i.label(), i.Publisher, i.boot()); err != nil {
		return fmt.Errorf("build a boot image: %w", err)
	}
	return nil
}

// write writes the image of a folder to an empty file.
func write(to *os.File, folder, label, publisher string, boot *iso9660.ElTorito) error {
	disk := &checkedDisk{Storage: diskfile.New(to, false)}
	system, err := iso9660.Create(disk, 0, 0, 0, folder)
	if err == nil {
		err = system.Finalize(iso9660.FinalizeOptions{
			RockRidge: true, ElTorito: boot,
			VolumeIdentifier: fmt.Sprintf("%-32s", label), PublisherIdentifier: fmt.Sprintf("%-128s", publisher),
		})
	}
	return errors.Join(err, disk.err)
}

func (i Image) check() error {
	switch {
	case i.Kernel == "" || i.Ramdisk == "":
		return errors.New("it needs a kernel and a ramdisk")
	case i.ESP == "" && i.Isolinux == "":
		return errors.New("it needs a boot loader: an EFI system partition or isolinux")
	case len(i.Publisher) > 128:
		return errors.New("the publisher has more than 128 characters")
	}
	var size int64
	for _, path := range []string{i.Kernel, i.Ramdisk, i.ESP, i.Isolinux, i.Ldlinux} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if size += info.Size(); !info.Mode().IsRegular() || info.Size() == 0 || size >= MaxSize {
			return fmt.Errorf("%s must be a file with content, and all files together smaller than %d bytes", filepath.Base(path), int64(MaxSize))
		}
	}
	_, err := ParseParameters(strings.Join(i.Parameters, " "))
	return err
}

// configLabel is the volume label of a configuration drive.
const configLabel = "config-2"

// label returns the volume label. With network data it is the label of a configuration
// drive, where the ramdisk looks for them.
//
// Source: _label in ironic/common/images.py.
func (i Image) label() string {
	if i.NetworkData != nil {
		return configLabel
	}
	return "VMEDIA_BOOT_ISO"
}

// collect puts the files of the image into a folder.
func (i Image) collect(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	var failed error
	add := func(path string, put func(string) error) {
		if failed == nil {
			failed = errors.Join(root.MkdirAll(filepath.Dir(path), 0o755), put(path))
		}
	}
	file := func(path, from string) {
		add(path, func(path string) error { return linkOrCopy(root, path, from) })
	}
	text := func(path string, content []byte) {
		add(path, func(path string) error { return root.WriteFile(path, content, 0o644) })
	}
	file(kernelPath, i.Kernel)
	file(ramdiskPath, i.Ramdisk)
	if i.ESP != "" {
		file(espPath, i.ESP)
		text(i.grubConfig(), grub(i.Parameters))
	}
	if i.Isolinux != "" {
		file(isolinuxPath, i.Isolinux)
		text(isolinuxConfig, isolinux(i.Parameters))
		if i.Ldlinux != "" {
			file(ldlinuxPath, i.Ldlinux)
		}
	}
	if i.NetworkData != nil {
		text(networkDataPath, i.NetworkData)
	}
	return failed
}

func (i Image) grubConfig() string {
	if i.GRUBConfig != "" {
		return strings.TrimLeft(i.GRUBConfig, "/")
	}
	return grubPath
}

// boot returns the boot catalog (El Torito). The loader of BIOS machines is first, since a catalog's
// first entry is for them.
func (i Image) boot() *iso9660.ElTorito {
	catalog := &iso9660.ElTorito{BootCatalog: "boot.catalog", HideBootCatalog: true}
	if i.Isolinux != "" {
		catalog.Entries = append(catalog.Entries, &iso9660.ElToritoEntry{Platform: iso9660.BIOS, BootFile: isolinuxPath, BootTable: true})
	}
	if i.ESP != "" {
		catalog.Entries = append(catalog.Entries, &iso9660.ElToritoEntry{Platform: iso9660.EFI, BootFile: espPath})
	}
	return catalog
}

// linkOrCopy puts a file into a folder. A file of another file system is copied.
func linkOrCopy(root *os.Root, path, from string) error {
	info, err := os.Lstat(from) // a link of a symbolic link would be one
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && os.Link(from, filepath.Join(root.Name(), path)) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := root.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, io.LimitReader(source, MaxSize))
	return errors.Join(err, target.Close())
}

// checkedDisk keeps the first error of a write: go-diskfs ignores the errors of folders and descriptors.
type checkedDisk struct {
	backend.Storage
	err error
}

func (d *checkedDisk) Writable() (backend.WritableFile, error) {
	file, err := d.Storage.Writable()
	return checkedFile{file, d}, err
}

type checkedFile struct {
	backend.WritableFile
	disk *checkedDisk
}

func (f checkedFile) WriteAt(p []byte, offset int64) (int, error) {
	n, err := f.WritableFile.WriteAt(p, offset)
	if f.disk.err == nil {
		f.disk.err = err
	}
	return n, err
}
