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
func (m *Membership) Holds(id string) bool { return m.remaining(id) > 0 }

// remaining returns the time until a member loses its membership by the clock of this process.
func (m *Membership) remaining(id string) time.Duration {
	at, _ := m.renewed.Load(id)
	sent, _ := at.(time.Time)
	return time.Until(sent.Add(m.TTL * 2 / 3))
}

// Join implements [conductor.Membership].
func (m *Membership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if err := m.register(ctx, self); err != nil {
			if ctx.Err() == nil {
				yield(nil, fmt.Errorf("member %s (%s): %w", self.ID, self.Hostname, err))
			}
			return
		}
		defer m.leave(ctx, self.ID)
		defer m.renewed.Delete(self.ID)
		within, end := context.WithCancelCause(ctx) // ends with the membership
		var renewing sync.WaitGroup
		renewing.Go(func() { end(m.renew(within, self.ID)) })
		defer renewing.Wait()
		defer end(nil)
		var seen observations
		for ok := true; ok; ok = wait(within, m.TTL/10) {
			list, now, err := m.list(within, self.ID, seen)
			if seen = now; err != nil {
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

// register creates the record of a member. It waits until the lease of another member with the name has ended, and
// returns [conductor.ErrNameTaken] if that lease is renewed twice meanwhile: once may be the last request of a dead
// process.
func (m *Membership) register(ctx context.Context, self conductor.Member) error {
	value, err := json.Marshal(self)
	if err != nil {
		return err
	}
	record := conductor.Record{Kind: members, ID: self.ID, Keys: []string{"name=" + self.Hostname}, Value: value}
	for seen := (observation{}); ; wait(ctx, m.TTL/10) {
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
		if other, err := m.Store.Get(ctx, members, duplicate.Key); err == nil {
			seen = m.observe(ctx, seen, other)
		} else if !errors.Is(err, conductor.NotFound) {
			return err
		}
		if seen.renewals == 2 {
			return conductor.ErrNameTaken
		}
	}
}

// observation is the last revision of a member's record that this process has seen, since when by its own clock, and
// how often it has seen the revision change.
type observation struct {
	conductor.Record
	since    time.Time
	renewals int
}

type observations map[string]observation // by the member's ID

// observe returns the observation after the record was read again. It deletes a record whose revision has not changed
// for the TTL. If the lease is renewed meanwhile, the store refuses the deletion, since the revision is another one.
func (m *Membership) observe(ctx context.Context, o observation, r conductor.Record) observation {
	switch {
	case o.ID != r.ID:
		return observation{r, time.Now(), 0}
	case o.Revision != r.Revision:
		return observation{r, time.Now(), o.renewals + 1}
	case time.Since(o.since) >= m.TTL:
		_, _ = m.Store.Delete(ctx, members, o.ID, o.Revision) // if it fails, the next call repeats it
	}
	return o
}

// renew renews a lease until the context ends or the lease may have ended.
func (m *Membership) renew(ctx context.Context, id string) error {
	for wait(ctx, min(m.TTL/5, m.remaining(id))) {
		if m.remaining(id) <= 0 {
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

// leave deletes the record of a member that leaves, which an interrupted renewal may change meanwhile. If it fails,
// the lease expires.
func (m *Membership) leave(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.TTL/2)
	defer cancel()
	for err := conductor.ErrConflict; errors.Is(err, conductor.ErrConflict); {
		var r conductor.Record
		if r, err = m.Store.Get(ctx, members, id); err == nil {
			_, err = m.Store.Delete(ctx, members, id, r.Revision)
		}
	}
}

// list reads and observes the records of all members, and returns the members. It returns nil if they are the same as
// before, or if the store does not answer: the next call may get an answer, or the member loses its own lease.
func (m *Membership) list(ctx context.Context, self string, before observations) ([]conductor.Member, observations, error) {
	ctx, cancel := context.WithTimeout(ctx, m.TTL/5)
	defer cancel()
	records, err := m.Store.List(ctx, members, "", math.MaxInt32)
	if err != nil {
		return nil, before, nil
	}
	var list []conductor.Member
	seen := make(observations, len(records))
	for _, r := range records {
		var member conductor.Member
		err = cmp.Or(err, json.Unmarshal(r.Value, &member))
		list, seen[r.ID] = append(list, member), m.observe(ctx, before[r.ID], r)
	}
	if _, ok := seen[self]; !ok {
		return nil, nil, ErrExpired
	}
	if maps.EqualFunc(seen, before, func(_, _ observation) bool { return true }) { // the same IDs
		list = nil
	}
	return list, seen, err
}

// wait waits for a time, and returns false if the context has ended.
func wait(ctx context.Context, d time.Duration) bool {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
	return ctx.Err() == nil
}
