// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"
)

// This file reads bbolt's format without bbolt, which panics while it opens a damaged database: its own check, which
// needs an open one, comes too late.

// The format of bbolt's file, see bbolt's internal/common/page.go, meta.go and inode.go.
const (
	headerSize   = 16 // of a page: its number, flags, number of elements and number of further pages
	elementSize  = 16 // of the header of an element of a page
	metaSize     = 64 // without its page's header, with its checksum
	metaMagic    = 0xED0CDAED
	branchPage   = 0x01
	leafPage     = 0x02
	bucketEntry  = 0x01
	minPageSize  = 1 << 10
	maxPageSize  = 1 << 16
	mostDepth    = 64 // of the tree of pages; etcd's has less than 10 levels
	revisionSize = 17 // of a key of etcd's records: two numbers of 8 bytes and a separator; a deletion has one byte more
)

// order is the byte order of bbolt's files, which is the processor's.
var order = binary.NativeEndian

// meta is one of the two roots of a database.
type meta struct{ pageSize, root, high, transaction uint64 }

// readMeta returns the root at an offset, and false if it is not valid.
func readMeta(file io.ReaderAt, offset int64) (meta, bool) {
	b := make([]byte, headerSize+metaSize)
	if _, err := file.ReadAt(b, offset); err != nil {
		return meta{}, false
	}
	b = b[headerSize:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSize-8])
	m := meta{uint64(order.Uint32(b[8:])), order.Uint64(b[16:]), order.Uint64(b[40:]), order.Uint64(b[48:])}
	valid := order.Uint32(b) == metaMagic && order.Uint64(b[metaSize-8:]) == sum.Sum64() &&
		m.pageSize >= minPageSize && m.pageSize <= maxPageSize
	return m, valid
}

// newestMeta returns the valid root with the last transaction. Its page is the first or the second.
func newestMeta(file io.ReaderAt) (meta, bool) {
	newest, found := readMeta(file, 0)
	for size := int64(minPageSize); size <= maxPageSize; size *= 2 {
		m, ok := readMeta(file, size)
		if ok && m.pageSize == uint64(size) && (!found || m.transaction > newest.transaction) {
			newest, found = m, true
		}
	}
	return newest, found
}

// pages reads the pages of a database, each once.
type pages struct {
	ctx  context.Context
	file io.ReaderAt
	meta meta
	seen []bool
}

// readPages checks all pages in use of a database of size bytes: that their elements are inside of them, that no
// page is used twice, that the keys are in order, and that etcd can decode each version of a record.
func readPages(ctx context.Context, file io.ReaderAt, size int64) error {
	m, ok := newestMeta(file)
	switch {
	case !ok:
		return errors.New("it is not a database: both of its first pages are invalid")
	case m.high > uint64(size)/m.pageSize:
		return fmt.Errorf("it has %d bytes, but %d pages of %d bytes", size, m.high, m.pageSize)
	}
	p := &pages{ctx: ctx, file: file, meta: m, seen: make([]bool, m.high)}
	records := false
	err := p.visit(m.root, nil, nil, 0, func(name, value []byte, bucket bool) error {
		if !bucket || len(value) < headerSize {
			return fmt.Errorf("the element %q is not a bucket", name)
		}
		each := noBuckets
		if bytes.Equal(name, schema.Key.Name()) {
			records, each = true, checkRecord
		}
		if root := order.Uint64(value); root != 0 {
			return p.visit(root, nil, nil, 0, each)
		}
		inline := value[headerSize:] // the bucket is so small that its page is the value
		if len(inline) < headerSize || order.Uint16(inline[8:]) != leafPage {
			return fmt.Errorf("the bucket %q has no page", name)
		}
		return leaf(inline, nil, nil, each)
	})
	if err == nil && !records {
		err = errors.New("it is not a database of etcd")
	}
	return err
}

// element checks an element of a leaf.
type element func(key, value []byte, bucket bool) error

func noBuckets(key, _ []byte, bucket bool) error {
	if bucket {
		return fmt.Errorf("the element %x is a bucket in a bucket", key)
	}
	return nil
}

