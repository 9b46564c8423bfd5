// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
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
	mbrSwap      = 0x82
	mbrFAT       = 0x0c
	mbrESP       = 0xef
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
	return p, d.insert(record, gpt, p, mbrFAT, linuxData)
}

// makePartitions replaces the partition table of the disk by one with these partitions.
func (d disk) makePartitions(gpt bool, planned []plannedPartition) error {
	record, end := make([]byte, sector), d.size
	_, _ = rand.Read(record[440:444]) // it never fails
	record[510], record[511] = 0x55, 0xaa
	if err := d.eraseMetadata(); err != nil {
		return err
	}
	if gpt {
		end -= metadataSectors * sector
		putMBR(mbrEntry(record, 0), mbrGPT, partition{sector, min(d.size-sector, mbrMaxSector*sector)})
		if err := d.writeGPT(emptyGPT(), record); err != nil {
			return err
		}
	}
	next := int64(alignment)
	for _, made := range planned {
		p := partition{next, made.mib << 20}
		if next += p.size; next > end {
			return fmt.Errorf("the partitions need %d MiB, more than %s has", next>>20, device)
		}
		if err := d.insert(record, gpt, p, made.kind, made.guid); err != nil {
			return err
		}
	}
	return nil
}

// insert adds a partition to the table of the disk, whose master boot record is given.
func (d disk) insert(record []byte, gpt bool, p partition, kind byte, guid string) error {
	if gpt {
		table, err := d.gpt()
		if err == nil {
			err = table.insert(p, guid)
		}
		if err != nil {
			return err
		}
		return d.writeGPT(table, record)
	}
	if (p.start+p.size)/sector > mbrMaxSector {
		return errors.New("the disk is too large for MBR partitioning")
	}
	for i := range mbrPrimary {
		if entry := mbrEntry(record, i); entry[4] == 0 {
			putMBR(entry, kind, p)
			_, err := d.file.WriteAt(record, 0)
			return err
		}
	}
	return fmt.Errorf("the disk uses MBR partitioning and already has %d primary partitions", mbrPrimary)
}

// putMBR writes an entry of a master boot record.
func putMBR(entry []byte, kind byte, p partition) {
	clear(entry)
	entry[4] = kind
	binary.LittleEndian.PutUint32(entry[8:], uint32(p.start/sector))
	binary.LittleEndian.PutUint32(entry[12:], uint32(p.size/sector))
}
