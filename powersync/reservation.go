// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// maxReleases is how often a release is tried in a row while the record keeps
// changing.
const maxReleases = 40

var errNotOurs = fmt.Errorf("%w: somebody else has taken the node's reservation", ErrNotSaved)

// A settle function returns the record of a node that is released, without its
// reservation and target power state, and the event to report once it is stored. It may
// be called more than once, each time with a newer record.
type settle func(Record) (Record, Event)

// A reservation is a node that a Syncer has reserved, or is about to reserve.
type reservation struct {
	// before is the record that the reservation replaced. It is zero if it is unknown
	// whether the store made that update.
	before Record
	// settle belongs to a release that could not be stored yet; it is nil while a
	// goroutine works on the node.
	settle settle
}

// reservations has the nodes that a Syncer works on or could not release. A goroutine
// claims a node before it changes the reservation in the node's record, so that no two
// goroutines of a Syncer do so at once. The zero value never has any, and owns no record.
type reservations struct {
	name       string // the reservation in the records
	store      *boundedStore
	reporter   *reporter
	failures   *failingNodes // of sync rounds
	settleTime time.Duration

	mu    sync.Mutex
	nodes map[string]*reservation
}

// own reports whether a record is reserved in the Syncer's name.
func (rs *reservations) own(r Record) bool { return rs.name != "" && r.Reservation == rs.name }

// claim claims a node if it is free, and reports whether it was.
func (rs *reservations) claim(id string) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if _, taken := rs.nodes[id]; taken {
		return false
	}
	if rs.nodes == nil {
		rs.nodes = make(map[string]*reservation)
	}
	rs.nodes[id] = new(reservation)
	return true
}

// The caller of drop and set has claimed the node.

func (rs *reservations) drop(id string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.nodes, id)
}

func (rs *reservations) set(id string, now reservation) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.nodes[id] = &now
}

func (rs *reservations) len() int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return len(rs.nodes)
}

// claimUnsaved claims a node if its last release could not be stored, and returns its settle function.
// Otherwise it returns nil.
func (rs *reservations) claimUnsaved(id string) (settle settle) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if n := rs.nodes[id]; n != nil {
		settle, n.settle = n.settle, nil
	}
	return settle
}

