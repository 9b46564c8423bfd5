// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/conductor/internal/index"
	"github.com/ironstate/ironstate/internal/sleep"
)

// fleet is a conductor's view of the records in the store: an index of each kind, kept up to date
// by watches, and the writes, each of which is a compare-and-set. Callers read their own writes. It
// is safe for concurrent use.
type fleet struct {
	store Store
	log   *slog.Logger
	// alone is true if no other conductor uses the store, so that the indexes have every write.
	alone bool
	// retries and interval are Config.LockedRetries and Config.LockedInterval.
	retries  int
	interval time.Duration
	retried  atomic.Int64 // the retries since the start

	nodes *index.Index[*Node]
	ended context.Context // ends with the watches
	end   context.CancelFunc

	mu       sync.Mutex
	objects  map[Kind]*index.Index[Object]
	followed *following // nil until follow
}

// following holds what the watches of a fleet need.
type following struct {
	ctx     context.Context // of the watches
	group   *sync.WaitGroup // their goroutines
	changed func(Object)    // is called with each object that a watch reports
}

func newFleet(config Config) *fleet {
	ended, end := context.WithCancel(context.Background())
	return &fleet{
		store: config.Store, log: config.Log, alone: config.alone(), retries: config.LockedRetries, interval: config.LockedInterval,
		nodes: index.New((*Node).meta), objects: map[Kind]*index.Index[Object]{}, ended: ended, end: end,
	}
}

// follow watches the nodes, and the objects of the kinds, until the context ends. It calls node and
// object with each record that a watch reports, whichever process has written it. An object of
// another kind is watched from the first read of its kind on.
func (f *fleet) follow(ctx context.Context, group *sync.WaitGroup, node func(*Node), object func(Object), kinds ...Kind) {
	context.AfterFunc(ctx, f.end)
	group.Go(func() { follow(ctx, f, f.nodes, KindNode, decodeNode, node) })
	f.mu.Lock()
	f.followed = &following{ctx, group, object}
	for kind, x := range f.objects {
		f.followObjects(kind, x)
	}
	f.mu.Unlock()
	for _, kind := range kinds {
		f.of(kind)
	}
}

// unfollow is called after the end of the watches' context: the group waits for no other watch from then on.
func (f *fleet) unfollow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followed.group = nil
}

// watches returns the context of the watches, nil until follow.
func (f *fleet) watches() context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followed == nil {
		return nil
	}
	return f.followed.ctx
}

// followObjects starts the watch of a kind of objects. The caller holds the lock.
func (f *fleet) followObjects(kind Kind, x *index.Index[Object]) {
	if w := f.followed; w != nil && w.ctx.Err() == nil {
		w.group.Go(func() { follow(w.ctx, f, x, kind, decodeObject, w.changed) })
	}
}

// follow watches a kind of records in the store for its index until the context ends.
func follow[R comparable](
	ctx context.Context, f *fleet, x *index.Index[R], kind Kind, decode func(Record) (R, error), changed func(R),
) {
	watch := func(yield func(index.Write[R], error) bool) {
		for change, err := range f.store.Watch(ctx, kind) {
			r := change.Record
			w := index.Write[R]{
				ID: r.ID, Revision: r.Revision, Deleted: change.Deleted, Synced: change.Synced,
				Decode: func() (R, error) { return decode(r) },
			}
			if !yield(w, err) {
				return
			}
		}
	}
	x.Follow(ctx, index.Source[R]{Watch: watch, Exists: f.exists(ctx, kind)}, f.log.With("kind", kind), changed)
}

// of returns the index of a kind of objects.
func (f *fleet) of(kind Kind) *index.Index[Object] {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.objects[kind]
	if x == nil {
		x = index.New(Object.meta)
		f.objects[kind] = x
		f.followObjects(kind, x)
	}
	return x
}

