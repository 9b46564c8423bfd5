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
	"math"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
)

// ErrExpired says that the lease of a member could not be renewed in time.
var ErrExpired = errors.New("the member's lease was not renewed in time")

// members is the kind of the members' records.
const members conductor.Kind = "members"

// Membership is the [conductor.Membership] of the conductors that share a store, which may be any [conductor.Store]. A
// member is a record, and its lease is renewed by each update of it. Every member reads all records ten times per TTL,
// and deletes one whose revision has not changed for the TTL by its own clock. The clock of the server and the readings
// of all clocks do not matter. A member has lost its membership by its own clock when two thirds of the TTL have passed
// since it sent the last successful renewal. The others see that renewal later, and thus delete the record later.
type Membership struct {
	Store conductor.Store
	TTL   time.Duration // of the leases; the same for all members

	renewed sync.Map // to the time.Time at which the last successful renewal was sent, by the member's ID
}

// Alive implements [conductor.Membership].
func (m *Membership) Alive(ctx context.Context, id string) (bool, error) {
	_, err := m.Store.Get(ctx, members, id)
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
	return time.Until(sent.Add(m.TTL * 2 / 3))
}

// Join implements [conductor.Membership].
func (m *Membership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if err := m.claim(ctx, self); err != nil {
			if ctx.Err() == nil {
				yield(nil, fmt.Errorf("member %s (%s): %w", self.ID, self.Hostname, err))
			}
			return
		}
		defer m.remove(ctx, self.ID)
		defer m.renewed.Delete(self.ID)
		within, end := context.WithCancelCause(ctx) // ends with the membership
		var keeping sync.WaitGroup
		keeping.Go(func() { end(m.keep(within, self.ID)) })
		defer keeping.Wait()
		defer end(nil)
		var seen map[string]sighting
		for ok := true; ok; ok = sleep.For(within, m.TTL/10) {
			var list []conductor.Member
			var err error
			if list, seen, err = m.look(within, self.ID, seen); err != nil {
				end(err)
			}
			if list != nil && within.Err() == nil && !yield(list, nil) {
				return
			}
		}
		if ctx.Err() == nil {
			yield(nil, context.Cause(within))
		}
	}
}

// claim creates the record of a member. It waits until the lease of another member with the name has ended, and returns
// [conductor.ErrNameTaken] if that lease is renewed twice meanwhile: once may be the last request of a dead process.
func (m *Membership) claim(ctx context.Context, self conductor.Member) error {
	value, err := json.Marshal(self)
	if err != nil {
		return err
	}
	record := conductor.Record{Kind: members, ID: self.ID, Keys: []string{"name=" + self.Hostname}, Value: value}
	for seen := (sighting{}); ; sleep.For(ctx, m.TTL/10) {
		sent := time.Now()
		_, err := m.Store.Create(ctx, record)
		var duplicate *conductor.DuplicateError
		switch {
		case err == nil:
			m.renewed.Store(self.ID, sent)
			return nil
		case !errors.As(err, &duplicate), duplicate.Key == self.ID:
			return err
		}
		other, err := m.Store.Get(ctx, members, duplicate.Key)
		switch seen = seen.next(other); {
		case errors.Is(err, conductor.NotFound):
		case err != nil:
			return err
		case seen.renewals == 2:
			return conductor.ErrNameTaken
		default:
			m.expire(ctx, seen)
		}
	}
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
	if time.Since(s.at) >= m.TTL {
		_, _ = m.Store.Delete(ctx, members, s.ID, s.Revision) // repeated with the next look
	}
}

// keep renews a lease until the context ends or the lease may have ended.
func (m *Membership) keep(ctx context.Context, id string) error {
	for sleep.For(ctx, min(m.TTL/5, m.left(id))) {
		if m.left(id) <= 0 {
			return ErrExpired
		}
		sent := time.Now()
		once, cancel := context.WithTimeout(ctx, m.TTL/5)
		r, err := m.Store.Get(once, members, id) // an earlier renewal that failed may have been done
		if err == nil {
			_, err = m.Store.Update(once, r)
		}
		cancel()
		if err == nil {
			m.renewed.Store(id, sent)
		}
	}
	return ctx.Err()
}

// remove deletes the record of a member that leaves, which an interrupted renewal may change meanwhile. If it fails,
// the lease expires.
func (m *Membership) remove(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.TTL/2)
	defer cancel()
	for err := conductor.ErrConflict; errors.Is(err, conductor.ErrConflict); {
		var r conductor.Record
		if r, err = m.Store.Get(ctx, members, id); err == nil {
			_, err = m.Store.Delete(ctx, members, id, r.Revision)
		}
	}
}

// look deletes the members whose leases have ended. It returns the list of members if it is another than before, and
// the sightings of all by ID. Without an answer of the store it returns no list: the next look may get one, or the
// member loses its own lease.
func (m *Membership) look(ctx context.Context, self string, before map[string]sighting) ([]conductor.Member, map[string]sighting, error) {
	ctx, cancel := context.WithTimeout(ctx, m.TTL/5)
	defer cancel()
	records, err := m.Store.List(ctx, members, "", math.MaxInt32)
	if err != nil {
		return nil, before, nil
	}
	var list []conductor.Member
	seen := make(map[string]sighting, len(records))
	for _, r := range records {
		var member conductor.Member
		err = cmp.Or(err, json.Unmarshal(r.Value, &member))
		list, seen[r.ID] = append(list, member), before[r.ID].next(r)
		m.expire(ctx, seen[r.ID])
	}
	if _, ok := seen[self]; !ok {
		return nil, nil, ErrExpired
	}
	if maps.EqualFunc(seen, before, func(_, _ sighting) bool { return true }) { // the same IDs
		list = nil
	}
	return list, seen, err
}
