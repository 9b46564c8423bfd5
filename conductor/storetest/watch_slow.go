// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"sync"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
)

// checkUnseenDeletion deletes records that were created while the caller of a watch is in the body of its loop: one
// before Synced, and one after it.
func (t *tester) checkUnseenDeletion(ctx context.Context) {
	t.create(ctx, t.record(0))
	var early, late, next conductor.Record
	want := map[string]bool{} // the IDs whose deletions the watch has not yielded
	seen := false             // whether the watch has yielded next
	each(t.store().Watch(ctx, t.kind), func(change conductor.Change) bool {
		switch {
		case early.ID == "":
			early = t.create(ctx, t.record(1))
		case change.Synced:
			late = t.create(ctx, t.record(2))
			for _, r := range []conductor.Record{early, late} {
				t.delete(ctx, r)
				want[r.ID] = true
			}
			next = t.create(ctx, t.record(3))
		case change.Deleted:
			delete(want, change.Record.ID)
		case next.ID != "" && change.Record.ID == next.ID:
			for id := range want {
				try.Failf("the deletion of %s is not yielded, but a later change is", id)
			}
			seen = true
		}
		return !seen
	})
	if !seen {
		try.Failf("the watch ends")
	}
}

func (t *tester) checkSlowWatcher(ctx context.Context) {
	r := t.create(ctx, t.record(1))
	other := t.create(ctx, t.record(2))
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	slow := t.follow(ctx, t.store(), gate)
	select {
	case <-slow.news:
	case <-ctx.Done():
		try.Failf("the watch yields nothing")
	}
	for i := range 300 {
		r.Value = bytes.Repeat([]byte{byte(i)}, 16<<10)
		r = t.update(ctx, r)
	}
	open()
	slow.reach(ctx, r, other)
	try.OK(slow.end())
}
