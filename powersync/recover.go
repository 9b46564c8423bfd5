package powersync

import (
	"context"
	"time"
)

// recoverAll handles all nodes in maintenance with a power failure.
func (s *Syncer) recoverAll(ctx context.Context) (map[Outcome]int, error) {
	p := s.newPool(ctx, recoveryRound, s.recoverNode)
	err := p.list(func(r Record) (wanted bool, skip Outcome) {
		skip = skipRecovery(r)
		return skip != skippedEnroll && skip != skippedNoPowerFailure, skip
	})
	return p.finish(), err
}

// recoverNode handles one node in a recovery round.
func (s *Syncer) recoverNode(ctx context.Context, id string) Event {
	past := s.recoveryFailures.of(id)
	if !past.until.IsZero() && time.Now().Before(past.until) {
		return Event{ID: id, Outcome: skippedBackoff}
	}
	for range maxReloads {
		if e := s.recoverOnce(ctx, Event{ID: id, Attempts: past.count + 1}); e.Outcome != conflict {
			return e
		}
	}
	return Event{ID: id, Outcome: skippedChanged}
}

// recoverOnce handles a node until its record changes; see syncOnce.
func (s *Syncer) recoverOnce(ctx context.Context, e Event) Event {
	r, err := s.store.load(ctx, e.ID)
	if err != nil {
		return s.storeFailed(ctx, e, err)
	}
	e.Recorded = r.Power
	if skip := skipRecovery(r); skip != "" {
		return e.as(skip, nil)
	}
	return s.recoverRecord(ctx, r, e)
}

func (s *Syncer) recoverRecord(ctx context.Context, r Record, e Event) Event {
	err := s.validate(ctx, r.ID)
	if err == nil {
		e.Read, err = s.readPower(ctx, r.ID)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return e.as(interrupted, err)
	case err != nil:
		e = e.as(ReadFailed, err)
		s.noteFailure(&s.recoveryFailures, e)
		return e
	}
	r.Power = e.Read
	r.Maintenance = false
	r.MaintenanceReason = ""
	r.Fault = ""
	if e = s.write(ctx, r, e.as(Recovered, nil)); e.Outcome == Recovered {
		s.recoveryFailures.forget(r.ID)
	}
	return e
}
