package powersync

import (
	"context"
	"time"
)

// recoverAll takes all nodes that failed through a recovery round.
func (s *Syncer) recoverAll(ctx context.Context) (Counts, error) {
	p := s.newPool(ctx, RecoveryRound, s.recoverNode)
	err := p.list(func(r Record) (wanted bool, skip Outcome) {
		skip = SkipRecovery(r)
		return skip != SkippedEnroll && skip != SkippedNoPowerFailure, skip
	})
	return p.finish(), err
}

// recoverNode takes one node through a recovery round.
func (s *Syncer) recoverNode(ctx context.Context, id string) Event {
	past := s.recoveryFailures.of(id)
	if !past.until.IsZero() && time.Now().Before(past.until) {
		return Event{ID: id, Outcome: SkippedBackoff}
	}
	for range maxReloads {
		r, err := s.store.load(ctx, id)
		e := Event{ID: id, Recorded: r.Power, Attempts: past.count + 1}
		switch skip := SkipRecovery(r); {
		case err != nil:
			return s.storeFailed(ctx, e, err)
		case skip != NoOutcome:
			return e.as(skip, nil)
		}
		if e = s.recoverRecord(ctx, r, e); e.Outcome != conflict {
			return e
		}
	}
	return Event{ID: id, Outcome: SkippedChanged}
}

func (s *Syncer) recoverRecord(ctx context.Context, r Record, e Event) Event {
	err := s.validate(ctx, r.ID)
	if err == nil {
		e.Read, err = s.readPower(ctx, r.ID)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return e.as(Interrupted, err)
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
