// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
)

// checkUnseenDeletion deletes records that were created while the caller of a watch is in the body of its loop: one
// before Synced, and one after it.
func (t *tester) checkUnseenDeletion(ctx context.Context) error {
	if _, err := t.create(ctx, t.record(0)); err != nil {
		return err
	}
	var early, late, next conductor.Record
	want := map[string]bool{} // the IDs whose deletions the watch has not yielded
	for change, err := range t.store().Watch(ctx, t.kind) {
		switch {
		case err != nil:
			return err
		case early.ID == "":
			if early, err = t.create(ctx, t.record(1)); err != nil {
				return err
			}
		case change.Synced:
			if late, err = t.create(ctx, t.record(2)); err != nil {
				return err
			}
			for _, r := range []conductor.Record{early, late} {
				if _, err := t.delete(ctx, r); err != nil {
					return err
				}
				want[r.ID] = true
			}
			if next, err = t.create(ctx, t.record(3)); err != nil {
				return err
			}
		case change.Deleted:
			delete(want, change.Record.ID)
		case next.ID != "" && change.Record.ID == next.ID:
			for id := range want {
				return fmt.Errorf("the deletion of %s is not yielded, but a later change is", id)
			}
			return nil
		}
	}
	return errors.New("the watch ends")
}

func (t *tester) checkSlowWatcher(ctx context.Context) error {
	r, err := t.create(ctx, t.record(1))
	if err != nil {
		return err
	}
	other, err := t.create(ctx, t.record(2))
	if err != nil {
		return err
	}
	gate := make(chan struct{})
	slow := t.follow(ctx, t.store(), gate)
	select {
	case <-slow.news:
	case <-ctx.Done():
		close(gate)
		return errors.New("the watch yields nothing")
	}
	for i := range 300 {
		r.Value = bytes.Repeat([]byte{byte(i)}, 16<<10)
		if r, err = t.update(ctx, r); err != nil {
			close(gate)
			return err
		}
	}
	close(gate)
	if err := slow.reach(ctx, r, other); err != nil {
		return err
	}
	return slow.end()
}
