package powersync

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

var (
	// ErrNotFound: the store has no record of the node. A [Store] returns it.
	ErrNotFound = errors.New("no such node")
	// ErrConflict: the record has changed since it was loaded. A [Store] returns
	// it from Update.
	ErrConflict = errors.New("record has changed since it was loaded")
)

// Store has the records of a fleet. Its methods are called from many goroutines
// at once, and must return soon after their context ends. An error or a panic of
// Load or Update is a failure of that one node. [Memory] is a Store; package
// storetest, below, checks others.
type Store interface {
	// Records ranges over the records of all nodes, each once, in any order.
	// Records may be somewhat old when they are yielded, so that a store can
	// read them page by page: a node is loaded again before anything is done to
	// it. While a range is under way other methods are called. An error stands
	// for one record that could not be read; the range goes on if the store
	// can.
	Records(ctx context.Context) iter.Seq2[Record, error]

	// Load returns a node's record as it is now, or an error that matches
	// ErrNotFound.
	Load(ctx context.Context, id string) (Record, error)

	// Update replaces a record, as a whole or not at all, provided that the
	// stored one still has r.Revision; otherwise its error matches ErrConflict
	// or, where the node is gone, ErrNotFound. When it has returned, Load
	// returns r with another Revision, one that this node has never had: also
	// where all else was changed back, a change is to be noticed.
	Update(ctx context.Context, r Record) error
}

// guardedStore is a Store whose panics are errors.
type guardedStore struct{ store Store }

func (g guardedStore) load(ctx context.Context, id string) (r Record, err error) {
	defer recoverTo(&err)
	r, err = g.store.Load(ctx, id)
	if err == nil && r.ID != id {
		err = fmt.Errorf("asked for node %q, the store loaded %q", id, r.ID)
	}
	return r, err
}

func (g guardedStore) update(ctx context.Context, r Record) (err error) {
	defer recoverTo(&err)
	return g.store.Update(ctx, r)
}

// each calls f for every record and for every error in between, until f returns
// false. It returns a panic of the store.
func (g guardedStore) each(ctx context.Context, f func(Record, error) bool) (err error) {
	defer recoverTo(&err)
	g.store.Records(ctx)(f)
	return nil
}
