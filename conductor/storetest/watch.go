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
)

func (t *tester) checkWatch(ctx context.Context) error {
	former, err := t.create(ctx, t.record(9))
	if err != nil {
		return err
	}
	if _, err := t.delete(ctx, former); err != nil {
		return err
	}
	var records []conductor.Record
	for i := range 3 {
		r, err := t.create(ctx, t.record(i, fmt.Sprintf("name=%d", i)))
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	followers := t.followAll(ctx)
	if err := reachAll(ctx, followers, records...); err != nil {
		return err
	}
	for _, f := range followers {
		if err := f.wantNothing(former.ID); err != nil {
			return err
		}
		if seen := f.seen(); len(seen) != 4 || !seen[3].Synced {
			return fmt.Errorf("want the three records and then Synced, got %d changes, the last %+v", len(seen), seen[len(seen)-1])
		}
	}
	for i := range 5 {
		var err error
		records[1].Keys, records[1].Value = []string{fmt.Sprintf("name=new-%d", i)}, fmt.Append(nil, i)
		if records[1], err = t.update(ctx, records[1]); err != nil {
			return err
		}
		if err := reachAll(ctx, followers, records...); err != nil {
			return err
		}
	}
	gone, err := t.delete(ctx, records[1])
	if err != nil {
		return err
	}
	records[1], err = t.create(ctx, t.record(3))
	if err != nil {
		return err
	}
	if err := reachAll(ctx, followers, records...); err != nil {
		return err
	}
	for _, f := range followers {
		if err := f.wantDeletion(id(1), gone); err != nil {
			return err
		}
		if err := f.wantNothing(former.ID); err != nil {
			return err
		}
	}
	return endAll(followers)
}

func (f *follower) wantDeletion(id string, revision int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.changes {
		if c.Deleted && c.Record.ID == id && c.Record.Kind == f.kind && c.Record.Revision == revision {
			return nil
		}
	}
	return fmt.Errorf("no change reports the deletion of %s by the revision %d: %+v", id, revision, f.changes[len(f.changes)-1])
}

// wantNothing returns an error for a change of a record that was deleted before the watch began.
func (f *follower) wantNothing(id string) error {
	seen := f.seen()
	if i := slices.IndexFunc(seen, func(c conductor.Change) bool { return c.Record.ID == id }); i >= 0 {
		return fmt.Errorf("the watch yields %s, which was deleted before the watch began", brief(seen[i].Record))
	}
	return nil
}

func (t *tester) checkWatchKind(ctx context.Context) error {
	apart := &tester{stores: t.stores, kind: t.kind + "-apart"}
	before, err := apart.create(ctx, apart.record(1))
	if err != nil {
		return err
	}
	r, err := t.create(ctx, t.record(2))
	if err != nil {
		return err
	}
	followers := t.followAll(ctx)
	if err := reachAll(ctx, followers, r); err != nil {
		return err
	}
	if before, err = apart.update(ctx, before); err != nil {
		return err
	}
	if _, err := apart.delete(ctx, before); err != nil {
		return err
	}
	if r, err = t.update(ctx, r); err != nil {
		return err
	}
	if err := reachAll(ctx, followers, r); err != nil {
		return err
	}
	return endAll(followers)
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
func (t *tester) checkWatchDuringWrites(ctx context.Context) error {
	gate := make(chan struct{})
	followers := append(t.followAll(ctx), t.follow(ctx, t.store(), gate))
	written := &history{records: make(map[string]map[int64]conductor.Record)}
	var begin sync.Mutex
	errs := t.together(func(i int, s conductor.Store) error {
		for turn := range 30 {
			if err := t.writeSomething(ctx, s, i, turn, written); err != nil {
				return err
			}
			if turn == 10+i && i%4 == 0 {
				begin.Lock()
				followers = append(followers, t.follow(ctx, s, nil))
				begin.Unlock()
			}
		}
		return nil
	})
	close(gate)
	followers = append(followers, t.followAll(ctx)...)
	all, err := pages(ctx, t.store(), t.kind, "", 100, nil)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	for _, f := range followers {
		if err := f.reach(ctx, all...); err != nil {
			return err
		}
		if err := f.verify(written); err != nil {
			return err
		}
	}
	return endAll(followers)
}

// checkWatchedIsRead reads each record as soon as a watch at the same handle has yielded it.
func (t *tester) checkWatchedIsRead(ctx context.Context) error {
	const records = 500
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i, s := range t.stores {
		t := &tester{stores: t.stores, kind: t.kind + conductor.Kind(fmt.Sprint("-", i))}
		written := make(chan error, 1)
		go func() {
			var err error
			for n := 0; n < records && err == nil; n++ {
				_, err = s.Create(ctx, t.record(n))
			}
			written <- err
		}()
		if err := t.readWatched(ctx, s, records); err != nil {
			return err
		}
		if err := <-written; err != nil {
			return fmt.Errorf("create: %w", err)
		}
	}
	return nil
}

// readWatched reads each record that a watch yields, until it has yielded a number of them.
func (t *tester) readWatched(ctx context.Context, s conductor.Store, records int) error {
	for change, err := range s.Watch(ctx, t.kind) {
		switch {
		case err != nil:
			return err
		case change.Synced || change.Deleted:
			continue
		}
		r, err := s.Get(ctx, t.kind, change.Record.ID)
		if err != nil || r.Revision < change.Record.Revision {
			return fmt.Errorf("the watch has yielded %s, for which Get returns the revision %d and the error %v",
				brief(change.Record), r.Revision, err)
		}
		if records--; records == 0 {
			return nil
		}
	}
	return errors.New("the watch has ended early")
}

// writeSomething creates, updates or deletes one of a few records.
func (t *tester) writeSomething(ctx context.Context, s conductor.Store, writer, turn int, written *history) error {
	random := rand.New(rand.NewPCG(uint64(writer), uint64(turn)))
	mine := t.record(random.IntN(20), fmt.Sprintf("writer=%d-%d", writer, turn))
	mine.Value = fmt.Appendf(nil, "writer %d, turn %d", writer, turn)
	old, err := s.Get(ctx, t.kind, mine.ID)
	switch {
	case errors.Is(err, conductor.NotFound):
		mine.Revision, err = s.Create(ctx, mine)
	case err != nil:
		return err
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
		return nil // another writer was faster
	case err != nil:
		return err
	case mine.Revision != 0:
		written.add(mine)
	}
	return nil
}

// verify checks that each record was yielded as it was written.
func (f *follower) verify(written *history) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.changes {
		if c.Synced || c.Deleted {
			continue
		}
		r, ok := written.records[c.Record.ID][c.Record.Revision]
		if !ok {
			return fmt.Errorf("the watch yields %s, which was never written", brief(c.Record))
		}
		if err := same(r, c.Record); err != nil {
			return fmt.Errorf("the watch yields a record that differs from the written one: %w", err)
		}
	}
	return nil
}

func (t *tester) checkWatchEnds(ctx context.Context) error {
	r, err := t.create(ctx, t.record(1))
	if err != nil {
		return err
	}
	followers := t.followAll(ctx)
	if err := reachAll(ctx, followers, r); err != nil {
		return err
	}
	if err := endAll(followers); err != nil {
		return fmt.Errorf("a context that ends: %w", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := endAll(t.followAll(ended)); err != nil {
		return fmt.Errorf("a context that has ended before: %w", err)
	}
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, err := range t.store().Watch(ending, t.kind) {
		if err != nil {
			return fmt.Errorf("a context that ends during a change: %w", err)
		}
		cancel()
	}
	return nil
}

func (t *tester) checkWatchLeft(ctx context.Context) error {
	r, err := t.create(ctx, t.record(1))
	if err != nil {
		return err
	}
	stays := t.follow(ctx, t.store(), nil)
	if err := stays.reach(ctx, r); err != nil {
		return err
	}
	for leave := range 3 {
		seen := 0
		for _, err := range t.store().Watch(ctx, t.kind) {
			if err != nil {
				return err
			}
			if seen == leave {
				break
			}
			if seen++; seen == 2 {
				if r, err = t.update(ctx, r); err != nil {
					return err
				}
			}
		}
	}
	for range 20 {
		if r, err = t.update(ctx, r); err != nil {
			return err
		}
		if err := stays.reach(ctx, r); err != nil {
			return fmt.Errorf("another watch: %w", err)
		}
	}
	return stays.end()
}

func (t *tester) checkContext(ctx context.Context) error {
	r, err := t.create(ctx, t.record(1, "name=a"))
	if err != nil {
		return err
	}
	gone, err := t.create(ctx, t.record(3))
	if err != nil {
		return err
	}
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
		if err != nil {
			return fmt.Errorf("%s did not return within %v after the end of its context: %v", name, grace, err)
		}
	}
	for {
		if r, err = t.store().Get(ctx, t.kind, "name=a"); err != nil {
			return fmt.Errorf("get after the calls with an ended context: %w", err)
		}
		r, err = t.update(ctx, r)
		if errors.Is(err, conductor.ErrConflict) {
			continue // the update above has succeeded
		}
		if err != nil {
			return fmt.Errorf("update after the calls with an ended context: %w", err)
		}
		return t.stored(ctx, r)
	}
}
