package powersync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ironstate/ironstate/states"
)

// maxSettle bounds the storing of what came of a change of power, which goes on
// when the caller's context has ended.
const maxSettle = 10 * time.Second

var errNotOurs = fmt.Errorf("%w: somebody else has taken the node's reservation", ErrNotSaved)

// holds are the nodes that a Syncer has reserved, each with what is to be stored
// with its release where that was tried in vain; nil while the node is worked on.
type holds struct {
	mu    sync.Mutex
	nodes map[string]func(*Record)
}

func (h *holds) put(id string, edit func(*Record)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nodes == nil {
		h.nodes = make(map[string]func(*Record))
	}
	h.nodes[id] = edit
}

func (h *holds) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.nodes, id)
}

func (h *holds) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.nodes[id]
	return ok
}

func (h *holds) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.nodes)
}

// takeLeft returns the nodes whose release was tried in vain, which count as
// worked on from now on.
func (h *holds) takeLeft() map[string]func(*Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var left map[string]func(*Record)
	for id, edit := range h.nodes {
		if edit == nil {
			continue
		}
		if left == nil {
			left = make(map[string]func(*Record))
		}
		left[id] = edit
		h.nodes[id] = nil
	}
	return left
}

// hold reserves a node, provided that its record has not changed since it was
// loaded, and sets its target power state.
func (s *Syncer) hold(ctx context.Context, r Record, target states.Power) error {
	r.Reservation = s.config.Name
	r.TargetPower = target
	r.clearError()
	s.holds.put(r.ID, nil)
	err := s.store.update(ctx, r)
	switch {
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		s.holds.drop(r.ID)
	case err != nil:
		// The store may have done it nevertheless.
		_ = s.release(ctx, r.ID, nil)
	}
	return err
}

// release ends a hold and stores what came of it. Where the store cannot, the
// rounds to come will try again. A nil edit changes nothing more.
func (s *Syncer) release(ctx context.Context, id string, edit func(*Record)) error {
	if edit == nil {
		edit = func(*Record) {}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(maxSettle, s.config.Timeout/2))
	defer cancel()
	err := ErrConflict
	for tries := 0; errors.Is(err, ErrConflict) && tries < 10*maxLooks; tries++ {
		err = s.tryRelease(ctx, id, edit)
	}
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, errNotOurs):
		s.holds.drop(id)
		return err
	default:
		s.holds.put(id, edit)
		return fmt.Errorf("%w: %w", ErrNotSaved, err)
	}
}

func (s *Syncer) tryRelease(ctx context.Context, id string, edit func(*Record)) error {
	r, err := s.store.load(ctx, id)
	if err != nil {
		return err
	}
	if r.Reservation != s.config.Name {
		return errNotOurs
	}
	edit(&r)
	r.Reservation = ""
	r.TargetPower = states.NoPower
	return s.store.update(ctx, r)
}

// releaseLeft tries again what could not be stored earlier.
func (s *Syncer) releaseLeft(ctx context.Context) {
	for id, edit := range s.holds.takeLeft() {
		if err := s.release(ctx, id, edit); err != nil {
			s.config.Logger.LogAttrs(ctx, slog.LevelWarn, "node is still held",
				slog.String("node", id), slog.Any("error", err))
		}
	}
}

// Reclaim drops the reservations that a process of the same name has left
// behind when it died, with their target power states; a last error says so.
// Run begins with it. It returns how many there were, and the store's errors.
//
// Source: clear_node_reservations_for_conductor and
// clear_node_target_power_state in ironic/db/api.py.
func (s *Syncer) Reclaim(ctx context.Context) (int, error) {
	n := 0
	var errs []error
	err := s.store.each(ctx, func(r Record, err error) bool {
		switch {
		case err != nil:
			errs = append(errs, err)
		case r.Reservation == s.config.Name && !s.holds.has(r.ID):
			if err := s.reclaim(ctx, r.ID); err != nil {
				errs = append(errs, err)
			} else {
				n++
			}
		}
		return ctx.Err() == nil
	})
	return n, errors.Join(append(errs, err, ctx.Err())...)
}

func (s *Syncer) reclaim(ctx context.Context, id string) error {
	s.holds.put(id, nil)
	return s.release(ctx, id, func(r *Record) {
		if r.TargetPower != states.NoPower {
			r.LastError = fmt.Sprintf("the request for %q was lost: the process that made it has died", r.TargetPower)
		}
	})
}
