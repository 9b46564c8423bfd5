// SPDX-License-Identifier: Apache-2.0

package conductor

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

// watch yields all records, then the zero value, then changes, until the context ends. The index
// has each change before watch yields it. Of several changes to a record, watch may yield only the
// last.
func (x *index[R]) watch(ctx context.Context) iter.Seq[indexChange[R]] {
	return func(yield func(indexChange[R]) bool) {
		if x.wait(ctx) != nil {
			return
		}
		changes := latest.New(func(a, b indexChange[R]) int { return cmp.Compare(a.id, b.id) })
		x.mu.Lock()
		for id, value := range x.records {
			changes.Set(id, indexChange[R]{id, value})
		}
		changes.Mark(indexChange[R]{})
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

// NodeChange is a change to a node, by this conductor or another. The zero value means that all
// existing nodes have been yielded.
type NodeChange struct {
	UUID string
	// Node is the node after the change, nil if it was deleted. Do not change it.
	Node *Node
}

// WatchNodes yields all nodes, then the zero NodeChange, then changes, until the context ends. It
// waits until Run has read the store. [Conductor.Node] returns a node at least as new as the one
// that WatchNodes has yielded. A slow caller delays no other one; of several changes to a node it
// may get only the last.
func (c *Conductor) WatchNodes(ctx context.Context) iter.Seq[NodeChange] {
	return func(yield func(NodeChange) bool) {
		for change := range c.fleet.nodes.watch(ctx) {
			if !yield(NodeChange{change.id, change.value}) {
				return
			}
		}
	}
}

var errWatchEnded = errors.New("the watch has ended")

// watchBackoff is the time between the end of a watch and the next one.
const watchBackoff = time.Second

// follow keeps the index up to date until the context ends. If changed is not nil, follow calls it
// with each record that the watch reports, whichever process has written it.
func (x *index[R]) follow(ctx context.Context, store Store, log *slog.Logger, changed func(R)) {
	for ctx.Err() == nil {
		err := x.followOnce(ctx, store, log, changed)
		if ctx.Err() != nil {
			return
		}
		log.Warn("watching the store failed", "kind", x.kind, "error", err)
		sleep.For(ctx, watchBackoff)
	}
}

// followOnce applies the changes of one watch until the watch ends.
func (x *index[R]) followOnce(ctx context.Context, store Store, log *slog.Logger, changed func(R)) error {
	unseen, deleted := x.before()
	for change, err := range store.Watch(ctx, x.kind) {
		switch {
		case err != nil:
			return err
		case change.Synced:
			x.dropUnseen(unseen, deleted)
			x.once.Do(func() { close(x.synced) })
		case change.Deleted:
			x.drop(change.Record.ID, change.Record.Revision)
		default:
			delete(unseen, change.Record.ID)
			x.take(change.Record, log, changed)
		}
	}
	return errWatchEnded
}

// take puts a record that the watch reports into the index. It logs a record that cannot be decoded
// and skips it.
func (x *index[R]) take(r Record, log *slog.Logger, changed func(R)) {
	var none R
	value := x.get(r.ID)
	if value == none || value.meta().revision < r.Revision {
		var err error
		if value, err = x.decode(r); err != nil {
			log.Error("a stored record cannot be read", "kind", r.Kind, "id", r.ID, "error", err)
			return
		}
		x.put(value)
	}
	if changed != nil {
		changed(value)
	}
}

// isSynced reports whether a watch has reported all records.
func (x *index[R]) isSynced() bool {
	select {
	case <-x.synced:
		return true
	default:
		return false
	}
}

// before returns what the index has before a new watch: when each record was created, by its ID, and the deletions that
// no watch has reported.
func (x *index[R]) before() (created map[string]time.Time, deleted map[string]int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	created = make(map[string]time.Time, len(x.records))
	for id, value := range x.records {
		created[id] = value.meta().created
	}
	return created, maps.Clone(x.deleted)
}

// dropUnseen drops the records that the index had before a new watch and that the watch has not yielded before Synced:
// they were deleted meanwhile. A record with the same ID that was created since remains, as the watch yields it later.
// A record that this process is creating may have been deleted, too, unless this is the first watch. The new watch
// reports no write from before an earlier deletion, nor the deletion.
func (x *index[R]) dropUnseen(unseen map[string]time.Time, deleted map[string]int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for u := range x.unanswered {
		u.again = u.again || x.isSynced()
	}
	for id, created := range unseen {
		if value, ok := x.records[id]; ok && value.meta().created.Equal(created) {
			x.remove(value, value.meta())
		}
	}
	maps.DeleteFunc(x.deleted, func(id string, revision int64) bool { return deleted[id] == revision })
}
