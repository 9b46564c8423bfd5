// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// partition is a part of a disk, in bytes.
type partition struct{ start, size int64 }

func (p partition) overlaps(o partition) bool {
	return p.start < o.start+o.size && o.start < p.start+p.size
}

// The layout of a master boot record.
const (
	mbrEntries   = 446
	mbrEntrySize = 16
	mbrPrimary   = 4
	mbrLinux     = 0x83
	mbrFAT       = 0x0c
	mbrGPT       = 0xee // the partition that protects a GPT
	mbrMaxSector = 1<<32 - 1
)

// alignment is the boundary in bytes on which a new partition begins.
const alignment = 1 << 20

// errNoTable means that the disk has no partition table.
var errNoTable = errors.New("unrecognised disk label")

// mbr reads the master boot record, and reports whether it stands for a GPT.
func (d disk) mbr() (record []byte, gpt bool, err error) {
	record = make([]byte, sector)
	if _, err := d.file.ReadAt(record, 0); err != nil {
		return nil, false, err
	}
	if record[510] != 0x55 || record[511] != 0xaa {
		return nil, false, errNoTable
	}
	for i := range mbrPrimary {
		gpt = gpt || mbrEntry(record, i)[4] == mbrGPT
	}
	return record, gpt, nil
}

func mbrEntry(record []byte, i int) []byte {
	return record[mbrEntries+i*mbrEntrySize:][:mbrEntrySize]
}

// partitions lists the partitions of the disk. A disk without a partition table is an error.
func (d disk) partitions() ([]partition, error) {
	record, gpt, err := d.mbr()
	if err != nil {
		return nil, err
	}
	if gpt {
		table, err := d.gpt()
		return table.partitions(), err
	}
	var all []partition
	for i := range mbrPrimary {
		entry := mbrEntry(record, i)
		if start, size := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:]); entry[4] != 0 && size > 0 {
			all = append(all, partition{int64(start) * sector, int64(size) * sector})
		}
	}
	return all, nil
}

// addPartition makes a partition at the end of the disk.
func (d disk) addPartition(size int64) (partition, error) {
	record, gpt, err := d.mbr()
	if err != nil {
		return partition{}, err
	}
	end := d.size
	if gpt {
		end -= metadataSectors * sector
	}
	p := partition{start: (end - size) / alignment * alignment}
	p.size = (end - p.start) / sector * sector
	present, err := d.partitions()
	if err != nil {
		return partition{}, err
	}
	if p.start < alignment || slices.ContainsFunc(present, p.overlaps) {
		return partition{}, errors.New("the disk has no free space at its end")
	}
	if gpt {
		table, err := d.gpt()
		if err != nil {
			return partition{}, err
		}
		return p, d.writeGPT(table, record, p)
	}
	if len(present) == mbrPrimary {
		return partition{}, fmt.Errorf("the disk uses MBR partitioning and already has %d primary partitions", mbrPrimary)
	}
	if (p.start+p.size)/sector > mbrMaxSector {
		return partition{}, errors.New("the disk is too large for MBR partitioning")
	}
	for i := range mbrPrimary {
		if entry := mbrEntry(record, i); entry[4] == 0 {
			putMBR(entry, mbrFAT, p)
			break
		}
	}
	_, err = d.file.WriteAt(record, 0)
	return p, err
}

// putMBR writes an entry of a master boot record.
func putMBR(entry []byte, kind byte, p partition) {
	clear(entry)
	entry[4] = kind
	binary.LittleEndian.PutUint32(entry[8:], uint32(p.start/sector))
	binary.LittleEndian.PutUint32(entry[12:], uint32(p.size/sector))
}

// gptTable is the header of a GUID partition table, and its entries.
type gptTable struct {
	header  []byte
	entries []byte
	size    int // of an entry
}

// The layout of a GUID partition table. Source: UEFI specification 2.10, section 5.3.
const (
	gptHeaderSize = 92
	gptMaxEntries = 1024
	gptMinEntry   = 128
)

var errGPT = errors.New("the GUID partition table is invalid")

