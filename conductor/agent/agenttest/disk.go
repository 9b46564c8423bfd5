// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// minDisk is the size in bytes of the smallest disk. It has room for a config drive's partition and another one.
const minDisk = 80 << 20

// sector is the size of a sector in bytes.
const sector = 512

// metadataSectors is the number of sectors at each end of the disk that hold a partition table.
const metadataSectors = 34

// makeDisk returns the path of a disk, and makes the file if there is none.
func makeDisk(path string, size int64) (string, error) {
	if path == "" {
		file, err := os.CreateTemp("", "agenttest-*.disk")
		if err != nil {
			return "", err
		}
		err = errors.Join(file.Truncate(size), file.Close())
		return file.Name(), err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	return path, errors.Join(file.Truncate(size), file.Close())
}

// disk is the opened disk of a machine.
type disk struct {
	file *os.File
	size int64
}

// change opens the disk and changes it, unless the context has ended. Changes do not overlap, also not those of agents
// of different boots.
func (m *Machine) change(ctx context.Context, f func(disk) error) error {
	m.diskMu.Lock()
	defer m.diskMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.open(os.O_RDWR, f)
}

func (m *Machine) open(flag int, f func(disk) error) error {
	file, err := os.OpenFile(m.Disk, flag, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return f(disk{file: file, size: info.Size()})
}

// eraseDevices overwrites the disk with zeros.
func (a *agent) eraseDevices(ctx context.Context, _ map[string]any) (any, error) {
	return map[string]any{device: nil}, a.machine.change(ctx, func(d disk) error {
		return errors.Join(d.file.Truncate(0), d.file.Truncate(d.size))
	})
}

// eraseMetadata overwrites the partition tables.
func (a *agent) eraseMetadata(ctx context.Context, _ map[string]any) (any, error) {
	return nil, a.machine.change(ctx, disk.eraseMetadata)
}

func (d disk) eraseMetadata() error {
	zeros := make([]byte, metadataSectors*sector)
	_, err := d.file.WriteAt(zeros, 0)
	if err == nil {
		_, err = d.file.WriteAt(zeros, d.size-int64(len(zeros)))
	}
	return err
}

// identifier returns the disk's identifier, such as 0x6f7cc4a8, from its master boot record.
func (d disk) identifier() (string, error) {
	var id [4]byte
	_, err := d.file.ReadAt(id[:], 440)
	return fmt.Sprintf("0x%02x%02x%02x%02x", id[3], id[2], id[1], id[0]), err
}

// ConfigDrive returns the content of the partition that has the label config-2, as the instance finds it: without the
// zeros that fill the partition. The error says why there is none.
func (m *Machine) ConfigDrive() (content []byte, err error) {
	m.diskMu.Lock()
	defer m.diskMu.Unlock()
	err = m.open(os.O_RDONLY, func(d disk) error {
		p, found, err := d.labelled(configDriveLabel)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("no partition of %s has the label %s", m.Disk, configDriveLabel)
		}
		content, err = io.ReadAll(io.NewSectionReader(d.file, p.start, p.size))
		return err
	})
	return bytes.TrimRight(content, "\x00"), err
}

// labelled returns the partition whose file system has a label, in any case of letters.
func (d disk) labelled(label string) (p partition, found bool, err error) {
	partitions, err := d.partitions()
	for _, p := range partitions {
		if strings.EqualFold(d.label(p), label) {
			return p, true, nil
		}
	}
	return partition{}, false, err
}

// labels are where the file systems of config drives, ISO 9660 and FAT, have their label.
var labels = []struct {
	magic string
	at    int64
	label int64
	size  int
}{
	{"CD001", 0x8001, 0x8028, 32},
	{"FAT", 0x36, 0x2b, 11},   // FAT12 and FAT16
	{"FAT32", 0x52, 0x47, 11}, // FAT32
}

// label returns the label of the file system of a partition, "" if there is none.
func (d disk) label(p partition) string {
	for _, l := range labels {
		magic, label := make([]byte, len(l.magic)), make([]byte, l.size)
		_, err := d.file.ReadAt(magic, p.start+l.at)
		if err != nil || string(magic) != l.magic {
			continue
		}
		if _, err := d.file.ReadAt(label, p.start+l.label); err == nil {
			return strings.TrimRight(string(label), " \x00")
		}
	}
	return ""
}
