// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/try"
)

func (t *tester) checkWatch(ctx context.Context) {
	former := t.create(ctx, t.record(9))
	t.delete(ctx, former)
	var records []conductor.Record
	for i := range 3 {
		records = append(records, t.create(ctx, t.record(i, fmt.Sprintf("name=%d", i))))
	}
	followers := t.followAll(ctx)
	reachAll(ctx, followers, records...)
	for _, f := range followers {
		f.wantNothing(former.ID)
		if seen := f.seen(); len(seen) != 4 || !seen[3].Synced {
			try.Failf("want the three records and then Synced, got %d changes, the last %+v", len(seen), seen[len(seen)-1])
		}
	}
	for i := range 5 {
		records[1].Keys, records[1].Value = []string{fmt.Sprintf("name=new-%d", i)}, fmt.Append(nil, i)
		records[1] = t.update(ctx, records[1])
		reachAll(ctx, followers, records...)
	}
	gone := t.delete(ctx, records[1])
	records[1] = t.create(ctx, t.record(3))
	reachAll(ctx, followers, records...)
	for _, f := range followers {
		f.wantDeletion(id(1), gone)
		f.wantNothing(former.ID)
	}
	endAll(followers)
}

func (f *follower) wantDeletion(id string, revision int64) {
	seen := f.seen()
	if !slices.ContainsFunc(seen, func(c conductor.Change) bool {
		return c.Deleted && c.Record.ID == id && c.Record.Kind == f.kind && c.Record.Revision == revision
	}) {
		try.Failf("no change reports the deletion of %s by the revision %d: %+v", id, revision, seen[len(seen)-1])
	}
}

// wantNothing fails for a change of a record that was deleted before the watch began.
func (f *follower) wantNothing(id string) {
	seen := f.seen()
	if i := slices.IndexFunc(seen, func(c conductor.Change) bool { return c.Record.ID == id }); i >= 0 {
		try.Failf("the watch yields %s, which was deleted before the watch began", brief(seen[i].Record))
	}
}

func (t *tester) checkWatchKind(ctx context.Context) {
	apart := &tester{stores: t.stores, kind: t.kind + "-apart"}
	before := apart.create(ctx, apart.record(1))
	r := t.create(ctx, t.record(2))
	followers := t.followAll(ctx)
	reachAll(ctx, followers, r)
	before = apart.update(ctx, before)
	apart.delete(ctx, before)
	r = t.update(ctx, r)
	reachAll(ctx, followers, r)
	endAll(followers)
}

// history holds all written records.
type history struct {
	mu      sync.Mutex
	records map[string]map[int64]conductor.Record // by ID and revision
}

func (h *history) add(r conductor.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.records[r.ID] == nil {
		h.records[r.ID] = make(map[int64]conductor.Record)
	}
	h.records[r.ID][r.Revision] = r
}

// checkWatchDuringWrites starts watches before, during and after writes, and one that reads only
// after all writes.
func (t *tester) checkWatchDuringWrites(ctx context.Context) {
	gate := make(chan struct{})
	followers := append(t.followAll(ctx), t.follow(ctx, t.store(), gate))
	written := &history{records: make(map[string]map[int64]conductor.Record)}
	var begin sync.Mutex
	errs := t.together(func(i int, s conductor.Store) {
		for turn := range 30 {
			t.writeSomething(ctx, s, i, turn, written)
			if turn == 10+i && i%4 == 0 {
				begin.Lock()
				followers = append(followers, t.follow(ctx, s, nil))
				begin.Unlock()
			}
		}
	})
	close(gate)
	try.OK(errors.Join(errs...))
	followers = append(followers, t.followAll(ctx)...)
	all := pages(ctx, t.store(), t.kind, "", 100, nil)
	for _, f := range followers {
		f.reach(ctx, all...)
		f.verify(written)
	}
	endAll(followers)
}

// checkWatchedIsRead reads each record as soon as a watch at the same handle has yielded it.
func (t *tester) checkWatchedIsRead(ctx context.Context) {
	const records = 500
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i, s := range t.stores {
		t := &tester{stores: t.stores, kind: t.kind + conductor.Kind(fmt.Sprint("-", i))}
		written := make(chan error, 1)
		go func() {
			written <- guarded(func() {
				for n := range records {
					try.Get(s.Create(ctx, t.record(n)))
				}
			})
		}()
		t.readWatched(ctx, s, records)
		try.OKf(<-written, "create")
	}
}

// readWatched reads each record that a watch yields, until it has yielded a number of them.
func (t *tester) readWatched(ctx context.Context, s conductor.Store, records int) {
	each(s.Watch(ctx, t.kind), func(change conductor.Change) bool {
		if change.Synced || change.Deleted {
			return true
		}
		r, err := s.Get(ctx, t.kind, change.Record.ID)
		if err != nil || r.Revision < change.Record.Revision {
			try.Failf("the watch has yielded %s, for which Get returns the revision %d and the error %v",
				brief(change.Record), r.Revision, err)
		}
		records--
		return records > 0
	})
	if records > 0 {
		try.Failf("the watch has ended early")
	}
}