// gpt reads the primary GUID partition table.
func (d disk) gpt() (t gptTable, err error) {
	t.header = make([]byte, sector)
	if _, err := d.file.ReadAt(t.header, sector); err != nil {
		return gptTable{}, err
	}
	number, size := binary.LittleEndian.Uint32(t.header[80:]), binary.LittleEndian.Uint32(t.header[84:])
	lba := binary.LittleEndian.Uint64(t.header[72:])
	if string(t.header[:8]) != "EFI PART" || number == 0 || number > gptMaxEntries || size < gptMinEntry || size > sector || lba > uint64(d.size/sector) {
		return gptTable{}, errGPT
	}
	t.size, t.entries = int(size), make([]byte, int(number)*int(size))
	if _, err := d.file.ReadAt(t.entries, int64(lba)*sector); err != nil {
		return gptTable{}, err
	}
	return t, nil
}

// gptRange returns the partition of an entry; one that is not used is empty.
func gptRange(entry []byte) partition {
	if string(entry[:16]) == string(make([]byte, 16)) {
		return partition{}
	}
	first, last := int64(binary.LittleEndian.Uint64(entry[32:])), int64(binary.LittleEndian.Uint64(entry[40:]))
	return partition{start: first * sector, size: (last - first + 1) * sector}
}

func (t gptTable) partitions() (all []partition) {
	for entry := range slices.Chunk(t.entries, max(t.size, 1)) {
		if p := gptRange(entry); p.size > 0 {
			all = append(all, p)
		}
	}
	return all
}

// linuxData is the type of a partition with a file system of Linux, 0fc63daf-8483-4772-8e79-3d69d8477de4.
var linuxData = []byte{0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4}

// writeGPT adds a partition to a table and writes both copies of it. The second copy moves to the end of the disk, since
// an image is smaller than the disk that it was written to.
func (d disk) writeGPT(t gptTable, record []byte, p partition) error {
	free := -1
	for i := 0; i*t.size < len(t.entries) && free < 0; i++ {
		if gptRange(t.entries[i*t.size:][:t.size]).size == 0 {
			free = i
		}
	}
	if free < 0 {
		return errors.New("the GUID partition table is full")
	}
	entry := t.entries[free*t.size:][:t.size]
	clear(entry)
	copy(entry, linuxData)
	_, _ = rand.Read(entry[16:32]) // it never fails
	binary.LittleEndian.PutUint64(entry[32:], uint64(p.start/sector))
	binary.LittleEndian.PutUint64(entry[40:], uint64((p.start+p.size)/sector-1))

	last := uint64(d.size/sector) - 1
	entrySectors := uint64(len(t.entries)+sector-1) / sector
	binary.LittleEndian.PutUint64(t.header[48:], last-entrySectors-1) // the last usable sector
	binary.LittleEndian.PutUint32(t.header[88:], crc32.ChecksumIEEE(t.entries))
	for i := range mbrPrimary {
		if e := mbrEntry(record, i); e[4] == mbrGPT {
			binary.LittleEndian.PutUint32(e[12:], uint32(min(last, mbrMaxSector)))
		}
	}
	primary := binary.LittleEndian.Uint64(t.header[72:])
	if _, err := d.file.WriteAt(record, 0); err != nil {
		return err
	}
	if err := d.writeCopy(t, 1, last, primary); err != nil {
		return err
	}
	return d.writeCopy(t, last, 1, last-entrySectors)
}

// writeCopy writes one copy of a table: its header at a sector, and its entries.
func (d disk) writeCopy(t gptTable, at, other, entries uint64) error {
	header := slices.Clone(t.header)
	binary.LittleEndian.PutUint64(header[24:], at)
	binary.LittleEndian.PutUint64(header[32:], other)
	binary.LittleEndian.PutUint64(header[72:], entries)
	binary.LittleEndian.PutUint32(header[16:], 0)
	binary.LittleEndian.PutUint32(header[16:], crc32.ChecksumIEEE(header[:gptHeaderSize]))
	if _, err := d.file.WriteAt(t.entries, int64(entries)*sector); err != nil {
		return err
	}
	_, err := d.file.WriteAt(header, int64(at)*sector)
	return err
}
