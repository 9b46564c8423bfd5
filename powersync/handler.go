// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Handler handles nodes in place of a [Store] and a [Driver], for a service that reads its hardware
// and stores and reserves its nodes by itself. It uses the rules [Decide], [Settle] and
// [DecideRecovery]; the Syncer calls it for each node of a round and keeps the failures. Sync and
// Recover are called by many goroutines at once. A Syncer makes a Handler of its Store and Driver.
// With another Handler, its Set, Begin and Reclaim return a [*ConfigError].
type Handler interface {
	// Records yields the records of all nodes, as [Store] does.
	Records(ctx context.Context) iter.Seq2[Record, error]
	// Sync handles a node in a sync round, Recover in a recovery round. The failures of the action
	// replace past; an attempt that does not count returns past.
	//
	// An error comes from the service's store. It says that nothing of the action was stored or asked of
	// the hardware, and the attempt does not count. If it matches [ErrConflict], the record has changed
	// since it was loaded: the Syncer calls the method again, with reloaded set, a few times. If it
	// matches [ErrNotFound], the node was deleted. A panic counts as such an error, a [*machine.PanicError].
	Sync(ctx context.Context, id string, past Failures, reloaded bool) (Action, error)
	Recover(ctx context.Context, id string, past Failures, reloaded bool) (Action, error)
}

// Emit counts, logs and reports an event of a [Handler] that is not the result of a round, such as
// the one of a power request.
func (s *Syncer) Emit(ctx context.Context, e Event) { s.reporter.emit(ctx, e) }

// AllowForce reports whether a [Handler] may set hardware in a round, within [Config.ForceLimit]. If
// the hardware is not set after all, the handler calls undo.
func (s *Syncer) AllowForce() (undo func(), ok bool) { return s.limit.take(time.Now()) }

// errHandled is the error of Begin and Reclaim of a Syncer with a Handler, which has neither Store nor Driver.
var errHandled = &ConfigError{
	Package: "powersync", Field: "Handler", Err: errors.New("power requests and reservations are up to the Handler"),
}

// fleet is a Syncer as the [Handler] of its Store and Driver.
type fleet struct{ *Syncer }

// Records implements [Handler].
func (f fleet) Records(ctx context.Context) iter.Seq2[Record, error] { return f.store.Records(ctx) }

// Sync implements [Handler].
func (f fleet) Sync(ctx context.Context, id string, past Failures, reloaded bool) (Action, error) {
	r, err := f.reservations.loadFree(ctx, id)
	if err != nil {
		return Action{}, err
	}
	past.LastError = f.syncFailures.of(id).LastError // loadFree may have stored one
	policy := f.config.Policy
	if SkipSync(r) != "" {
		_, a := Decide(r, Reading{}, past, policy)
		if !reloaded {
			a.Failures = past
		}
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
func (f fleet) force(ctx context.Context, r, reserved Record, a Action, past Failures) (Action, error) {
	if !f.reservations.claim(r.ID) {
		return Action{a.notAsked(SkippedReservation, nil), past}, nil
	}
	undo, ok := f.limit.take(time.Now())
	if !ok {
		f.reservations.drop(r.ID)
		return Action{a.notAsked(ForceLimited, nil), past}, nil
	}
	if err := f.reservations.reserve(ctx, r, reserved); err != nil {
		undo()
		return a, err
	}
	err := f.driver.set(ctx, r.ID, a.Asked)
	if errors.Is(err, errNotCalled) {
		undo()
	}
	interrupted := err != nil && ctx.Err() != nil
	e, _ := f.reservations.release(ctx, r.ID, func(now Record) (Record, Event) { // e has the error
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
func (f fleet) Recover(ctx context.Context, id string, past Failures, _ bool) (Action, error) {
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
