// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/latest"
	"github.com/ironstate/ironstate/internal/sleep"
)

// Change is a change to a record. The zero value means that all existing records have been yielded.
type Change[R comparable] struct {
	ID    string
	Value R // nil if the record was deleted
}

// Watch yields all records, then the zero value, then changes, until the context ends. The index
// has each change before Watch yields it. Of several changes to a record, Watch may yield only the
// last.
func (x *Index[R]) Watch(ctx context.Context) iter.Seq[Change[R]] {
	return func(yield func(Change[R]) bool) {
		if x.Wait(ctx) != nil {
			return
		}
		changes := latest.New(func(a, b Change[R]) int { return cmp.Compare(a.ID, b.ID) })
		x.mu.Lock()
		for id, value := range x.records {
			changes.Set(id, Change[R]{id, value})
		}
		changes.Mark(Change[R]{})
		x.watchers[changes] = true
		x.mu.Unlock()
		defer func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			delete(x.watchers, changes)
		}()
		for change := range changes.All(ctx) {
			if !yield(change) {
				return
			}
		}
	}
}

// Write is a write that the watch of a store reports.
type Write[R comparable] struct {
	ID       string
	Revision int64 // of the write; each one of a record is higher than the ones before
	// Decode returns the record. It is called if the index lacks this revision.
	Decode  func() (R, error)
	Deleted bool // the record was deleted
	// Synced is true in one Write without a record: all records that existed when the watch began have been yielded.
	Synced bool
}

var errWatchEnded = errors.New("the watch has ended")

// watchBackoff is the time between the end of a watch and the next one.
const watchBackoff = time.Second

// Source is what an index follows: the records of one kind in a store.
type Source[R comparable] struct {
	// Watch is ranged over, and again after the end of each range.
	Watch iter.Seq2[Write[R], error]
	// Exists reports whether the store has a record.
	Exists func(id string) (bool, error)
}

// Follow keeps the index up to date until the context ends. If changed is not nil, Follow calls it with each record
// that the watch reports, whichever process has written it.
func (x *Index[R]) Follow(ctx context.Context, store Source[R], log *slog.Logger, changed func(R)) {
	for ctx.Err() == nil {
		err := x.followOnce(store, log, changed)
		if ctx.Err() != nil {
			return
		}
		log.Warn("watching the store failed", "error", err)
		sleep.For(ctx, watchBackoff)
	}
}

// followOnce applies the changes of one watch until the watch ends.
func (x *Index[R]) followOnce(store Source[R], log *slog.Logger, changed func(R)) error {
	deletions := x.ownDeletions()
	yielded := map[string]bool{} // before Synced
	for w, err := range store.Watch {
		switch {
		case err != nil:
			return err
		case w.Synced:
			for _, value := range x.missing(yielded, deletions) {
				stored, err := store.Exists(x.meta(value).ID)
				if err != nil {
					return err
				}
				if !stored {
					x.forget(value, nil)
				}
			}
			yielded = nil
			x.once.Do(func() { close(x.synced) })
		case w.Deleted:
			x.drop(w.ID, w.Revision)
		default:
			if yielded != nil {
				yielded[w.ID] = true
			}
			x.noteYielded(w.ID)
			x.take(w, log, changed)
		}
	}
	return errWatchEnded
}

// noteYielded notes that the watch yields a record, and thus reports its deletion.
func (x *Index[R]) noteYielded(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for p := range x.pending {
		if p.id == id {
			p.unseen = false
		}
	}
}

// take puts a record that the watch reports into the index. It logs a record that cannot be decoded
// and skips it.
func (x *Index[R]) take(w Write[R], log *slog.Logger, changed func(R)) {
	var none R
	value := x.Get(w.ID)
	if value == none || x.meta(value).Revision < w.Revision {
		var err error
		if value, err = w.Decode(); err != nil {
			log.Error("a stored record cannot be read", "id", w.ID, "error", err)
			return
		}
		x.put(value)
	}
	if changed != nil {
		changed(value)
	}
}

// Synced reports whether a watch has reported all records.
func (x *Index[R]) Synced() bool {
	select {
	case <-x.synced:
		return true
	default:
		return false
	}
}

// ownDeletions returns the deletions by this process that no watch has reported.
func (x *Index[R]) ownDeletions() map[string]int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.deleted)
}

// missing returns the indexed records that a new watch has not yielded before Synced: each of them was deleted before
// the watch began, or created since, so that the watch yields it later. missing also marks the pending creations that
// the watch has not yielded, and drops the deletions of before the watch began, which the watch does not report.
func (x *Index[R]) missing(yielded map[string]bool, deletions map[string]int64) (values []R) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for p := range x.pending {
		p.unseen = !yielded[p.id]
	}
	for _, value := range x.order {
		if !yielded[x.meta(value).ID] {
			values = append(values, value)
		}
	}
	maps.DeleteFunc(x.deleted, func(id string, revision int64) bool { return deletions[id] == revision })
	return values
}

// forget removes a record that the store does not have. A record with the same ID that was created since remains, and
// the record of a pending creation, nil for none, that the watch has yielded meanwhile.
func (x *Index[R]) forget(value R, creation *pending) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if creation != nil && !creation.unseen {
		return
	}
	if now, has := x.records[x.meta(value).ID]; has && x.meta(now).Created.Equal(x.meta(value).Created) {
		x.remove(now)
	}
}
