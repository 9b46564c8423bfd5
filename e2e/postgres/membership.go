// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
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
// renewed by each update of it. Every member reads all records ten times per TTL, and deletes one whose revision has
// not changed for the TTL by its own clock. The clock of the server and the readings of all clocks do not matter. A
// member has lost its membership by its own clock when two thirds of the TTL have passed since it sent the last
// successful renewal. The others have seen that renewal later, so that they delete the record later.
//
// It needs nothing of PostgreSQL: any [conductor.Store] will do.
type Membership struct {
	store   conductor.Store
	ttl     time.Duration
	renewed sync.Map // to the time.Time at which the last successful renewal was sent, by the member's ID
}

// NewMembership returns the membership of the conductors of a store, with the TTL of their leases.
func NewMembership(store conductor.Store, ttl time.Duration) *Membership {
	return &Membership{store: store, ttl: ttl}
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
	at, _ := m.renewed.Load(id)
	sent, _ := at.(time.Time)
	return time.Until(sent.Add(m.ttl * 2 / 3))
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
		defer m.renewed.Delete(self.ID)
		within, cancel := context.WithCancel(ctx)
		lost := make(chan error, 1)
		var keeping sync.WaitGroup
		keeping.Go(func() { lost <- m.keep(within, record) })
		defer keeping.Wait()
		defer cancel()
		v := view{Membership: m, self: self.ID}
		for {
			if list, err := v.look(ctx); list != nil || err != nil {
				if ctx.Err() != nil || !yield(list, err) || err != nil {
					return
				}
			}
			select {
			case err := <-lost:
				if ctx.Err() == nil {
					yield(nil, err)
				}
				return
			case <-time.After(m.ttl / 10):
			case <-ctx.Done():
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
	for err == nil {
		sent := time.Now()
		if record.Revision, err = m.store.Create(ctx, record); err == nil {
			m.renewed.Store(self.ID, sent)
			break
		}
		var duplicate *conductor.DuplicateError
		if !errors.As(err, &duplicate) || duplicate.Key == self.ID {
			break
		}
		var other conductor.Record
		other, err = m.store.Get(ctx, members, duplicate.Key)
		switch seen = seen.next(other); {
		case errors.Is(err, conductor.NotFound):
			err = nil
		case err == nil && seen.renewals == 2:
			err = conductor.ErrNameTaken
		case err == nil:
			m.expire(ctx, seen)
			sleep.For(ctx, m.ttl/10)
		}
	}
	return record, err
}

// sighting is a member's record, when this process has first seen its revision, and how many revisions it has seen
// after the first one.
type sighting struct {
	conductor.Record
	at       time.Time
	renewals int
}

// next returns the sighting of a record after an earlier one.
func (s sighting) next(r conductor.Record) sighting {
	switch {
	case s.ID != r.ID:
		return sighting{r, time.Now(), 0}
	case s.Revision != r.Revision:
		return sighting{r, time.Now(), s.renewals + 1}
	}
	return s
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
			m.renewed.Store(r.ID, sent)
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

// view is what a member sees of all members.
type view struct {
	*Membership
	self  string
	seen  map[string]sighting // by ID
	shown []string            // the IDs of the last list
}

// look deletes the members whose leases have ended, and returns the list of members if it is another than before.
// Without an answer of the store it returns nothing: the next look may get one, or the member loses its own lease.
func (v *view) look(ctx context.Context) (list []conductor.Member, err error) {
	bounded, cancel := context.WithTimeout(ctx, v.ttl/5)
	defer cancel()
	records, err := v.store.List(bounded, members, "", math.MaxInt32)
	if err != nil {
		return nil, nil
	}
	seen := make(map[string]sighting, len(records))
	var ids []string
	for _, r := range records {
		var m conductor.Member
		err = cmp.Or(err, json.Unmarshal(r.Value, &m))
		list, ids, seen[r.ID] = append(list, m), append(ids, r.ID), v.seen[r.ID].next(r)
		v.expire(bounded, seen[r.ID])
	}
	v.seen = seen
	switch {
	case !slices.Contains(ids, v.self):
		return nil, ErrExpired
	case err == nil && slices.Equal(ids, v.shown):
		return nil, nil
	}
	v.shown = ids
	return list, err
}
