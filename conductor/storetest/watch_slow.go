// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
)

// checkUnseenDeletion creates and deletes a record while the caller of a watch is in the body of its loop.
func (t *tester) checkUnseenDeletion(ctx context.Context) error {
	var gone, next conductor.Record
	for change, err := range t.store().Watch(ctx, t.kind) {
		switch {
		case err != nil:
			return err
		case change.Synced:
			r, err := t.create(ctx, t.record(1))
			if err != nil {
				return err
			}
			if _, err := t.delete(ctx, r); err != nil {
				return err
			}
			gone = r
			if next, err = t.create(ctx, t.record(2)); err != nil {
				return err
			}
		case gone.ID != "" && change.Deleted && change.Record.ID == gone.ID:
			return nil
		case next.ID != "" && change.Record.ID == next.ID:
			return fmt.Errorf("the deletion of %s is not yielded, but a later change is", gone.ID)
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
