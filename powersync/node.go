package powersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// maxLooks is how often a node is looked at whose record changes meanwhile.
const maxLooks = 4

// syncNode takes one node through a sync round.
func (s *Syncer) syncNode(ctx context.Context, c *caller, id string) Event {
	if until := s.failing.of(id).until; !until.IsZero() && time.Now().Before(until) {
		return Event{ID: id, Outcome: SkippedBackoff}
	}
	for looks := range maxLooks {
		r, err := s.loadReclaimed(ctx, id)
		if err != nil {
			return s.storeFailed(ctx, Event{ID: id}, err)
		}
		if skip := SkipSync(r); skip != NoOutcome {
			locked := skip == SkippedTarget || skip == SkippedReservation
			if looks > 0 && !locked {
				s.failing.forget(id)
			}
			return Event{ID: id, Outcome: skip, Recorded: r.Power}
		}
		if e := s.syncRecord(ctx, c, r); e.Outcome != conflict {
			return e
		}
	}
	return Event{ID: id, Outcome: SkippedChanged}
}

func (s *Syncer) syncRecord(ctx context.Context, c *caller, r Record) Event {
	e := Event{ID: r.ID, Recorded: r.Power, Attempts: s.failing.of(r.ID).count + 1}
	if r.Power == states.NoPower {
		if err := c.validate(ctx, r.ID); err != nil {
			if ctx.Err() != nil {
				return e.as(Interrupted, err)
			}
			s.failing.forget(r.ID)
			return e.as(SkippedConfig, err)
		}
	}

	var err error
	e.Read, err = c.read(ctx, r.ID)
	last := e.Attempts > s.config.MaxRetries
	switch {
	case err != nil && ctx.Err() != nil:
		return e.as(Interrupted, err)
	case err != nil && last:
		return s.giveUp(ctx, r, e.as(IntoMaintenance, err))
	case err != nil:
		e = e.as(ReadFailed, err)
		s.noteFailure(&s.failing, e)
		return e
	case e.Read == r.Power:
		return s.equal(ctx, r, e)
	case r.Power == states.NoPower:
		r.Power = e.Read
		return s.good(r.ID, s.write(ctx, r, e.as(Recorded, nil)))
	case last:
		return s.giveUp(ctx, r, e.as(IntoMaintenance, nil))
	default:
		return s.differ(ctx, c, r, e)
	}
}

// equal clears a last error that a round stored, since it no longer holds. What
// others stored stays: power sync cannot tell whether that still holds.
func (s *Syncer) equal(ctx context.Context, r Record, e Event) Event {
	e.Outcome = Equal
	if ours := s.failing.of(r.ID).lastError; ours != "" && r.LastError == ours {
		e.setLastError(&r, "")
		e = s.write(ctx, r, e)
	}
	return s.good(r.ID, e)
}

// good forgets the failures of a node unless the event tells of another one.
func (s *Syncer) good(id string, e Event) Event {
	if (e.Outcome == Equal || e.Outcome == Recorded) && e.Attempts > 1 {
		s.failing.forget(id)
	}
	return e
}

// giveUp puts a node that failed too often into maintenance.
func (s *Syncer) giveUp(ctx context.Context, r Record, e Event) Event {
	why := fmt.Sprintf("power sync failed %d times in a row", e.Attempts)
	switch {
	case e.Err == nil:
		why += fmt.Sprintf(": recorded is %q, the hardware is in %q, which is recorded now", r.Power, e.Read)
		r.Power = e.Read
	case s.config.ForgetUnread:
		why += fmt.Sprintf(": the power state cannot be read, %q is recorded no longer: %v", r.Power, e.Err)
		r.Power = states.NoPower
	default:
		why += fmt.Sprintf(": the power state cannot be read: %v", e.Err)
	}
	r.Maintenance = true
	r.MaintenanceReason = why
	r.Fault = FaultPowerFailure
	e.setLastError(&r, why)
	if e = s.write(ctx, r, e); e.Outcome == IntoMaintenance {
		s.noteFailure(&s.failing, e)
	}
	return e
}

// differ deals with hardware that is not in the recorded power state.
func (s *Syncer) differ(ctx context.Context, c *caller, r Record, e Event) Event {
	forces, err := s.forces(&r)
	switch {
	case err != nil:
		e = e.as(ForceFailed, err)
	case forces:
		e = s.force(ctx, c, r, e)
	default:
		r.Power = e.Read
		e = s.write(ctx, r, e.as(Corrected, nil))
	}
	switch e.Outcome {
	case Corrected, Forced, ForceFailed:
		s.noteFailure(&s.failing, e)
	}
	return e
}

// forces reports whether hardware is set where it differs.
func (s *Syncer) forces(r *Record) (yes bool, err error) {
	if s.config.RecordOnly || r.DisablePowerOff {
		return false, nil
	}
	forcer, ok := s.config.Driver.(Forcer)
	if !ok {
		return true, nil
	}
	defer recoverTo(&err)
	return forcer.CanForce(r.ID), nil
}

// force sets the hardware to what is recorded, holding the node.
func (s *Syncer) force(ctx context.Context, c *caller, r Record, e Event) Event {
	if !s.holds.claim(r.ID) {
		return e.as(SkippedReservation, nil)
	}
	giveBack, ok := s.limit.take(time.Now())
	if !ok {
		s.holds.drop(r.ID)
		return e.as(ForceHeld, nil)
	}
	held := r
	held.TargetPower = r.Power
	if err := s.reserve(ctx, r, held); err != nil {
		giveBack()
		return s.storeFailed(ctx, e, err)
	}
	e.Asked = r.Power
	err := c.set(ctx, r.ID, r.Power)
	e = e.as(Forced, nil)
	edit := noEdit
	switch {
	case err != nil && ctx.Err() != nil:
		e = e.as(Interrupted, err)
	case err != nil:
		e = e.as(ForceFailed, err)
		why := fmt.Sprintf("power sync could not set %q: %v", e.Asked, err)
		edit = func(r *Record, e *Event) { e.setLastError(r, why) }
	}
	e, err = s.release(ctx, e, edit)
	if err != nil {
		e.Err = errors.Join(e.Err, err)
	}
	return e
}

// write stores a record and returns the event, or another one if that failed.
func (s *Syncer) write(ctx context.Context, r Record, e Event) Event {
	if err := s.store.update(ctx, r); err != nil {
		e.LastError, e.ClearedError = "", ""
		return s.storeFailed(ctx, e, err)
	}
	return e
}

// storeFailed returns what it is that a store's error stands for.
func (s *Syncer) storeFailed(ctx context.Context, e Event, err error) Event {
	switch {
	case errors.Is(err, ErrConflict):
		return e.as(conflict, nil)
	case errors.Is(err, ErrNotFound):
		s.failing.forget(e.ID)
		s.ailing.forget(e.ID)
		return e.as(SkippedGone, nil)
	case ctx.Err() != nil:
		return e.as(Interrupted, err)
	default:
		return e.as(StoreFailed, err)
	}
}
