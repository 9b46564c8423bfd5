package powersync

import (
	"context"
	"time"
)

// recoverNode takes one node through a recovery round.
func (s *Syncer) recoverNode(ctx context.Context, c *caller, id string) Event {
	past := s.ailing.of(id)
	if !past.until.IsZero() && time.Now().Before(past.until) {
		return Event{ID: id, Outcome: SkippedBackoff}
	}
	for range maxLooks {
		r, err := s.store.load(ctx, id)
		e := Event{ID: id, Recorded: r.Power, Attempts: past.count + 1}
		switch {
		case err != nil:
			return s.storeFailed(ctx, e, err)
		case SkipRecovery(r) != NoOutcome:
			return e.as(SkipRecovery(r), nil)
		}
		if e = s.recoverRecord(ctx, c, r, e); e.Outcome != conflict {
			return e
		}
	}
	return Event{ID: id, Outcome: SkippedChanged}
}

func (s *Syncer) recoverRecord(ctx context.Context, c *caller, r Record, e Event) Event {
	err := c.validate(ctx, r.ID)
	if err == nil {
		e.Read, err = c.read(ctx, r.ID)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return e.as(Interrupted, err)
	case err != nil:
		e = e.as(ReadFailed, err)
		s.noteFailure(&s.ailing, e)
		return e
	}
	r.Power = e.Read
	r.Maintenance = false
	r.MaintenanceReason = ""
	r.Fault = ""
	if e = s.write(ctx, r, e.as(Recovered, nil)); e.Outcome == Recovered {
		s.ailing.forget(r.ID)
	}
	return e
}
