// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

const testPage = minPageSize // bytes

// file is a database in memory.
type file []byte

// page returns the bytes from the beginning of a page.
func (f file) page(id uint64) []byte { return f[id*testPage:] }

// setMeta writes a root of the database with its checksum.
func (f file) setMeta(id, pageSize, root, high, transaction uint64) {
	b := f.page(id)
	order.PutUint64(b, id)
	order.PutUint16(b[8:], 0x04)
	b = b[headerSize:]
	order.PutUint32(b, metaMagic)
	order.PutUint32(b[4:], 2) // the version of the format
	order.PutUint32(b[8:], uint32(pageSize))
	order.PutUint64(b[16:], root)
	order.PutUint64(b[32:], 0xffffffffffffffff) // no list of free pages
	order.PutUint64(b[40:], high)
	order.PutUint64(b[48:], transaction)
	f.sum(id)
}

// sum writes the checksum of a root.
func (f file) sum(id uint64) {
	b := f.page(id)[headerSize:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSize-8])
	order.PutUint64(b[metaSize-8:], sum.Sum64())
}

// item is an element of a leaf.
type item struct {
	key, value []byte
	bucket     bool
}

// putLeaf writes a leaf with the items into a page.
func putLeaf(b []byte, id uint64, overflow uint32, items ...item) {
	order.PutUint64(b, id)
	order.PutUint16(b[8:], leafPage)
	order.PutUint16(b[10:], uint16(len(items)))
	order.PutUint32(b[12:], overflow)
	data := headerSize + len(items)*elementSize
	for i, item := range items {
		e := b[headerSize+i*elementSize:]
		if item.bucket {
			order.PutUint32(e, bucketEntry)
		}
		order.PutUint32(e[4:], uint32(data-headerSize-i*elementSize))
		order.PutUint32(e[8:], uint32(len(item.key)))
		order.PutUint32(e[12:], uint32(len(item.value)))
		data += copy(b[data:], slices.Concat(item.key, item.value))
	}
}

// putBranch writes a branch.
func putBranch(b []byte, id uint64, keys [][]byte, children ...uint64) {
	order.PutUint64(b, id)
	order.PutUint16(b[8:], branchPage)
	order.PutUint16(b[10:], uint16(len(keys)))
	data := headerSize + len(keys)*elementSize
	for i, key := range keys {
		e := b[headerSize+i*elementSize:]
		order.PutUint32(e, uint32(data-headerSize-i*elementSize))
		order.PutUint32(e[4:], uint32(len(key)))
		order.PutUint64(e[8:], children[i])
		data += copy(b[data:], key)
	}
}

// bucket returns the value of a bucket with a root page, which is the value itself if the root is 0.
func bucket(root uint64, items ...item) []byte {
	value := make([]byte, headerSize)
	order.PutUint64(value, root)
	if root != 0 {
		return value
	}
	inline := make([]byte, 200)
	putLeaf(inline, 0, 0, items...)
	return append(value, inline...)
}

// revision returns the key of a version of a record.
func revision(main uint64) []byte {
	key := binary.BigEndian.AppendUint64(nil, main)
	return binary.BigEndian.AppendUint64(append(key, '_'), 0)
}

// record returns a version of a record.
func record(main uint64, size int) item {
	value, err := proto.Marshal(&mvccpb.KeyValue{Key: []byte("k"), Value: bytes.Repeat([]byte("v"), size)})
	if err != nil {
		panic(err)
	}
	return item{key: revision(main), value: value}
}

// The pages of a sound database: two roots, the buckets, the records in a branch with two leaves, and an empty page.
const (
	bucketsPage = 2 + iota
	branchOfRecords
	firstRecords
	lastRecords // and the next one
	_
	free
	pageCount
)

// sound returns a sound database.
func sound() file {
	f := make(file, pageCount*testPage)
	f.setMeta(0, testPage, bucketsPage, pageCount, 7)
	f.setMeta(1, testPage, bucketsPage, pageCount, 8)
	putLeaf(f.page(bucketsPage), bucketsPage, 0,
		item{[]byte("key"), bucket(branchOfRecords), true}, item{[]byte("meta"), bucket(0, item{key: []byte("term"), value: []byte("1")}), true})
	putBranch(f.page(branchOfRecords), branchOfRecords, [][]byte{revision(1), revision(5)}, firstRecords, lastRecords)
	deletion := record(3, 0)
	deletion.key = append(deletion.key, 't')
	putLeaf(f.page(firstRecords), firstRecords, 0, record(1, 10), record(2, 20), deletion)
	putLeaf(f.page(lastRecords), lastRecords, 1, record(5, 10), record(6, 1200))
	return f
}