// existingIndex returns the index of a kind of objects, nil if nobody has asked for it yet. An index that is made later
// reads the written objects from the store. The inventories are never in memory as a whole, since nobody lists them.
func (f *fleet) existingIndex(kind Kind) *index.Index[Object] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[kind]
}

// selectRange returns a range of the records of an index.
func selectRange[R comparable](ctx context.Context, x *index.Index[R], kind Kind, r Range) (iter.Seq[R], error) {
	records, err := x.Select(ctx, index.Range(r))
	if errors.Is(err, index.ErrNoRecord) {
		err = noObject(kind, r.After)
	}
	return records, err
}

// exists returns a function that reports whether the store has a record of a kind.
func (f *fleet) exists(ctx context.Context, kind Kind) func(id string) (bool, error) {
	return func(id string) (bool, error) {
		_, err := f.store.Get(ctx, kind, id)
		if errors.Is(err, NotFound) {
			return false, nil
		}
		return err == nil, err
	}
}

// load reads a record from the store by its UUID or its name.
func (f *fleet) load(ctx context.Context, kind Kind, ident string) (Record, error) {
	if _, err := uuid.Parse(ident); err != nil {
		ident = nameKey(ident)
	}
	return f.store.Get(ctx, kind, ident)
}

// node returns a node by its UUID or its name, as of its last write. The error matches [NotFound],
// or is the store's.
func (f *fleet) node(ctx context.Context, ident string) (*Node, error) {
	if n := f.indexed(ident); f.alone && n != nil && ctx.Err() == nil {
		return n, nil
	}
	return f.storedNode(ctx, ident)
}

// indexed returns a node by its UUID or its name from the index, nil if the index lacks it.
// Another conductor may have written the node since.
func (f *fleet) indexed(ident string) *Node {
	if _, err := uuid.Parse(ident); err == nil {
		return f.nodes.Get(ident)
	}
	return f.nodes.Named(ident)
}

// nameOf returns the name of a node with a UUID, "" if the index has none.
func (f *fleet) nameOf(id string) string {
	if n := f.nodes.Get(id); n != nil {
		return n.Name
	}
	return ""
}

// storedNode is node without the index: it reads the store. It updates the index, so that a list that follows is not
// older.
func (f *fleet) storedNode(ctx context.Context, ident string) (*Node, error) {
	r, err := f.load(ctx, KindNode, ident)
	if errors.Is(err, NotFound) {
		return nil, noNode(ident)
	}
	if err != nil {
		return nil, fmt.Errorf("load node %s: %w", ident, err)
	}
	if n := f.nodes.Get(r.ID); n != nil && n.Revision == r.Revision {
		return n, nil
	}
	n, err := decodeNode(r)
	if err == nil {
		f.nodes.Replace(n)
	}
	return n, err
}

func noNode(ident string) error { return refuse(NotFound, "Node %s could not be found.", ident) }

// create stores a new node and sets its revision.
func (f *fleet) create(ctx context.Context, n *Node) error {
	r, err := encodeNode(n)
	if err != nil {
		return err
	}
	err = f.nodes.Create(n, func() error {
		n.Revision, err = f.store.Create(ctx, r)
		return err
	}, f.exists(ctx, KindNode))
	if err != nil {
		err = nodeExists(n, err)
		if !errors.Is(err, Exists) {
			return err
		}
		// If several keys exist, Ironic names the name, or else the instance.
		for _, key := range r.Keys {
			if _, twice := f.store.Get(ctx, KindNode, key); twice == nil {
				return nodeExists(n, &DuplicateError{KindNode, key})
			}
		}
		return err
	}
	return nil
}

// nodeExists returns the error of a write that a [*DuplicateError] refused, and any
// other error as it is.
func nodeExists(n *Node, err error) error {
	var duplicate *DuplicateError
	if !errors.As(err, &duplicate) {
		return fmt.Errorf("store node %s: %w", n.UUID, err)
	}
	var refused *Error
	switch duplicate.Key {
	case n.UUID:
		refused = refuse(Exists, "A node with UUID %s already exists.", n.UUID)
	case nameKey(n.Name):
		refused = refuse(Exists, "A node with name %s already exists.", n.Name)
	default:
		refused = refuse(Associated, "Instance %s is already associated with a node, it cannot be associated with this other node %s",
			n.InstanceUUID, n.UUID)
	}
	refused.Err = duplicate
	return refused
}

