package powersync

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// Reclaim drops the reservations that a process of the same name has left
// behind when it died, with their target power states; a last error says so.
// Each is an [Event] with the outcome [Reclaimed]. Run begins with it, and
// rounds do the same with those that they come upon. It returns how many there
// were, and the store's errors.
//
// Source: clear_node_reservations_for_conductor and
// clear_node_target_power_state in ironic/db/api.py.
func (s *Syncer) Reclaim(ctx context.Context) (int, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	err := s.store.each(ctx, "reclaim", func(r Record, err error) bool {
		if err == nil && r.Reservation == s.config.Name {
			var done bool
			if done, err = s.reclaim(ctx, r.ID); done {
				n++
			}
		}
		errs = append(errs, err)
		return ctx.Err() == nil
	})
	return n, errors.Join(append(errs, err, ctx.Err())...)
}

// reclaim drops a node's reservation if it is in our name and nobody works on the
// node.
func (s *Syncer) reclaim(ctx context.Context, id string) (bool, error) {
	if !s.holds.claim(id) {
		return false, nil
	}
	r, err := s.store.load(ctx, id)
	if err != nil || r.Reservation != s.config.Name {
		s.holds.drop(id)
		return false, err
	}
	e, err := s.release(ctx, Event{ID: id, Outcome: Reclaimed}, func(r *Record, e *Event) {
		e.Recorded, e.Asked = r.Power, r.TargetPower
		if r.TargetPower != states.NoPower {
			e.setLastError(r, fmt.Sprintf("the request for %q was lost: the process that made it has died", r.TargetPower))
		}
	})
	if err != nil {
		return false, err
	}
	s.emit(ctx, e)
	return true, nil
}

// loadReclaimed loads a record, and drops a reservation in our name before that
// if nobody works on the node.
func (s *Syncer) loadReclaimed(ctx context.Context, id string) (Record, error) {
	r, err := s.store.load(ctx, id)
	if err != nil || r.Reservation != s.config.Name {
		return r, err
	}
	if reclaimed, err := s.reclaim(ctx, id); err != nil || !reclaimed {
		return r, err
	}
	return s.store.load(ctx, id)
}
