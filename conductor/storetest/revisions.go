// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
)

func (t *tester) checkRevision(ctx context.Context) {
	old := t.create(ctx, t.record(1, "name=a"))
	now := old
	now.Value = []byte("first")
	now = t.update(ctx, now)
	for _, revision := range []int64{old.Revision, now.Revision + 1, 0, -1} {
		late := old
		late.Value, late.Revision = []byte("late"), revision
		numbers := fmt.Sprintf("of revision %d with %d", now.Revision, revision)
		t.refused(ctx, late, conductor.ErrConflict, "update "+numbers, "delete "+numbers)
		t.stored(ctx, now)
	}
	t.delete(ctx, now)
	again := t.create(ctx, t.record(1, "name=a"))
	_, err := t.store().Update(ctx, now)
	try.OKf(wantError(conductor.ErrConflict, err), "update of a record that was deleted and created again")
	t.stored(ctx, again)
}

func (t *tester) checkFailedWrite(ctx context.Context) {
	first := t.create(ctx, t.record(1, "name=a"))
	second := t.create(ctx, t.record(2, "name=b"))
	duplicate := t.record(3, "name=new", "name=a")
	_, err := t.store().Create(ctx, duplicate)
	try.OK(wantDuplicate(err, t.kind, "name=a"))
	change := second
	change.Keys, change.Value = []string{"name=new", "name=a"}, []byte("changed")
	_, err = t.store().Update(ctx, change)
	try.OK(wantDuplicate(err, t.kind, "name=a"))
	stale := second
	stale.Keys, stale.Value, stale.Revision = []string{"name=new"}, []byte("stale"), second.Revision-1
	_, err = t.store().Update(ctx, stale)
	try.OK(wantError(conductor.ErrConflict, err))
	for _, key := range []string{"name=new", id(3)} {
		t.absent(ctx, key)
	}
	t.stored(ctx, first)
	t.stored(ctx, second)
}

func (t *tester) checkRevisionsGrow(ctx context.Context) {
	r := t.record(1)
	r.Revision = 1 << 40 // ignored by Create
	if r = t.create(ctx, r); r.Revision <= 0 {
		try.Failf("a record has the revision %d, want a revision above 0", r.Revision)
	}
	for range 20 {
		before := r.Revision
		if r = t.update(ctx, r); r.Revision <= before {
			try.Failf("an update of revision %d, which changes nothing else, returns %d", before, r.Revision)
		}
		t.stored(ctx, r)
	}
}
