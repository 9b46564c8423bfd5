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

// Follow keeps the index up to date until the context ends. It ranges over watch, and again after the end of each
// range. If changed is not nil, Follow calls it with each record that the watch reports, whichever process has written
// it.
func (x *Index[R]) Follow(ctx context.Context, watch iter.Seq2[Write[R], error], log *slog.Logger, changed func(R)) {
	for ctx.Err() == nil {
		err := x.followOnce(watch, log, changed)
		if ctx.Err() != nil {
			return
		}
		log.Warn("watching the store failed", "error", err)
		sleep.For(ctx, watchBackoff)
	}
}

// followOnce applies the changes of one watch until the watch ends.
func (x *Index[R]) followOnce(watch iter.Seq2[Write[R], error], log *slog.Logger, changed func(R)) error {
	unseen, deleted := x.before()
	for w, err := range watch {
		switch {
		case err != nil:
			return err
		case w.Synced:
			x.dropUnseen(unseen, deleted)
			x.once.Do(func() { close(x.synced) })
		case w.Deleted:
			x.drop(w.ID, w.Revision)
		default:
			delete(unseen, w.ID)
			x.take(w, log, changed)
		}
	}
	return errWatchEnded
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

// before returns what the index has before a new watch: when each record was created, by its ID, and the deletions that
// no watch has reported.
func (x *Index[R]) before() (created map[string]time.Time, deleted map[string]int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	created = make(map[string]time.Time, len(x.records))
	for id, value := range x.records {
		created[id] = x.meta(value).Created
	}
	return created, maps.Clone(x.deleted)
}

// dropUnseen drops the records that the index had before a new watch and that the watch has not yielded before Synced:
// they were deleted meanwhile. A record with the same ID that was created since remains, as the watch yields it later.
// A record that this process is creating may have been deleted, too, unless this is the first watch. The new watch
// reports no write from before an earlier deletion, nor the deletion.
func (x *Index[R]) dropUnseen(unseen map[string]time.Time, deleted map[string]int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for u := range x.unanswered {
		u.again = u.again || x.Synced()
	}
	for id, created := range unseen {
		if value, ok := x.records[id]; ok && x.meta(value).Created.Equal(created) {
			x.remove(value, x.meta(value))
		}
	}
	maps.DeleteFunc(x.deleted, func(id string, revision int64) bool { return deleted[id] == revision })
}