// check reads a database.
func (f file) check() error {
	return readPages(context.Background(), bytes.NewReader(f), int64(len(f)))
}

func TestASoundDatabaseIsAcceptedByBboltToo(t *testing.T) {
	f := sound()
	require.NoError(t, f.check())
	f.requireReadable(t)
}

// requireReadable reads all of the database with bbolt.
func (f file) requireReadable(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	require.NoError(t, os.WriteFile(path, f, 0o600))
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	require.NoError(t, err)
	require.NoError(t, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	}))
	require.NoError(t, db.Close())
}

func TestEachKindOfDamageIsFound(t *testing.T) {
	word16 := func(page uint64, offset int, value uint16) func(file) {
		return func(f file) { order.PutUint16(f.page(page)[offset:], value) }
	}
	word32 := func(page uint64, offset int, value uint32) func(file) {
		return func(f file) { order.PutUint32(f.page(page)[offset:], value) }
	}
	word64 := func(page uint64, offset int, value uint64) func(file) {
		return func(f file) { order.PutUint64(f.page(page)[offset:], value) }
	}
	both := func(change func(f file, id uint64)) func(file) {
		return func(f file) { change(f, 0); change(f, 1) }
	}
	meta := func(offset int, value uint64) func(file) {
		return both(func(f file, id uint64) {
			if offset == 8 {
				order.PutUint32(f.page(id)[headerSize+8:], uint32(value))
			} else {
				order.PutUint64(f.page(id)[headerSize+offset:], value)
			}
			f.sum(id)
		})
	}
	buckets := func(items ...item) func(file) {
		return func(f file) {
			clear(f.page(bucketsPage)[:testPage])
			putLeaf(f.page(bucketsPage), bucketsPage, 0, items...)
		}
	}
	records := func(items ...item) func(file) {
		return func(f file) {
			clear(f.page(firstRecords)[:testPage])
			putLeaf(f.page(firstRecords), firstRecords, 0, items...)
		}
	}
	key := item{[]byte("key"), bucket(branchOfRecords), true}
	long, short := record(2, 0), record(2, 0)
	long.key, short.key = append(long.key, 't', 't'), short.key[:16]
	inline := bucket(0)
	order.PutUint16(inline[headerSize+8:], branchPage)
	const end = testPage - headerSize // of a page, seen from its first element

	for name, test := range map[string]struct {
		damage func(file)
		text   string // "" if the database is accepted
	}{
		"nothing":                   {func(file) {}, ""},
		"noise in a page in no use": {word64(free, 0, 77), ""},
		"no magic number": {both(func(f file, id uint64) { order.PutUint32(f.page(id)[headerSize:], 1); f.sum(id) }),
			"both of its first pages are invalid"},
		"wrong sums": {both(func(f file, id uint64) { f.page(id)[headerSize+60]++ }),
			"both of its first pages are invalid"},
		"small pages":                             {meta(8, testPage-1), "both of its first pages are invalid"},
		"large pages":                             {meta(8, maxPageSize+1), "both of its first pages are invalid"},
		"no first root":                           {func(f file) { clear(f[:testPage]) }, ""},
		"no second root":                          {func(f file) { clear(f[testPage : 2*testPage]) }, ""},
		"the older root is another":               {func(f file) { f.setMeta(0, testPage, free, pageCount, 7) }, ""},
		"the newer root is another":               {func(f file) { f.setMeta(1, testPage, free, pageCount, 8) }, "page 7 is damaged"},
		"the first root is newer":                 {func(f file) { f.setMeta(0, testPage, free, pageCount, 9) }, "page 7 is damaged"},
		"roots of the same transaction":           {func(f file) { f.setMeta(1, testPage, free, pageCount, 7) }, ""},
		"a second root for pages of another size": {func(f file) { f.setMeta(1, 2*testPage, free, pageCount, 9) }, ""},
		"more pages than bytes":                   {meta(40, pageCount+1), "it has 8192 bytes, but 9 pages of 1024 bytes"},
		"a root that does not exist":              {meta(16, pageCount), "page 8 of 8 does not exist"},

		"another number":                   {word64(firstRecords, 0, 3), "page 4 is damaged: it says that it is page 3 with 1 pages"},
		"the last page goes on":            {word32(lastRecords, 12, 3), "page 5 is damaged: it says that it is page 5 with 4 pages"},
		"the last page goes on to the end": {word32(lastRecords, 12, 2), ""},
		"a page goes on in the next":       {word32(firstRecords, 12, 1), "page 5 is used twice"},
		"a page with other flags":          {word16(firstRecords, 8, 0x10), "page 4: it has the flags 10 at depth 1"},

		"no bucket":                  {buckets(item{key.key, key.value, false}), `the element "key" is not a bucket`},
		"a bucket that is too short": {buckets(item{key.key, key.value[:headerSize-1], true}), `the element "key" is not a bucket`},
		"no bucket for records":      {buckets(item{[]byte("kex"), key.value, true}), "it is not a database of etcd"},
		"a bucket without a page": {buckets(item{[]byte("alarm"), bucket(0)[:headerSize+headerSize-1], true}, key),
			`the bucket "alarm" has no page`},
		"a bucket with the least page": {buckets(item{[]byte("alarm"), bucket(0)[:headerSize+headerSize], true}, key), ""},
		"a bucket with another page":   {buckets(item{[]byte("alarm"), inline, true}, key), `the bucket "alarm" has no page`},
		"a bucket in an inline bucket": {buckets(item{[]byte("alarm"), bucket(0, item{[]byte("a"), nil, true}), true}, key),
			"the element 61 is a bucket in a bucket"},
		"a bucket among the records": {records(item{revision(1), record(1, 0).value, true}), "is a bucket in a bucket"},
		"an inline page that is cut": {buckets(item{[]byte("alarm"), bucket(0, item{})[:headerSize+headerSize+elementSize-1], true}, key),
			errElement.Error()},
		"an inline page of one element": {buckets(item{[]byte("alarm"), bucket(0, item{})[:headerSize+headerSize+elementSize], true}, key), ""},
		"the key of a record is short":  {records(short), "has 16 bytes"},
		"the key of a record is long":   {records(long), "has 19 bytes"},
		"a record that is no record":    {records(item{revision(1), []byte{0xff}, false}), "the revision 0000000000000001"},
		"keys in another order":         {records(record(2, 0), record(1, 0)), "is not in order"},
		"a key twice":                   {records(record(1, 0), record(1, 0)), "is not in order"},
		"a key below its branch":        {records(record(0, 0)), "is not in order"},
		"a key above its branch":        {records(record(1, 0), record(5, 0)), "is not in order"},
		"a leaf without elements":       {records(), ""},
		"more elements than the page":   {word16(firstRecords, 10, 4), errElement.Error()},
		"an element beyond the page":    {word32(firstRecords, headerSize+4, end), errElement.Error()},
		"a value up to the page's end":  {word32(firstRecords, headerSize+12, end-3*elementSize-17), "the revision 0000000000000001"},
		"a value beyond the page's end": {word32(firstRecords, headerSize+12, end-3*elementSize-16), errElement.Error()},

		"a branch without elements": {word16(branchOfRecords, 10, 0), "it is a branch without elements"},
		"a branch of one element":   {word16(branchOfRecords, 10, 1), ""},
		"a branch with more elements than the page": {func(f file) {
			putBranch(f.page(branchOfRecords), branchOfRecords, [][]byte{revision(1)}, firstRecords)
			order.PutUint16(f.page(branchOfRecords)[10:], end/elementSize+1)
		}, errElement.Error()},
		"a key of a branch beyond the page": {word32(branchOfRecords, headerSize, end-16), errElement.Error()},
		"keys of a branch in another order": {func(f file) {
			putBranch(f.page(branchOfRecords), branchOfRecords, [][]byte{revision(5), revision(1)}, lastRecords, firstRecords)
		}, "is not in order"},
		"keys of a branch without records in another order": {func(f file) {
			putBranch(f.page(branchOfRecords), branchOfRecords, [][]byte{revision(5), revision(1)}, lastRecords, firstRecords)
			putLeaf(f.page(firstRecords), firstRecords, 0)
			putLeaf(f.page(lastRecords), lastRecords, 1)
		}, "is not in order"},
		"a branch below a branch": {func(f file) {
			putBranch(f.page(free), free, [][]byte{revision(1)}, firstRecords)
			putBranch(f.page(branchOfRecords), branchOfRecords, [][]byte{revision(1), revision(5)}, free, lastRecords)
		}, ""},
		"a branch below a branch with a key of the next": {func(f file) {
			putBranch(f.page(free), free, [][]byte{revision(1), revision(5)}, firstRecords, lastRecords)
			putBranch(f.page(branchOfRecords), branchOfRecords, [][]byte{revision(1), revision(5)}, free, lastRecords)
		}, "is not in order"},
		"a branch that is its own child": {func(f file) {
			putBranch(f.page(branchOfRecords), branchOfRecords, [][]byte{revision(1)}, branchOfRecords)
		}, "page 3 is used twice"},
	} {
		f := sound()
		test.damage(f)
		err := f.check()
		if test.text != "" {
			require.ErrorContains(t, err, test.text, name)
			continue
		}
		require.NoError(t, err, name)
		if !strings.Contains(name, "another size") {
			f.requireReadable(t)
		}
	}
}

