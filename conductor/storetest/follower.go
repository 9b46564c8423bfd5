// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
)

// follower reads a watch in a goroutine and keeps its changes.
type follower struct {
	kind conductor.Kind
	stop context.CancelFunc
	over chan struct{} // closed when the range has ended
	// gate, if not nil, blocks the range at each change until it is closed.
	gate chan struct{}

	mu      sync.Mutex
	state   map[string]conductor.Record
	last    map[string]int64 // the last revision of each record, including deletions
	changes []conductor.Change
	synced  bool
	err     error
	news    chan struct{} // holds a token after a change
}

// follow begins a watch.
func (t *tester) follow(ctx context.Context, s conductor.Store, gate chan struct{}) *follower {
	f := &follower{
		kind:  t.kind,
		over:  make(chan struct{}),
		gate:  gate,
		state: make(map[string]conductor.Record),
		last:  make(map[string]int64),
		news:  make(chan struct{}, 1),
	}
	ctx, f.stop = context.WithCancel(ctx)
	go func() {
		defer close(f.over)
		if err := guarded(func() {
			for change, err := range s.Watch(ctx, t.kind) {
				f.take(change, err)
				if gate != nil {
					<-gate
				}
			}
		}); err != nil {
			f.take(conductor.Change{}, err)
		}
	}()
	return f
}

// followAll begins a watch at each handle.
func (t *tester) followAll(ctx context.Context) []*follower {
	var all []*follower
	for _, s := range t.stores {
		all = append(all, t.follow(ctx, s, nil))
	}
	return all
}

// seen returns the changes that were read so far.
func (f *follower) seen() []conductor.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.changes)
}

func (f *follower) take(change conductor.Change, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
	if f.err != nil {
		return
	}
	if f.err = err; err != nil {
		return
	}
	f.changes = append(f.changes, change)
	f.err = f.apply(change)
}

func (f *follower) apply(change conductor.Change) error {
	r := change.Record
	switch {
	case change.Synced && f.synced:
		return errors.New("the watch yields Synced twice")
	case change.Synced:
		f.synced = true
		return nil
	case r.Kind != f.kind:
		return fmt.Errorf("a watch of %s yields %s", f.kind, brief(r))
	case r.Revision < f.last[r.ID]:
		return fmt.Errorf("%s comes after the revision %d", brief(r), f.last[r.ID])
	}
	f.last[r.ID] = r.Revision
	if change.Deleted {
		delete(f.state, r.ID)
	} else {
		f.state[r.ID] = r
	}
	return nil
}

// reach waits until the follower is synced and has exactly these records.
func (f *follower) reach(ctx context.Context, records ...conductor.Record) {
	want := make(map[string]conductor.Record)
	for _, r := range records {
		want[r.ID] = r
	}
	for {
		if f.knows(want) {
			return
		}
		select {
		case <-f.news:
		case <-f.over:
			f.knows(want) // fails with the error of the watch, if it has one
			try.Failf("the watch has ended although its context has not")
		case <-ctx.Done():
			f.lag(want)
			return
		}
	}
}

func (f *follower) knows(want map[string]conductor.Record) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	try.OK(f.err)
	return f.synced && maps.EqualFunc(f.state, want, func(a, b conductor.Record) bool { return same(a, b) == nil })
}

// lag fails with a change which the follower lacks.
func (f *follower) lag(want map[string]conductor.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.synced {
		try.Failf("the watch never yields Synced")
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		try.OKf(same(want[id], f.state[id]), "the watch has not yielded what is stored")
	}
	for _, id := range slices.Sorted(maps.Keys(f.state)) {
		if _, ok := want[id]; !ok {
			try.Failf("the watch does not yield the deletion of %s", brief(f.state[id]))
		}
	}
}

// end cancels the watch's context and returns the follower's error, if it has one.
func (f *follower) end() error {
	f.stop()
	<-f.over
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// reachAll waits until every follower is synced and has exactly these records.
func reachAll(ctx context.Context, followers []*follower, records ...conductor.Record) {
	for _, f := range followers {
		f.reach(ctx, records...)
	}
}

func endAll(followers []*follower) {
	var errs []error
	for _, f := range followers {
		errs = append(errs, f.end())
	}
	try.OK(errors.Join(errs...))
}