// unsaved returns the nodes whose release could not be stored.
func (rs *reservations) unsaved() (ids []string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for id, n := range rs.nodes {
		if n.settle != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// reserve stores the reservation of a node, provided that its record has not changed
// since it was loaded. The caller has claimed the node; after an error the claim is
// dropped.
func (rs *reservations) reserve(ctx context.Context, before, r Record) error {
	r.Reservation = rs.name
	err := rs.store.update(ctx, r)
	switch {
	case err == nil:
		rs.set(r.ID, reservation{before: before})
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		rs.drop(r.ID)
	default:
		// The store may have made the update nevertheless.
		_, _ = rs.release(ctx, r.ID, func(now Record) (Record, Event) {
			if now.LastError == r.LastError {
				now.LastError = before.LastError
			}
			return now.released(), Event{ID: r.ID}
		})
	}
	return err
}

// release ends a reservation and returns the event that it has stored. If the store fails,
// retryRelease tries again later, and the event has no last error yet. The event also has
// the error of release.
func (rs *reservations) release(ctx context.Context, id string, settle settle) (Event, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rs.settleTime)
	defer cancel()
	rs.mu.Lock()
	before := rs.nodes[id].before
	rs.mu.Unlock()
	_, unsaved := settle(before)
	unsaved.LastError, unsaved.ClearedError = "", ""
	e, err := unsaved, ErrConflict
	for tries := 0; errors.Is(err, ErrConflict) && tries < maxReleases; tries++ {
		e, err = rs.tryRelease(ctx, unsaved, before, settle)
	}
	switch {
	case err == nil:
		rs.drop(id)
		return e, nil
	case errors.Is(err, ErrNotFound), errors.Is(err, errNotOurs):
		rs.drop(id)
	default:
		rs.set(id, reservation{before, settle})
		e, err = unsaved, fmt.Errorf("%w: %w", ErrNotSaved, err)
	}
	e.Err = errors.Join(e.Err, err)
	return e, err
}

// tryRelease returns the event that it has stored, or unsaved if the record could not be loaded.
func (rs *reservations) tryRelease(ctx context.Context, unsaved Event, before Record, settle settle) (Event, error) {
	r, err := rs.store.load(ctx, unsaved.ID)
	if err != nil {
		return unsaved, err
	}
	if before.ID != "" && r.Revision == before.Revision {
		return unsaved, ErrConflict // a stale record: the reservation has replaced it
	}
	after, e := settle(r)
	if !rs.own(r) {
		after.Reservation, after.TargetPower = r.Reservation, r.TargetPower
		if after == r {
			_, e = settle(before) // an update stored it and reported an error
			return e, nil
		}
		return e, errNotOurs
	}
	return e, rs.store.update(ctx, after)
}

// retryRelease tries again to release a node if its release could not be stored. It
// returns an error if the release still cannot be stored.
func (rs *reservations) retryRelease(ctx context.Context, id string) error {
	settle := rs.claimUnsaved(id)
	if settle == nil {
		return nil
	}
	e, err := rs.release(ctx, id, settle)
	switch {
	case errors.Is(err, errNotOurs), errors.Is(err, ErrNotFound):
		rs.reporter.write(ctx, slog.LevelWarn, "power outcome lost", slog.String("node", id), slog.Any("error", err))
		return nil
	case err != nil:
		return err
	}
	if e.Outcome == ForceFailed && e.LastError != "" { // otherwise the record had it, and it is noted
		rs.failures.noteError(id, e.LastError)
	}
	rs.reporter.emit(ctx, e.as(SavedLate, nil))
	return nil
}

// releaseInterval is the time between two attempts to release the nodes whose release
// could not be stored.
const releaseInterval = 5 * time.Second

// retryReleases tries again, until the context ends, to release the nodes whose release could not be stored.
func (rs *reservations) retryReleases(ctx context.Context) {
	for sleep.For(ctx, releaseInterval) {
		for _, id := range rs.unsaved() {
			_ = rs.retryRelease(ctx, id) // a failed release is tried again
		}
	}
}

// Reclaim drops the reservations that a process of the same name left when it died,
// and the target power states of their nodes, and stores a last error that says so.
// Each dropped reservation is an [Event] with the outcome [Reclaimed]. Run begins with
// Reclaim, and rounds also drop the reservations that they find. Reclaim returns the
// number of reservations, and the store's errors.
//
// Source: clear_node_reservations_for_conductor and
// clear_node_target_power_state in ironic/db/api.py.
func (s *Syncer) Reclaim(ctx context.Context) (int, error) {
	if s.fleet == nil {
		return 0, errHandled
	}
	return s.fleet.reclaimAll(ctx)
}

// startRun reclaims the nodes, and logs it if there were any.
func (f *fleet) startRun(ctx context.Context) {
	if n, err := f.reclaimAll(ctx); n > 0 || err != nil {
		f.reporter.write(ctx, slog.LevelWarn, "old reservations dropped", slog.Int("nodes", n), slog.Any("error", err))
	}
}

func (f *fleet) reclaimAll(ctx context.Context) (int, error) {
	n := 0
	var errs []error
	err := f.lists.each(ctx, "reclaim", f.store.Records, func(r Record, err error) bool {
		if err == nil && f.own(r) {
			var done bool
			if done, err = f.reclaim(ctx, r.ID); done {
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
func (rs *reservations) reclaim(ctx context.Context, id string) (done bool, err error) {
	if !rs.claim(id) {
		return false, nil
	}
	defer rs.drop(id)
	for range maxReloads {
		r, err := rs.store.load(ctx, id)
		if err != nil || !rs.own(r) {
			return false, err
		}
		e := Event{ID: id, Outcome: Reclaimed, Recorded: r.Power, Asked: r.TargetPower}
		if r.TargetPower != states.NoPower {
			e.setLastError(&r, fmt.Sprintf("the request for %q was lost: the process that made it has died", r.TargetPower))
		}
		switch err := rs.store.update(ctx, r.released()); {
		case err == nil:
			rs.reporter.emit(ctx, e)
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
func (rs *reservations) loadFree(ctx context.Context, id string) (Record, error) {
	if err := rs.retryRelease(ctx, id); err != nil {
		return Record{}, err
	}
	r, err := rs.store.load(ctx, id)
	if err != nil || !rs.own(r) {
		return r, err
	}
	if _, err := rs.reclaim(ctx, id); err != nil {
		return r, err
	}
	return rs.store.load(ctx, id)
}
