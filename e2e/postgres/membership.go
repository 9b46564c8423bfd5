// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
)

// ErrExpired says that the lease of a member could not be renewed in time.
var ErrExpired = errors.New("the member's lease was not renewed in time")

// members is the kind of the members' records.
const members conductor.Kind = "members"

// Membership is the [conductor.Membership] of the conductors that share a store. A member is a record, and its lease is
// renewed by each update of it. Every member watches the others, and deletes a record whose revision has not changed
// for the TTL by its own clock. The clock of the server and the readings of all clocks do not matter. A member has lost
// its membership by its own clock when two thirds of the TTL have passed since it sent the last successful renewal. The
// others have seen that renewal later, so that they delete the record later.
//
// It needs nothing of PostgreSQL: any [conductor.Store] will do.
type Membership struct {
	store conductor.Store
	ttl   time.Duration

	mu      sync.Mutex
	renewed map[string]time.Time // when the last successful renewal was sent, by the member's ID
}

// NewMembership returns the membership of the conductors of a store, with the TTL of their leases.
func NewMembership(store conductor.Store, ttl time.Duration) *Membership {
	return &Membership{store: store, ttl: ttl, renewed: make(map[string]time.Time)}
}

// Alive implements [conductor.Membership].
func (m *Membership) Alive(ctx context.Context, id string) (bool, error) {
	_, err := m.store.Get(ctx, members, id)
	if errors.Is(err, conductor.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Holds implements [conductor.Membership].
func (m *Membership) Holds(id string) bool { return m.left(id) > 0 }

// left returns the time until a member loses its membership by the clock of this process.
func (m *Membership) left(id string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Until(m.renewed[id].Add(m.ttl * 2 / 3))
}

// renew notes that a renewal was sent at a time and has succeeded.
func (m *Membership) renew(id string, sent time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renewed[id] = sent
}

// forget makes Holds false for a member.
func (m *Membership) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.renewed, id)
}

// report is a list of members or the end of a membership.
type report struct {
	members []conductor.Member
	err     error
}

// Join implements [conductor.Membership].
func (m *Membership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		record, err := m.claim(ctx, self)
		if err != nil {
			if ctx.Err() == nil {
				yield(nil, fmt.Errorf("member %s (%s): %w", self.ID, self.Hostname, err))
			}
			return
		}
		defer m.remove(ctx, self.ID)
		defer m.forget(self.ID)
		within, cancel := context.WithCancel(ctx)
		lists, lost := make(chan report, 1), make(chan report, 1)
		var running sync.WaitGroup
		running.Go(func() { lost <- report{err: m.keep(within, record)} })
		running.Go(func() { m.follow(within, self.ID, lists) })
		defer running.Wait()
		defer cancel()
		for {
			var next report
			select {
			case next = <-lost:
			case next = <-lists:
			case <-ctx.Done():
			}
			if ctx.Err() != nil || !yield(next.members, next.err) || next.err != nil {
				return
			}
		}
	}
}

// claim creates the record of a member. It waits until the lease of another member with the name has ended, and returns
// [conductor.ErrNameTaken] if that lease is renewed twice meanwhile: once may be the last request of a dead process.
func (m *Membership) claim(ctx context.Context, self conductor.Member) (conductor.Record, error) {
	value, err := json.Marshal(self)
	record := conductor.Record{Kind: members, ID: self.ID, Keys: []string{"name=" + self.Hostname}, Value: value}
	var seen sighting
	renewals := 0
	for err == nil {
		sent := time.Now()
		if record.Revision, err = m.store.Create(ctx, record); err == nil {
			m.renew(self.ID, sent)
			break
		}
		var duplicate *conductor.DuplicateError
		if !errors.As(err, &duplicate) || duplicate.Key == self.ID {
			break
		}
		var other conductor.Record
		other, err = m.store.Get(ctx, members, duplicate.Key)
		switch {
		case errors.Is(err, conductor.NotFound):
			err = nil
			continue
		case err == nil && other.ID == seen.ID && other.Revision != seen.Revision:
			renewals++
		case other.ID != seen.ID:
			renewals = 0
		}
		if renewals == 2 {
			return record, conductor.ErrNameTaken
		}
		seen = seen.next(other)
		m.expire(ctx, seen)
		sleep.For(ctx, m.ttl/10)
	}
	return record, err
}

