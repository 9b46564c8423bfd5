// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
)

func (t *tester) checkRevision(ctx context.Context) error {
	old, err := t.create(ctx, t.record(1, "name=a"))
	if err != nil {
		return err
	}
	now := old
	now.Value = []byte("first")
	if now, err = t.update(ctx, now); err != nil {
		return err
	}
	for _, revision := range []int64{old.Revision, now.Revision + 1, 0, -1} {
		late := old
		late.Value, late.Revision = []byte("late"), revision
		_, err := t.update(ctx, late)
		if err := wantError(conductor.ErrConflict, err); err != nil {
			return fmt.Errorf("update of revision %d with %d: %w", now.Revision, revision, err)
		}
		_, err = t.delete(ctx, late)
		if err := wantError(conductor.ErrConflict, err); err != nil {
			return fmt.Errorf("delete of revision %d with %d: %w", now.Revision, revision, err)
		}
		if err := t.stored(ctx, now); err != nil {
			return err
		}
	}
	if _, err := t.delete(ctx, now); err != nil {
		return err
	}
	again, err := t.create(ctx, t.record(1, "name=a"))
	if err != nil {
		return err
	}
	_, err = t.update(ctx, now)
	if err := wantError(conductor.ErrConflict, err); err != nil {
		return fmt.Errorf("update of a record that was deleted and created again: %w", err)
	}
	return t.stored(ctx, again)
}

func (t *tester) checkFailedWrite(ctx context.Context) error {
	first, err := t.create(ctx, t.record(1, "name=a"))
	if err != nil {
		return err
	}
	second, err := t.create(ctx, t.record(2, "name=b"))
	if err != nil {
		return err
	}
	duplicate := t.record(3, "name=new", "name=a")
	_, err = t.create(ctx, duplicate)
	if err := wantDuplicate(err, t.kind, "name=a"); err != nil {
		return err
	}
	change := second
	change.Keys, change.Value = []string{"name=new", "name=a"}, []byte("changed")
	_, err = t.update(ctx, change)
	if err := wantDuplicate(err, t.kind, "name=a"); err != nil {
		return err
	}
	stale := second
	stale.Keys, stale.Value, stale.Revision = []string{"name=new"}, []byte("stale"), second.Revision-1
	_, err = t.update(ctx, stale)
	if err := wantError(conductor.ErrConflict, err); err != nil {
		return err
	}
	for _, key := range []string{"name=new", id(3)} {
		if err := t.absent(ctx, key); err != nil {
			return err
		}
	}
	return errors.Join(t.stored(ctx, first), t.stored(ctx, second))
}

func (t *tester) checkRevisionsGrow(ctx context.Context) error {
	r := t.record(1)
	r.Revision = 1 << 40 // ignored by Create
	r, err := t.create(ctx, r)
	if err != nil {
		return err
	}
	if r.Revision <= 0 {
		return fmt.Errorf("a record has the revision %d, want a revision above 0", r.Revision)
	}
	for range 20 {
		before := r.Revision
		if r, err = t.update(ctx, r); err != nil {
			return err
		}
		if r.Revision <= before {
			return fmt.Errorf("an update of revision %d, which changes nothing else, returns %d", before, r.Revision)
		}
		if err := t.stored(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
