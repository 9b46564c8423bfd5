// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"time"

	"github.com/ironstate/ironstate/states"
)

// maxReloads is how often a round loads a node whose record keeps changing.
const maxReloads = 4

// syncAll handles all nodes in a round: first those that could not be released, then
// those with the most failures, then the others.
func (s *Syncer) syncAll(ctx context.Context) (map[Outcome]int, error) {
	handle := s.syncNode
	if s.config.Handler != nil {
		handle = s.handled(&s.syncFailures, s.config.Handler.Sync)
	}
	p := s.newPool(ctx, syncRound, &s.syncFailures, handle)
	first := append(s.holds.unsaved(), s.syncFailures.byCount()...)
	queued := make(map[string]struct{}, len(first))
	for _, id := range first {
		if _, twice := queued[id]; twice {
			continue
		}
		queued[id] = struct{}{}
		p.enqueue(id)
	}
	err := p.list(func(r Record) (wanted bool, skip Outcome) {
		_, done := queued[r.ID]
		if r.Reservation == s.config.Name && s.config.Handler == nil {
			return !done, "" // the reservation may be one to reclaim
		}
		return !done, SkipSync(r)
	})
	return p.finish(), err
}

// recoverAll handles all nodes in maintenance with a power failure.
func (s *Syncer) recoverAll(ctx context.Context) (map[Outcome]int, error) {
	handle := s.recoverNode
	if s.config.Handler != nil {
		handle = s.handled(&s.recoveryFailures, s.config.Handler.Recover)
	}
	p := s.newPool(ctx, recoveryRound, &s.recoveryFailures, handle)
	err := p.list(func(r Record) (wanted bool, skip Outcome) {
		skip = SkipRecovery(r)
		return skip != SkippedEnroll && skip != SkippedNoPowerFailure, skip
	})
	return p.finish(), err
}

// syncNode handles a node in a sync round; its outcome is conflict if the record changes
// meanwhile.
func (s *Syncer) syncNode(ctx context.Context, id string, reloaded bool) Event {
	r, err := s.holds.loadFree(ctx, id)
	if err != nil {
		return s.storeFailed(ctx, Event{ID: id}, err)
	}
	past, policy := s.syncFailures.of(id).Failures, s.config.Policy
	if skip := SkipSync(r); skip != "" {
		if _, a := Decide(r, Reading{}, past, policy); reloaded && a.Failures != past {
			s.syncFailures.keep(a)
		}
		return Event{ID: id, Outcome: skip, Recorded: r.Power}
	}
	reading := s.driver.read(ctx, id, r.Power == states.NoPower)
	after, a := Decide(r, reading, past, policy)
	if a.Outcome == Forced {
		switch forces, err := s.driver.forces(ctx, id); {
		case err != nil:
			after, a.Event = r, a.notAsked(ForceFailed, err)
		case !forces:
			policy.RecordOnly = true
			after, a = Decide(r, reading, past, policy)
		}
	}
	switch {
	case a.Err != nil && ctx.Err() != nil:
		return a.as(Interrupted, a.Err)
	case a.Outcome == Forced:
		if a = s.force(ctx, r, after, a); a.Outcome != Forced && a.Outcome != ForceFailed {
			return a.Event
		}
	case after != r:
		if err := s.store.update(ctx, after); err != nil {
			a.LastError, a.ClearedError = "", ""
			return s.storeFailed(ctx, a.Event, err)
		}
	}
	if a.Outcome == IntoMaintenance {
		s.recoveryFailures.forget(id)
	}
	s.syncFailures.keep(a)
	return a.Event
}

// force sets the hardware to the recorded power state, holding the node. The attempt
// counts if the outcome is Forced or ForceFailed.
func (s *Syncer) force(ctx context.Context, r, held Record, a Action) Action {
	if !s.holds.claim(r.ID) {
		a.Event = a.notAsked(SkippedReservation, nil)
		return a
	}
	undo, ok := s.limit.take(time.Now())
	if !ok {
		s.holds.drop(r.ID)
		a.Event = a.notAsked(ForceHeldBack, nil)
		return a
	}
	if err := s.holds.reserve(ctx, r, held); err != nil {
		undo()
		a.Event = s.storeFailed(ctx, a.notAsked(StoreFailed, err), err)
		return a
	}
	err := s.driver.set(ctx, r.ID, a.Asked)
	if errors.Is(err, errNotCalled) {
		undo()
	}
	forced := a // settle may be called later
	unsaved, settle := a.Event, func(now Record) (Record, Event) {
		after, settled := Settle(now, forced, err)
		return after, settled.Event
	}
	switch {
	case err != nil && ctx.Err() != nil:
		unsaved = a.as(Interrupted, err)
		settle = func(now Record) (Record, Event) { return now.released(), unsaved }
	case err != nil:
		unsaved = a.as(ForceFailed, err)
	}
	e, notSaved := s.holds.release(ctx, unsaved, settle)
	if notSaved != nil {
		e.Err = errors.Join(e.Err, notSaved)
	}
	a.Event, a.Failures = e, a.Failures.failed(e)
	return a
}

// recoverNode handles a node in a recovery round; its outcome is conflict if the record
// changes meanwhile.
func (s *Syncer) recoverNode(ctx context.Context, id string, _ bool) Event {
	r, err := s.store.load(ctx, id)
	if err != nil {
		return s.storeFailed(ctx, Event{ID: id}, err)
	}
	if skip := SkipRecovery(r); skip != "" {
		return Event{ID: id, Outcome: skip, Recorded: r.Power}
	}
	after, a := DecideRecovery(r, s.driver.read(ctx, id, true), s.recoveryFailures.of(id).Failures)
	if a.Err != nil && ctx.Err() != nil {
		return a.as(Interrupted, a.Err)
	}
	if after != r {
		if err := s.store.update(ctx, after); err != nil {
			return s.storeFailed(ctx, a.Event, err)
		}
	}
	s.recoveryFailures.keep(a)
	return a.Event
}

// storeFailed returns the event with the outcome that corresponds to a store's error.
func (s *Syncer) storeFailed(ctx context.Context, e Event, err error) Event {
	switch {
	case errors.Is(err, ErrConflict):
		return e.as(conflict, nil)
	case errors.Is(err, ErrNotFound):
		s.syncFailures.forget(e.ID)
		s.recoveryFailures.forget(e.ID)
		return e.as(SkippedDeleted, nil)
	case ctx.Err() != nil:
		return e.as(Interrupted, err)
	default:
		return e.as(StoreFailed, err)
	}
}