// checkRecord returns an error for a version of a record that etcd cannot decode.
func checkRecord(key, value []byte, bucket bool) error {
	if len(key) != revisionSize && len(key) != revisionSize+1 {
		return fmt.Errorf("the revision %x has %d bytes", key, len(key))
	}
	if err := proto.Unmarshal(value, new(mvccpb.KeyValue)); err != nil {
		return fmt.Errorf("the revision %x: %w", key, err)
	}
	return noBuckets(key, value, bucket)
}

// visit checks a page and the pages below it, whose keys are at least low and less than high; nil is no
// bound.
func (p *pages) visit(id uint64, low, high []byte, depth int, each element) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	page, err := p.read(id)
	if err != nil {
		return err
	}
	switch flags := order.Uint16(page[8:]); {
	case flags == leafPage:
		err = leaf(page, low, high, each)
	case flags == branchPage && depth < mostDepth:
		err = p.branch(page, low, high, depth, each)
	default:
		err = fmt.Errorf("it has the flags %x at depth %d", flags, depth)
	}
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// read returns a page with its overflow, and marks it as seen.
func (p *pages) read(id uint64) ([]byte, error) {
	count := uint64(len(p.seen))
	if id >= count {
		return nil, fmt.Errorf("page %d of %d does not exist", id, count)
	}
	header := make([]byte, headerSize)
	if _, err := p.file.ReadAt(header, int64(id*p.meta.pageSize)); err != nil {
		return nil, err
	}
	length := 1 + uint64(order.Uint32(header[12:]))
	if order.Uint64(header) != id || length > count-id {
		return nil, fmt.Errorf("page %d is damaged: it says that it is page %d with %d pages", id, order.Uint64(header), length)
	}
	for i := id; i < id+length; i++ {
		if p.seen[i] {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		p.seen[i] = true
	}
	page := make([]byte, length*p.meta.pageSize)
	_, err := p.file.ReadAt(page, int64(id*p.meta.pageSize))
	return page, err
}

var errElement = errors.New("an element is outside of its page")

// header returns the header of the element i of a page, and the bytes from its beginning.
func header(page []byte, i int) ([]byte, error) {
	at := headerSize + i*elementSize
	if len(page) < at+elementSize {
		return nil, errElement
	}
	return page[at:], nil
}

// slice returns size bytes of b from an offset.
func slice(b []byte, offset, size uint64) ([]byte, error) {
	if offset+size > uint64(len(b)) {
		return nil, errElement
	}
	return b[offset : offset+size], nil
}

// inOrder returns an error if a key is not between its neighbours; before is nil for the first key.
func inOrder(before, key, low, high []byte) error {
	if before != nil && bytes.Compare(before, key) >= 0 || bytes.Compare(key, low) < 0 || high != nil && bytes.Compare(key, high) >= 0 {
		return fmt.Errorf("the key %x is not in order", key)
	}
	return nil
}

// leaf checks the elements of a leaf page.
func leaf(page, low, high []byte, each element) error {
	var before []byte
	for i := range int(order.Uint16(page[10:])) {
		e, err := header(page, i)
		if err != nil {
			return err
		}
		offset, keySize, valueSize := uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:])), uint64(order.Uint32(e[12:]))
		both, err := slice(e, offset, keySize+valueSize)
		if err != nil {
			return err
		}
		key := both[:keySize]
		if err := inOrder(before, key, low, high); err != nil {
			return err
		}
		before = key
		if err := each(key, both[keySize:], order.Uint32(e)&bucketEntry != 0); err != nil {
			return err
		}
	}
	return nil
}

// branch checks the keys of a branch page and the pages below it.
func (p *pages) branch(page, low, high []byte, depth int, each element) error {
	count := int(order.Uint16(page[10:]))
	if count == 0 {
		return errors.New("it is a branch without elements")
	}
	keys, children := make([][]byte, count, count+1), make([]uint64, count)
	for i := range count {
		e, err := header(page, i)
		if err != nil {
			return err
		}
		if keys[i], err = slice(e, uint64(order.Uint32(e)), uint64(order.Uint32(e[4:]))); err != nil {
			return err
		}
		var before []byte
		if i > 0 {
			before = keys[i-1]
		}
		if err := inOrder(before, keys[i], low, high); err != nil {
			return err
		}
		children[i] = order.Uint64(e[8:])
	}
	keys = append(keys, high)
	for i, child := range children {
		if err := p.visit(child, keys[i], keys[i+1], depth+1, each); err != nil {
			return err
		}
	}
	return nil
}
