// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"github.com/google/uuid"
)

// gptTable is the header of a GUID partition table, and its entries. All that an image has in its table stays as it
// is. The package gpt of github.com/diskfs/go-diskfs moves the entries to sector 2, over a boot loader if it is there,
// reads no entries of more than 128 bytes, and leaves a hybrid master boot record with the size of the image.
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
	if string(t.header[:8]) != "EFI PART" || number == 0 || number > gptMaxEntries || size < gptMinEntry || size > sector ||
		lba > uint64(d.size/sector) {
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

// The types of partitions.
const (
	linuxData = "0fc63daf-8483-4772-8e79-3d69d8477de4"
	linuxSwap = "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f"
	efiSystem = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
	biosBoot  = "21686148-6449-6e6f-744e-656564454649"
)

// putGUID encodes a GUID, whose first three parts are stored as little-endian numbers.
func putGUID(to []byte, guid string) {
	raw := uuid.MustParse(guid)
	copy(to, swapGUID(raw[:]))
}

// textGUID returns the text of an encoded GUID.
func textGUID(from []byte) string { return uuid.UUID(swapGUID(from)).String() }

func swapGUID(guid []byte) []byte {
	swapped := slices.Clone(guid)
	slices.Reverse(swapped[:4])
	slices.Reverse(swapped[4:6])
	slices.Reverse(swapped[6:8])
	return swapped
}

// emptyGPT returns a table without partitions.
func emptyGPT() gptTable {
	t := gptTable{header: make([]byte, sector), entries: make([]byte, 128*gptMinEntry), size: gptMinEntry}
	copy(t.header, "EFI PART\x00\x00\x01\x00")
	binary.LittleEndian.PutUint32(t.header[12:], gptHeaderSize)
	binary.LittleEndian.PutUint64(t.header[40:], metadataSectors)
	_, _ = rand.Read(t.header[56:72]) // it never fails
	binary.LittleEndian.PutUint64(t.header[72:], 2)
	binary.LittleEndian.PutUint32(t.header[80:], 128)
	binary.LittleEndian.PutUint32(t.header[84:], gptMinEntry)
	return t
}

// insert adds a partition of a type.
func (t gptTable) insert(p partition, guid string) error {
	for entry := range slices.Chunk(t.entries, t.size) {
		if gptRange(entry).size > 0 {
			continue
		}
		clear(entry)
		putGUID(entry, guid)
		_, _ = rand.Read(entry[16:32]) // it never fails
		binary.LittleEndian.PutUint64(entry[32:], uint64(p.start/sector))
		binary.LittleEndian.PutUint64(entry[40:], uint64((p.start+p.size)/sector-1))
		return nil
	}
	return errors.New("the GUID partition table is full")
}

// writeGPT writes both copies of a table. The second copy moves to the end of the disk, since an image is smaller than
// the disk that it was written to.
func (d disk) writeGPT(t gptTable, record []byte) error {
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
