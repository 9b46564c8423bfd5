// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// Reclaim drops the reservations that a process of the same name left when it died,
// and the target power states of their nodes, and stores a last error that says so.
// Each dropped reservation is an [Event] with the outcome [Reclaimed]. Run begins with
// Reclaim, and rounds also drop the reservations that they find. Reclaim returns the
// number of reservations, and the store's errors.
//
// Source: clear_node_reservations_for_conductor and
// clear_node_target_power_state in ironic/db/api.py.
func (s *Syncer) Reclaim(ctx context.Context) (int, error) {
	if s.config.Handler != nil {
		return 0, errHandled
	}
	n := 0
	var errs []error
	err := s.store.each(ctx, "reclaim", func(r Record, err error) bool {
		if err == nil && r.Reservation == s.config.Name {
			var done bool
			if done, err = s.holds.reclaim(ctx, r.ID); done {
				n++
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
		return ctx.Err() == nil
	})
	return n, errors.Join(append(errs, err, ctx.Err())...)
}

// reclaim drops a node's reservation if it is in the Syncer's name and no goroutine
// works on the node. If that fails, the next round tries again.
func (h *holds) reclaim(ctx context.Context, id string) (done bool, err error) {
	if !h.claim(id) {
		return false, nil
	}
	defer h.drop(id)
	for range maxReloads {
		r, err := h.store.load(ctx, id)
		if err != nil || r.Reservation != h.name {
			return false, err
		}
		e := Event{ID: id, Outcome: Reclaimed, Recorded: r.Power, Asked: r.TargetPower}
		if r.TargetPower != states.NoPower {
			e.setLastError(&r, fmt.Sprintf("the request for %q was lost: the process that made it has died", r.TargetPower))
		}
		switch err := h.store.update(ctx, r.released()); {
		case err == nil:
			h.reporter.emit(ctx, e)
			return true, nil
		case !errors.Is(err, ErrConflict):
			return false, err
		}
	}
	return false, ErrConflict
}

// loadFree loads a record. If the node is reserved by this Syncer without need, because
// a release could not be stored or no goroutine works under the reservation, loadFree
// releases it first.
func (h *holds) loadFree(ctx context.Context, id string) (Record, error) {
	if err := h.retryRelease(ctx, id); err != nil {
		return Record{}, err
	}
	r, err := h.store.load(ctx, id)
	if err != nil || r.Reservation != h.name {
		return r, err
	}
	if _, err := h.reclaim(ctx, id); err != nil {
		return r, err
	}
	return h.store.load(ctx, id)
}
