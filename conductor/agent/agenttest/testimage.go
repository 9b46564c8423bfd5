// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"bytes"
	"encoding/binary"
)

// Image returns a raw image of a whole disk, with a master boot record and one partition whose bytes differ between
// seeds. The size in bytes is rounded up to whole MiB, and is at least 2 MiB.
func Image(size int, seed byte) []byte {
	image := make([]byte, max(2*alignment, (size+alignment-1)/alignment*alignment))
	block := image[alignment : 2*alignment]
	for i := range block {
		block[i] = byte(i>>9) ^ byte(i) ^ seed
	}
	for i := 2 * alignment; i < len(image); i += alignment {
		copy(image[i:], block)
		binary.LittleEndian.PutUint32(image[i:], uint32(i))
	}
	binary.LittleEndian.PutUint32(image[440:], 0x6f7cc400|uint32(seed))
	putMBR(mbrEntry(image[:sector], 0), mbrLinux, partition{start: alignment, size: int64(len(image) - alignment)})
	image[510], image[511] = 0x55, 0xaa
	return image
}

// QCOW2 returns an image in QEMU's format qcow2, version 3, with this content. Clusters of zeros are not stored.
//
// Source: docs/interop/qcow2.txt of QEMU.
func QCOW2(content []byte) []byte {
	const (
		cluster   = 1 << 16
		perTable  = cluster / 8 // entries of a table of the second level
		perCounts = cluster / 2 // entries of a block of reference counts
		copied    = 1 << 63     // the cluster has one reference
	)
	clusters := (len(content) + cluster - 1) / cluster
	tables := (clusters + perTable - 1) / perTable
	counts := (clusters+tables+3)/(perCounts-1) + 1
	// The order of the clusters: header, reference table, reference blocks, first level, tables of the second level, data.
	first := 2 + counts
	image := make([]byte, (first+1+tables)*cluster)
	number := func(cluster int) uint64 { return uint64(cluster) << 16 }
	for i := range clusters {
		data := content[i*cluster : min((i+1)*cluster, len(content))]
		if len(bytes.TrimLeft(data, "\x00")) == 0 {
			continue
		}
		binary.BigEndian.PutUint64(image[(first+1)*cluster+8*i:], copied|uint64(len(image)))
		image = append(image, data...)
		image = append(image, make([]byte, (cluster-len(data)%cluster)%cluster)...)
	}
	for i := range tables {
		binary.BigEndian.PutUint64(image[first*cluster+8*i:], copied|number(first+1+i))
	}
	for i := range counts {
		binary.BigEndian.PutUint64(image[cluster+8*i:], number(2+i))
	}
	for i := range len(image) / cluster {
		binary.BigEndian.PutUint16(image[2*cluster+2*i:], 1)
	}
	copy(image, "QFI\xfb")
	for at, value := range map[int]uint32{4: 3, 20: 16, 36: uint32(tables), 56: 1, 96: 4, 100: qcow2Header} {
		binary.BigEndian.PutUint32(image[at:], value)
	}
	for at, value := range map[int]uint64{24: uint64(len(content)), 40: number(first), 48: number(1)} {
		binary.BigEndian.PutUint64(image[at:], value)
	}
	return image
}