// save stores a modified clone of a node and returns it.
func (f *fleet) save(ctx context.Context, n *Node) (*Node, error) {
	updated := now()
	n.UpdatedAt = &updated
	r, err := encodeNode(n)
	if err != nil {
		return nil, err
	}
	revision, err := f.store.Update(ctx, r)
	if err != nil {
		return nil, nodeExists(n, err)
	}
	n.Revision = revision
	f.nodes.Replace(n)
	return n, nil
}

// edit changes a node by compare-and-set. It calls change with a clone of the current node,
// and again after each conflict with another write. An error of change is returned as it is, see
// [Held] for the exception. edit returns the node before and after the change.
func (f *fleet) edit(ctx context.Context, ident string, change func(*Node) error) (before, n *Node, err error) {
	read, err := f.node(ctx, ident)
	if err != nil {
		return nil, nil, err
	}
	return f.editFrom(ctx, ident, read, change)
}

// editFrom is edit for a node that was read.
func (f *fleet) editFrom(ctx context.Context, ident string, read *Node, change func(*Node) error) (before, n *Node, err error) {
	for before = read; ; {
		n := before.Clone()
		var held *refusedUnderLock
		if err := change(n); errors.As(err, &held) {
			if n = before.Clone(); held.note != nil {
				held.note(n)
			}
		} else if err != nil {
			return nil, nil, err
		}
		n, err = f.save(ctx, n)
		switch {
		case held != nil && !errors.Is(err, ErrConflict):
			return nil, nil, held.error
		case err == nil:
			return before, n, nil
		case errors.Is(err, NotFound):
			return nil, nil, noNode(ident)
		case !errors.Is(err, ErrConflict):
			return nil, nil, err
		}
		if before, err = f.storedNode(ctx, ident); err != nil {
			return nil, nil, err
		}
	}
}

// remove deletes a node that check permits to delete, and then all objects that belong to it. It
// calls check with the current node, and again after each conflict with another write. What is left of the objects if
// the store fails is deleted at a check.
func (f *fleet) remove(ctx context.Context, ident string, check func(*Node) error) error {
	for get := f.node; ; get = f.storedNode {
		n, err := get(ctx, ident)
		if err != nil {
			return err
		}
		if err := check(n); err != nil {
			return err
		}
		err = f.nodes.Delete(n.UUID, func() (int64, error) { return f.store.Delete(ctx, KindNode, n.UUID, n.Revision) })
		switch {
		case err == nil && f.watches() == nil:
			return nil // nobody reads the objects here: a conductor that runs deletes them at a check
		case err == nil:
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout) // no client can repeat the request
			defer cancel()
			return halfDone(f.discardOf(ctx, n.UUID))
		case errors.Is(err, NotFound):
			return noNode(ident)
		case !errors.Is(err, ErrConflict):
			return fmt.Errorf("delete node %s: %w", n.UUID, err)
		}
	}
}

// retryLocked calls do, and again up to the configured number of times while its error matches
// [Locked].
func (f *fleet) retryLocked(ctx context.Context, do func() error) error {
	for retries := f.retries; ; retries-- {
		err := do()
		if retries <= 0 || !errors.Is(err, Locked) || ctx.Err() != nil {
			return err
		}
		f.retried.Add(1)
		sleep.For(ctx, f.interval)
	}
}

// touched sets the UpdatedAt of a node whose request is refused, unless the node is locked, and
// returns the error of the refusal.
func (f *fleet) touched(ctx context.Context, id string, refused error) error {
	_, _, err := f.edit(ctx, id, func(*Node) error { return Held(refused) })
	return err
}
