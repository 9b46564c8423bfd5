// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// maxReleases is how often a release is tried in a row while the record keeps
// changing.
const maxReleases = 40

var errNotOurs = fmt.Errorf("%w: somebody else has taken the node's reservation", ErrNotSaved)

// A settle function returns the record of a node that is released, without its
// reservation and target power state, and the event to report once it is stored. It may
// be called more than once, each time with a newer record.
type settle func(Record) (Record, Event)

// hold is a node that a Syncer has reserved, or is about to.
type hold struct {
	// before is the record that the reservation replaced. It is zero if it is unknown
	// whether the store made that update.
	before Record
	// event and settle are those of a release that could not be stored yet; settle is
	// nil while a goroutine works on the node.
	event  Event
	settle settle
}

// holds has the nodes that a Syncer works on or could not release. A goroutine claims
// a node before it changes its reservation, so that no two goroutines of a Syncer do so
// at once.
type holds struct {
	name       string // of the reservations
	store      *boundedStore
	reporter   *reporter
	failures   *failures // of sync rounds
	settleTime time.Duration

	mu    sync.Mutex
	nodes map[string]*hold
}

// claim claims a node if it is free, and reports whether it was.
func (h *holds) claim(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, taken := h.nodes[id]; taken {
		return false
	}
	if h.nodes == nil {
		h.nodes = make(map[string]*hold)
	}
	h.nodes[id] = new(hold)
	return true
}

// The caller of drop, set and get has claimed the node.

func (h *holds) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.nodes, id)
}

func (h *holds) set(id string, now hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nodes[id] = &now
}

func (h *holds) get(id string) hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	return *h.nodes[id]
}

func (h *holds) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.nodes)
}

// claimUnsaved claims a node if its last release could not be stored.
func (h *holds) claimUnsaved(id string) (unsaved hold, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.nodes[id]
	if n == nil || n.settle == nil {
		return hold{}, false
	}
	unsaved, n.settle = *n, nil
	return unsaved, true
}

// unsaved returns the nodes whose release could not be stored.
func (h *holds) unsaved() (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, n := range h.nodes {
		if n.settle != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// reserve stores the reservation of a node, provided that its record has not changed
// since it was loaded. The caller has claimed the node; after an error the claim is
// dropped.
func (h *holds) reserve(ctx context.Context, before, r Record) error {
	r.Reservation = h.name
	err := h.store.update(ctx, r)
	switch {
	case err == nil:
		h.set(r.ID, hold{before: before})
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		h.drop(r.ID)
	default:
		// The store may have made the update nevertheless.
		unmade := Event{ID: r.ID}
		_, _ = h.release(ctx, unmade, func(now Record) (Record, Event) {
			if now.LastError == r.LastError {
				now.LastError = before.LastError
			}
			return now.released(), unmade
		})
	}
	return err
}

// release ends a hold and stores its event. If the store fails, retryRelease tries
// again later, and e is returned; otherwise the event that settle returned.
func (h *holds) release(ctx context.Context, e Event, settle settle) (Event, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.settleTime)
	defer cancel()
	before := h.get(e.ID).before
	stored, err := e, ErrConflict
	for tries := 0; errors.Is(err, ErrConflict) && tries < maxReleases; tries++ {
		stored, err = h.tryRelease(ctx, e, before, settle)
	}
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, errNotOurs):
		h.drop(e.ID)
		return stored, err
	default:
		h.set(e.ID, hold{before, e, settle})
		return e, fmt.Errorf("%w: %w", ErrNotSaved, err)
	}
}

func (h *holds) tryRelease(ctx context.Context, e Event, before Record, settle settle) (Event, error) {
	r, err := h.store.load(ctx, e.ID)
	if err != nil {
		return e, err
	}
	if before.ID != "" && r.Revision == before.Revision {
		return e, ErrConflict // a stale record: the reservation has replaced it
	}
	after, e := settle(r)
	if r.Reservation != h.name {
		after.Reservation, after.TargetPower = r.Reservation, r.TargetPower
		if after == r {
			return e, nil // an update stored it and reported an error
		}
		return e, errNotOurs
	}
	return e, h.store.update(ctx, after)
}

// retryRelease tries again to release a node if its release could not be stored. It
// returns an error if the release still cannot be stored.
func (h *holds) retryRelease(ctx context.Context, id string) error {
	unsaved, ok := h.claimUnsaved(id)
	if !ok {
		return nil
	}
	e, err := h.release(ctx, unsaved.event, unsaved.settle)
	switch {
	case errors.Is(err, errNotOurs), errors.Is(err, ErrNotFound):
		h.reporter.write(ctx, slog.LevelWarn, "power outcome lost", slog.String("node", id), slog.Any("error", err))
		return nil
	case err != nil:
		return err
	}
	if e.Outcome == ForceFailed {
		h.failures.noteError(id, e.LastError)
	}
	h.reporter.emit(ctx, e.as(SavedLate, nil))
	return nil
}
