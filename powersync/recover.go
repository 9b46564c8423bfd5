package powersync

import (
	"context"
	"time"
)

// recoverAll handles all nodes in maintenance with a power failure.
func (s *Syncer) recoverAll(ctx context.Context) (map[Outcome]int, error) {
	p := s.newPool(ctx, recoveryRound, s.recoverNode)
	err := p.list(func(r Record) (wanted bool, skip Outcome) {
		skip = SkipRecovery(r)
		return skip != SkippedEnroll && skip != SkippedNoPowerFailure, skip
	})
	return p.finish(), err
}

// recoverNode handles one node in a recovery round.
func (s *Syncer) recoverNode(ctx context.Context, id string) Event {
	past := s.recoveryFailures.of(id)
	if !past.until.IsZero() && time.Now().Before(past.until) {
		return Event{ID: id, Outcome: SkippedBackoff}
	}
	for range maxReloads {
		if e := s.recoverOnce(ctx, id, past.Failures); e.Outcome != conflict {
			return e
		}
	}
	return Event{ID: id, Outcome: SkippedChanged}
}

// recoverOnce handles a node until its record changes; see syncOnce.
func (s *Syncer) recoverOnce(ctx context.Context, id string, past Failures) Event {
	r, err := s.store.load(ctx, id)
	if err != nil {
		return s.storeFailed(ctx, Event{ID: id}, err)
	}
	if skip := SkipRecovery(r); skip != "" {
		return Event{ID: id, Outcome: skip, Recorded: r.Power}
	}
	after, a := DecideRecovery(r, s.read(ctx, id, true), past)
	if a.Err != nil && ctx.Err() != nil {
		return a.as(Interrupted, a.Err)
	}
	if after != r {
		if err := s.store.update(ctx, after); err != nil {
			return s.storeFailed(ctx, a.Event, err)
		}
	}
	s.keep(&s.recoveryFailures, a)
	return a.Event
}