func TestATreeOfPagesHasAMostDepth(t *testing.T) {
	for _, depth := range []uint64{mostDepth, mostDepth + 1} {
		high := pageCount + depth
		f := append(sound(), make(file, depth*testPage)...)
		f.setMeta(0, testPage, bucketsPage, high, 7)
		f.setMeta(1, testPage, bucketsPage, high, 8)
		putLeaf(f.page(bucketsPage), bucketsPage, 0, item{[]byte("key"), bucket(pageCount), true})
		for id := uint64(pageCount); id < high; id++ {
			next := id + 1
			if next == high {
				next = firstRecords
			}
			putBranch(f.page(id), id, [][]byte{revision(1)}, next)
		}
		if err := f.check(); depth == mostDepth {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "it has the flags 1 at depth 64")
		}
	}
}

func TestTheSecondRootIsFoundByItsPageSize(t *testing.T) {
	for size := uint64(minPageSize / 2); size <= 2*maxPageSize; size *= 2 {
		f := make(file, size+testPage)
		f.setMeta(0, size, bucketsPage, pageCount, 7)
		copy(f[size:], f[:headerSize+metaSize])
		clear(f[:headerSize+metaSize])
		m, ok := newestMeta(bytes.NewReader(f))
		require.Equal(t, minPageSize <= size && size <= maxPageSize, ok, size)
		if ok {
			require.Equal(t, meta{size, bucketsPage, pageCount, 7}, m)
		}
	}
}

func TestAFileThatIsCutIsNoDatabase(t *testing.T) {
	f := sound()
	for size := 0; size < len(f); size += 64 {
		require.Error(t, readPages(t.Context(), bytes.NewReader(f[:size]), int64(size)), size)
		if err := readPages(t.Context(), bytes.NewReader(f[:size]), int64(len(f))); size < free*testPage {
			require.Error(t, err, "%d bytes although the file has had more", size)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, readPages(ended, bytes.NewReader(f), int64(len(f))), context.Canceled)
}

// FuzzPages checks that bbolt can read what readPages accepts.
func FuzzPages(f *testing.F) {
	f.Add(uint16(0), []byte{})
	f.Add(uint16(bucketsPage*testPage+8), []byte{1})
	f.Add(uint16(branchOfRecords*testPage), []byte{0})
	f.Add(uint16(firstRecords*testPage+headerSize), []byte{1, 0, 0, 0, 0xff})
	f.Fuzz(func(t *testing.T, at uint16, noise []byte) {
		damaged := sound()
		if int(at) >= len(damaged) {
			return
		}
		copy(damaged[at:], noise)
		if damaged.check() == nil {
			damaged.requireReadable(t)
		}
	})
}