// sighting is a member's record and when this process has first seen its revision.
type sighting struct {
	conductor.Record
	at time.Time
}

// next returns the sighting of a record after an earlier one.
func (s sighting) next(r conductor.Record) sighting {
	if s.ID == r.ID && s.Revision == r.Revision {
		return s
	}
	return sighting{r, time.Now()}
}

// expire deletes the record of a member that has not renewed its lease for the TTL. If it has renewed it since, the
// revision is another one, and the deletion is refused.
func (m *Membership) expire(ctx context.Context, s sighting) {
	if time.Since(s.at) >= m.ttl {
		_, _ = m.store.Delete(ctx, members, s.ID, s.Revision) // repeated with the next look
	}
}

// keep renews a lease until the context ends or the lease may have ended.
func (m *Membership) keep(ctx context.Context, r conductor.Record) error {
	for {
		left := m.left(r.ID)
		if left <= 0 {
			return ErrExpired
		}
		if !sleep.For(ctx, min(m.ttl/5, left)) {
			return ctx.Err()
		}
		sent := time.Now()
		once, cancel := context.WithTimeout(ctx, m.ttl/5)
		revision, err := m.store.Update(once, r)
		if errors.Is(err, conductor.ErrConflict) { // an earlier renewal was done although it has failed
			var now conductor.Record
			if now, err = m.store.Get(once, members, r.ID); err == nil {
				r.Revision = now.Revision
				revision, err = m.store.Update(once, r)
			}
		}
		cancel()
		switch {
		case err == nil:
			r.Revision = revision
			m.renew(r.ID, sent)
		case errors.Is(err, conductor.NotFound):
			return ErrExpired
		}
	}
}

// leaveTimeout bounds the attempt to remove the record of a member that leaves. If it fails, the lease expires.
const leaveTimeout = 2 * time.Second

// remove deletes the record of a member that leaves.
func (m *Membership) remove(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	for ctx.Err() == nil {
		r, err := m.store.Get(ctx, members, id)
		if err == nil {
			_, err = m.store.Delete(ctx, members, id, r.Revision)
		}
		if !errors.Is(err, conductor.ErrConflict) {
			return
		}
	}
}

// follow keeps the list of members in the channel after each change, and deletes members whose leases have ended.
func (m *Membership) follow(ctx context.Context, self string, lists chan report) {
	for ctx.Err() == nil {
		f := &follower{Membership: m, self: self, lists: lists, seen: make(map[string]sighting)}
		var expiring sync.WaitGroup
		within, cancel := context.WithCancel(ctx)
		expiring.Go(func() { f.expireAll(within) })
		for change, err := range m.store.Watch(ctx, members) {
			if err != nil {
				break
			}
			f.take(change)
		}
		cancel()
		expiring.Wait()
		sleep.For(ctx, m.ttl/10)
	}
}

// follower reads one watch of the members.
type follower struct {
	*Membership
	self  string
	lists chan report
	mu    sync.Mutex
	seen  map[string]sighting
	// synced is true when the watch has yielded all members, and shown is the last list, of their IDs.
	synced bool
	shown  []string
}

// take notes a change, and replaces the list if the members are others than before.
func (f *follower) take(change conductor.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch id := change.Record.ID; {
	case change.Synced:
		f.synced = true
	case change.Deleted:
		delete(f.seen, id)
	default:
		f.seen[id] = f.seen[id].next(change.Record)
	}
	ids := slices.Sorted(maps.Keys(f.seen))
	if !f.synced || slices.Equal(ids, f.shown) {
		return
	}
	f.shown = ids
	var next report
	for _, id := range ids {
		var m conductor.Member
		next.err = cmp.Or(next.err, json.Unmarshal(f.seen[id].Value, &m))
		next.members = append(next.members, m)
	}
	if !slices.Contains(ids, f.self) {
		next.err = ErrExpired
	}
	select {
	case <-f.lists: // nobody has read the list before
	default:
	}
	f.lists <- next // does not block: the channel holds one list, and this is the only writer
}

// expireAll deletes the members whose leases have ended, until the context ends.
func (f *follower) expireAll(ctx context.Context) {
	for sleep.For(ctx, f.ttl/10) {
		f.mu.Lock()
		all := slices.Collect(maps.Values(f.seen))
		f.mu.Unlock()
		for _, s := range all {
			f.expire(ctx, s)
		}
	}
}