// writeSomething creates, updates or deletes one of a few records.
func (t *tester) writeSomething(ctx context.Context, s conductor.Store, writer, turn int, written *history) {
	random := rand.New(rand.NewPCG(uint64(writer), uint64(turn)))
	mine := t.record(random.IntN(20), fmt.Sprintf("writer=%d-%d", writer, turn))
	mine.Value = fmt.Appendf(nil, "writer %d, turn %d", writer, turn)
	old, err := s.Get(ctx, t.kind, mine.ID)
	switch {
	case errors.Is(err, conductor.NotFound):
		mine.Revision, err = s.Create(ctx, mine)
	case err != nil:
		try.OK(err)
	case random.IntN(4) == 0:
		_, err = s.Delete(ctx, t.kind, mine.ID, old.Revision)
		mine.Revision = 0
	default:
		mine.Revision = old.Revision
		mine.Revision, err = s.Update(ctx, mine)
	}
	var duplicate *conductor.DuplicateError
	switch {
	case errors.As(err, &duplicate), errors.Is(err, conductor.ErrConflict), errors.Is(err, conductor.NotFound):
		return // another writer was faster
	case err != nil:
		try.OK(err)
	case mine.Revision != 0:
		written.add(mine)
	}
}

// verify checks that each record was yielded as it was written.
func (f *follower) verify(written *history) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.changes {
		if c.Synced || c.Deleted {
			continue
		}
		r, ok := written.records[c.Record.ID][c.Record.Revision]
		if !ok {
			try.Failf("the watch yields %s, which was never written", brief(c.Record))
		}
		try.OKf(same(r, c.Record), "the watch yields a record that differs from the written one")
	}
}

func (t *tester) checkWatchEnds(ctx context.Context) {
	r := t.create(ctx, t.record(1))
	followers := t.followAll(ctx)
	reachAll(ctx, followers, r)
	try.Within("a context that ends", func() { endAll(followers) })
	ended, cancel := context.WithCancel(ctx)
	cancel()
	try.Within("a context that has ended before", func() { endAll(t.followAll(ended)) })
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	try.Within("a context that ends during a change", func() {
		each(t.store().Watch(ending, t.kind), func(conductor.Change) bool { cancel(); return true })
	})
}

func (t *tester) checkWatchLeft(ctx context.Context) {
	r := t.create(ctx, t.record(1))
	stays := t.follow(ctx, t.store(), nil)
	stays.reach(ctx, r)
	for leave := range 3 {
		seen := 0
		each(t.store().Watch(ctx, t.kind), func(conductor.Change) bool {
			if seen == leave {
				return false
			}
			if seen++; seen == 2 {
				r = t.update(ctx, r)
			}
			return true
		})
	}
	for range 20 {
		r = t.update(ctx, r)
		try.Within("another watch", func() { stays.reach(ctx, r) })
	}
	try.OK(stays.end())
}

func (t *tester) checkContext(ctx context.Context) {
	r := t.create(ctx, t.record(1, "name=a"))
	gone := t.create(ctx, t.record(3))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	s := t.store()
	for name, call := range map[string]func(context.Context){
		"Get":    func(ctx context.Context) { _, _ = s.Get(ctx, t.kind, r.ID) },
		"List":   func(ctx context.Context) { _, _ = s.List(ctx, t.kind, "", 10) },
		"Create": func(ctx context.Context) { _, _ = s.Create(ctx, t.record(2, "name=b")) },
		"Update": func(ctx context.Context) { _, _ = s.Update(ctx, r) },
		"Delete": func(ctx context.Context) { _, _ = s.Delete(ctx, t.kind, gone.ID, gone.Revision) },
		"Watch": func(ctx context.Context) {
			for range s.Watch(ctx, t.kind) { // until it ends
			}
		},
	} {
		_, err := boundedcall.Do(ended, grace, func(ctx context.Context) (struct{}, error) { call(ctx); return struct{}{}, nil })
		var panicked *boundedcall.PanicError
		if errors.As(err, &panicked) {
			try.OKf(err, "%s", name)
		}
		if err != nil {
			try.Failf("%s did not return within %v after the end of its context: %v", name, grace, err)
		}
	}
	for {
		r, err := t.store().Get(ctx, t.kind, "name=a")
		try.OKf(err, "get after the calls with an ended context")
		r.Revision, err = t.store().Update(ctx, r)
		if errors.Is(err, conductor.ErrConflict) {
			continue // the update above has succeeded
		}
		try.OKf(err, "update after the calls with an ended context")
		t.stored(ctx, r)
		return
	}
}
