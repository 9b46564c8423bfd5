// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"crypto/rand"
	"encoding/binary"
	"slices"

	"github.com/ironstate/ironstate/internal/must"
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
	mbrSwap      = 0x82
	mbrFAT       = 0x0c
	mbrESP       = 0xef
	mbrGPT       = 0xee // the partition that protects a GPT
	mbrMaxSector = 1<<32 - 1
)

// alignment is the boundary in bytes on which a new partition begins.
const alignment = 1 << 20

// mbr reads the master boot record, and reports whether it stands for a GPT.
func (d disk) mbr() (record []byte, gpt bool) {
	record = make([]byte, sector)
	must.Get(d.file.ReadAt(record, 0))
	if record[510] != 0x55 || record[511] != 0xaa {
		must.Failf("unrecognised disk label")
	}
	for i := range mbrPrimary {
		gpt = gpt || mbrEntry(record, i)[4] == mbrGPT
	}
	return record, gpt
}

func mbrEntry(record []byte, i int) []byte {
	return record[mbrEntries+i*mbrEntrySize:][:mbrEntrySize]
}

// partitions lists the partitions of the disk. A disk without a partition table is an error.
func (d disk) partitions() (all []partition) {
	record, gpt := d.mbr()
	if gpt {
		return d.gpt().partitions()
	}
	for i := range mbrPrimary {
		entry := mbrEntry(record, i)
		if start, size := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:]); entry[4] != 0 && size > 0 {
			all = append(all, partition{int64(start) * sector, int64(size) * sector})
		}
	}
	return all
}

// addPartition makes a partition at the end of the disk.
func (d disk) addPartition(size int64) partition {
	record, gpt := d.mbr()
	end := d.size
	if gpt {
		end -= metadataSectors * sector
	}
	p := partition{start: (end - size) / alignment * alignment}
	p.size = (end - p.start) / sector * sector
	if p.start < alignment || slices.ContainsFunc(d.partitions(), p.overlaps) {
		must.Failf("the disk has no free space at its end")
	}
	d.insert(record, gpt, p, mbrFAT, linuxData)
	return p
}

// makePartitions replaces the partition table of the disk by one with these partitions.
func (d disk) makePartitions(gpt bool, parts []part) {
	record, end := make([]byte, sector), d.size
	_, _ = rand.Read(record[440:444]) // it never fails
	record[510], record[511] = 0x55, 0xaa
	d.eraseMetadata()
	if gpt {
		end -= metadataSectors * sector
		putMBR(mbrEntry(record, 0), mbrGPT, partition{sector, min(d.size-sector, mbrMaxSector*sector)})
		d.writeGPT(emptyGPT(), record)
	}
	next := int64(alignment)
	for _, made := range parts {
		p := partition{next, made.mib << 20}
		if next += p.size; next > end {
			must.Failf("the partitions need %d MiB, more than %s has", next>>20, device)
		}
		d.insert(record, gpt, p, made.kind, made.guid)
	}
}

// insert adds a partition to the table of the disk, whose master boot record is given.
func (d disk) insert(record []byte, gpt bool, p partition, kind byte, guid string) {
	if gpt {
		table := d.gpt()
		table.insert(p, guid)
		d.writeGPT(table, record)
		return
	}
	if (p.start+p.size)/sector > mbrMaxSector {
		must.Failf("the disk is too large for MBR partitioning")
	}
	for i := range mbrPrimary {
		if entry := mbrEntry(record, i); entry[4] == 0 {
			putMBR(entry, kind, p)
			must.Get(d.file.WriteAt(record, 0))
			return
		}
	}
	must.Failf("the disk uses MBR partitioning and already has %d primary partitions", mbrPrimary)
}

// putMBR writes an entry of a master boot record.
func putMBR(entry []byte, kind byte, p partition) {
	clear(entry)
	entry[4] = kind
	binary.LittleEndian.PutUint32(entry[8:], uint32(p.start/sector))
	binary.LittleEndian.PutUint32(entry[12:], uint32(p.size/sector))
}
