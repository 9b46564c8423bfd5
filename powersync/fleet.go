// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ironstate/ironstate/states"
)

// fleet handles the nodes of a Store and a Driver. Unlike another [Handler] it also carries out power requests, and
// reserves its nodes in the Syncer's name.
type fleet struct {
	*reservations // with the store
	driver        boundedDriver
	config        *Config
	limit         *forceLimit
	lists         *calls // by purpose
}

// newFleet makes the fleet of a Syncer that is complete but for its Handler and its reservations.
func newFleet(s *Syncer) *fleet {
	c, rs := &s.config, &s.reserved
	rs.name, rs.store = c.Name, &boundedStore{Store: c.Store, calls: newCalls(c.Timeout, c.grace())}
	rs.reporter, rs.failures, rs.settleTime = &s.reporter, &s.syncFailures, min(maxSettleTime, c.Timeout/4)
	return &fleet{
		reservations: rs,
		driver: boundedDriver{
			driver: c.Driver, canForce: c.CanForce, calls: newCalls(c.Timeout, c.grace()), timeout: c.SetPowerTimeout(),
			counters: &s.counters,
		},
		config: c, limit: &s.limit, lists: s.lists,
	}
}

// Records implements [Handler].
func (f *fleet) Records(ctx context.Context) iter.Seq2[Record, error] { return f.store.Records(ctx) }

// Sync implements [Handler].
func (f *fleet) Sync(ctx context.Context, id string, past Failures) (Action, error) {
	r, err := f.loadFree(ctx, id)
	if err != nil {
		return Action{}, err
	}
	past.LastError = f.failures.of(id).LastError // loadFree may have stored one
	policy := f.config.Policy
	if SkipSync(r) != "" {
		_, a := Decide(r, Reading{}, past, policy)
		return a, nil
	}
	reading := f.driver.read(ctx, id, r.Power == states.NoPower)
	after, a := Decide(r, reading, past, policy)
	if a.Outcome == Forced {
		switch forces, err := f.driver.forces(ctx, id); {
		case err != nil:
			after, a.Event = r, a.notAsked(ForceFailed, err)
		case !forces:
			policy.RecordOnly = true
			after, a = Decide(r, reading, past, policy)
		}
	}
	switch {
	case a.Err != nil && ctx.Err() != nil:
		return Action{a.as(Interrupted, a.Err), past}, nil
	case a.Outcome == Forced:
		return f.force(ctx, r, after, a, past)
	case after != r:
		err = f.store.update(ctx, after)
	}
	return a, err
}

// force sets the hardware to the recorded power state, with the node reserved.
func (f *fleet) force(ctx context.Context, r, reserved Record, a Action, past Failures) (Action, error) {
	if !f.claim(r.ID) {
		return Action{a.notAsked(SkippedReservation, nil), past}, nil
	}
	undo, ok := f.limit.take(time.Now())
	if !ok {
		f.drop(r.ID)
		return Action{a.notAsked(ForceLimited, nil), past}, nil
	}
	if err := f.reserve(ctx, r, reserved); err != nil {
		undo()
		return a, err
	}
	err := f.driver.set(ctx, r.ID, a.Asked)
	if errors.Is(err, errNotCalled) {
		undo()
	}
	interrupted := err != nil && ctx.Err() != nil
	e, _ := f.release(ctx, r.ID, func(now Record) (Record, Event) { // e has the error
		if interrupted {
			return now.released(), a.as(Interrupted, err)
		}
		after, settled := Settle(now, a, err)
		return after, settled.Event
	})
	if interrupted {
		return Action{e, past}, nil
	}
	return Action{e, a.Failures.failed(e)}, nil
}

// Recover implements [Handler].
func (f *fleet) Recover(ctx context.Context, id string, past Failures) (Action, error) {
	r, err := f.store.load(ctx, id)
	if err != nil {
		return Action{}, err
	}
	var reading Reading
	if SkipRecovery(r) == "" {
		reading = f.driver.read(ctx, id, true)
	}
	after, a := DecideRecovery(r, reading, past)
	switch {
	case a.Err != nil && ctx.Err() != nil:
		return Action{a.as(Interrupted, a.Err), past}, nil
	case after != r:
		err = f.store.update(ctx, after)
	}
	return a, err
}
