// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
)

var (
	// ErrNotFound: the store has no record of the node. A [Store] returns it.
	ErrNotFound = errors.New("no such node")
	// ErrConflict: the record has changed since it was loaded. A [Store] returns
	// it from Update.
	ErrConflict = errors.New("record has changed since it was loaded")
)

// Store has the records of a fleet. Its methods are called from many goroutines at
// once, but Load and Update of one node one at a time. They must return soon after
// their context ends. The context of Load and Update has a deadline, [Config.Timeout]
// from the call. An error or a panic of Load or Update is a failure of that one node. A
// call that does not return is abandoned, as with a [Driver]. [Memory] is a Store;
// package storetest checks others.
//
// A service that moves nodes with package machine writes the same row by a save hook.
// Both then update by one statement whose condition is the revision, and which counts it
// up: Update with r.Revision, the hook with the machine's token. examples/embed shows
// both on one row of SQLite.
type Store interface {
	// Records ranges over the records of all nodes, each once, in any order.
	// Records may be slightly stale when they are yielded, so that a store can read
	// them page by page: a node is loaded again before it is handled. Other methods
	// are called during the iteration. An error stands for one record that could not
	// be read; the iteration continues if the store can.
	Records(ctx context.Context) iter.Seq2[Record, error]

	// Load returns a node's current record, or an error that matches ErrNotFound if
	// there is no such node.
	Load(ctx context.Context, id string) (Record, error)

	// Update replaces a record, as a whole or not at all, provided that the
	// stored one still has r.Revision; otherwise its error matches ErrConflict
	// or, if the node was deleted, ErrNotFound. After it has returned, Load returns r
	// with a Revision that this node has never had, so that a change is detected even
	// if all other fields were changed back.
	Update(ctx context.Context, r Record) error
}

// boundedStore is a Store whose calls are bounded.
type boundedStore struct {
	store Store
	calls *calls // by node
	lists *calls // by purpose

	records func(context.Context) iter.Seq2[Record, error]
}

func (b *boundedStore) load(ctx context.Context, id string) (Record, error) {
	r, err := call(ctx, b.calls, id, func(ctx context.Context) (Record, error) { return b.store.Load(ctx, id) })
	if err == nil && r.ID != id {
		err = fmt.Errorf("asked for node %q, the store loaded %q", id, r.ID)
	}
	return r, err
}

func (b *boundedStore) update(ctx context.Context, r Record) error {
	_, err := call(ctx, b.calls, r.ID, func(ctx context.Context) (none, error) { return none{}, b.store.Update(ctx, r) })
	return err
}

// each calls f for every record and every error, until f returns false. f must return
// soon after the context ends. After each has returned, f is not called again.
func (b *boundedStore) each(ctx context.Context, purpose string, f func(Record, error) bool) error {
	var mu sync.Mutex
	over := false
	_, err := call(ctx, b.lists, purpose, func(ctx context.Context) (none, error) {
		b.records(ctx)(func(r Record, err error) bool {
			mu.Lock()
			defer mu.Unlock()
			return !over && f(r, err)
		})
		return none{}, nil
	})
	mu.Lock()
	defer mu.Unlock()
	over = true
	return err
}
