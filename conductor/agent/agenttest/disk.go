// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
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
	file    *os.File
	size    int64
	written *atomic.Int64 // the number of bytes written to partitions
}

// change opens the disk and changes it, unless the context has ended. Changes do not overlap, not even changes by
// agents of different boots.
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
	return f(disk{file: file, size: info.Size(), written: &m.written})
}

// writer returns a writer to a partition, which writes nothing beyond it.
func (d disk) writer(p partition) io.Writer {
	return &bounded{w: io.NewOffsetWriter(d.file, p.start), left: min(p.size, d.size-p.start), written: d.written}
}

// bounded writes no more than a number of bytes, and counts them.
type bounded struct {
	w       io.Writer
	left    int64
	written *atomic.Int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errors.New("[Errno 28] No space left on device")
	}
	n, err := b.w.Write(p)
	b.written.Add(int64(n))
	return n, err
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

// Partition is a partition of a machine's disk, in bytes.
type Partition struct{ Start, Size int64 }

// Partitions returns the partitions of the disk, in the order of its table. The error says that the disk has no valid
// table.
func (m *Machine) Partitions() (all []Partition, err error) {
	m.diskMu.Lock()
	defer m.diskMu.Unlock()
	err = m.open(os.O_RDONLY, func(d disk) error {
		present, err := d.partitions()
		for _, p := range present {
			all = append(all, Partition{Start: p.start, Size: p.size})
		}
		return err
	})
	return all, err
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

// uuid returns the UUID of a partition's file system if it is one of Linux (ext2 to ext4), and otherwise the
// partition's own UUID.
//
// Source: block_uuid in ironic_lib/disk_utils.py.
func (d disk) uuid(p partition) string {
	const super, magic, own = 1024, 0x38, 0x68
	block := make([]byte, 1024)
	if _, err := d.file.ReadAt(block, p.start+super); err == nil && block[magic] == 0x53 && block[magic+1] == 0xef {
		return uuid.UUID(block[own : own+16]).String()
	}
	if table, err := d.gpt(); err == nil {
		for entry := range slices.Chunk(table.entries, table.size) {
			if gptRange(entry) == p {
				return textGUID(entry[16:32])
			}
		}
	}
	present, _ := d.partitions()
	id, _ := d.identifier()
	return fmt.Sprintf("%s-%02x", strings.TrimPrefix(id, "0x"), slices.Index(present, p)+1)
}
