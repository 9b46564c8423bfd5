// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
)

func (t *tester) checkContent(ctx context.Context) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	large, random := make([]byte, 1<<20), rand.New(rand.NewPCG(1, 0))
	for i := range large {
		large[i] = byte(random.Uint32())
	}
	many := make([]string, 16)
	for i := range many {
		many[i] = fmt.Sprintf("number=%d", i)
	}
	for i, r := range []conductor.Record{
		{},
		{Value: []byte(`{"name":"rack1-7"}`)},
		{Value: every, Keys: []string{"name=rack1-7", "instance_uuid=" + id(7)}},
		{Value: []byte("\n"), Keys: []string{"a/b", "%2f", "ä€😀", " ", "\n", "'; --", "[\"x\"]", "NAME=RACK1-7"}},
		{Value: large, Keys: []string{"name=" + strings.Repeat("x", 255)}},
		{Value: []byte{0}, Keys: many},
	} {
		r.Kind, r.ID = t.kind, id(i)
		r := t.create(ctx, r)
		t.stored(ctx, r)
		for _, value := range [][]byte{nil, bytes.Repeat([]byte{0xff}, 1<<20), r.Value} {
			r.Value = value
			r = t.update(ctx, r)
			t.stored(ctx, r)
		}
	}
}

func (t *tester) checkNotFound(ctx context.Context) {
	page, err := t.store().List(ctx, t.kind, "", 10)
	if err != nil || len(page) != 0 {
		try.Failf("list of nothing: want no record, got %s, %v", briefs(page), err)
	}
	r := t.create(ctx, t.record(1, "name=a"))
	for _, key := range []string{id(2), "name=b", "name=", "name=aa", id(1)[:8]} {
		t.absent(ctx, key)
	}
	r.ID = id(2)
	t.refused(ctx, r, conductor.NotFound, "update", "delete")
}

func (t *tester) checkUnique(ctx context.Context) {
	first := t.create(ctx, t.record(1, "name=a", "instance=b"))
	second := t.create(ctx, t.record(2, "name=c", id(9)))
	for _, c := range []struct {
		r   conductor.Record
		key string
	}{
		{t.record(1), id(1)},
		{t.record(3, "name=a"), "name=a"},
		{t.record(3, "name=d", "instance=b"), "instance=b"},
		{t.record(3, id(1)), id(1)},
		{t.record(9), id(9)},
	} {
		_, err := t.store().Create(ctx, c.r)
		try.OKf(wantDuplicate(err, t.kind, c.key), "create %s", brief(c.r))
	}
	for _, key := range []string{"name=a", "instance=b", id(1)} {
		change := second
		change.Keys = []string{"name=e", key}
		_, err := t.store().Update(ctx, change)
		try.OKf(wantDuplicate(err, t.kind, key), "update to %s", brief(change))
	}
	for _, key := range []string{"name=d", "name=e", id(3)} {
		t.absent(ctx, key)
	}
	t.stored(ctx, first)
	t.stored(ctx, second)
}

func (t *tester) checkKeysReplaced(ctx context.Context) {
	r := t.create(ctx, t.record(1, "name=a", "instance=b"))
	for _, keys := range [][]string{
		{"name=a", "instance=b"},
		{"instance=b", "name=c"},
		{"name=c"},
		{"name=c", "x=1", "x=2", "x=3"},
		{},
		{"name=a"},
	} {
		before := r.Keys
		r.Keys = keys
		try.Within(fmt.Sprintf("from the keys %q to %q", before, keys), func() { r = t.update(ctx, r) })
		t.stored(ctx, r)
		for _, key := range before {
			if !slices.Contains(keys, key) {
				t.absent(ctx, key)
			}
		}
	}
	var other conductor.Record
	try.Within("a key that its record no longer has", func() { other = t.create(ctx, t.record(2, "instance=b", "name=c")) })
	t.stored(ctx, r)
	t.stored(ctx, other)
}

func (t *tester) checkDeleted(ctx context.Context) {
	kept := t.create(ctx, t.record(1, "name=kept"))
	last := kept.Revision
	for range 3 {
		last = t.createdAndDeleted(ctx, last)
	}
	var other conductor.Record
	try.Within("keys of a record that was deleted", func() { other = t.create(ctx, t.record(3, "name=a", "instance=b")) })
	page, err := t.store().List(ctx, t.kind, "", 10)
	if err != nil || len(page) != 2 {
		try.Failf("list: want two records, got %s, %v", briefs(page), err)
	}
	t.stored(ctx, kept)
	t.stored(ctx, other)
}

// createdAndDeleted creates a record after the revision last, deletes it, and returns the revision of the deletion.
func (t *tester) createdAndDeleted(ctx context.Context, last int64) int64 {
	r := t.create(ctx, t.record(2, "name=a", "instance=b"))
	if r.Revision <= last {
		try.Failf("a record that was deleted with the revision %d is created again with %d", last, r.Revision)
	}
	r = t.update(ctx, r)
	deleted := t.delete(ctx, r)
	if deleted <= r.Revision {
		try.Failf("the deletion has the revision %d, the record had %d", deleted, r.Revision)
	}
	for _, key := range []string{r.ID, "name=a", "instance=b"} {
		t.absent(ctx, key)
	}
	t.refused(ctx, r, conductor.NotFound, "update after the deletion", "delete for the second time")
	return deleted
}

func (t *tester) checkKinds(ctx context.Context) {
	here := t.create(ctx, t.record(1, "name=a"))
	apart := &tester{stores: t.stores, kind: t.kind + "-apart"}
	for _, key := range []string{id(1), "name=a"} {
		apart.absent(ctx, key)
	}
	there := apart.record(1, "name=a")
	there.Value = []byte("there")
	try.Within("the ID and key of another kind's record", func() { there = apart.create(ctx, there) })
	t.stored(ctx, here)
	apart.stored(ctx, there)
	page, err := t.store().List(ctx, t.kind, "", 10)
	if err != nil || len(page) != 1 {
		try.Failf("list: want one record, got %s, %v", briefs(page), err)
	}
	apart.delete(ctx, there)
	t.stored(ctx, here)
}
