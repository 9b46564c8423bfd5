// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/conductor/internal/index"
)

// Object returns an object by its UUID or its name, as of its last write. The error matches
// [NotFound], or is the store's.
func (c *Conductor) Object(ctx context.Context, kind Kind, ident string) (Object, error) {
	return c.fleet.object(ctx, kind, ident)
}

// Objects returns all objects of a kind, oldest first, with the guarantees of [Conductor.Nodes]. A kind that was not
// read before the end of Run cannot be listed any more.
func (c *Conductor) Objects(ctx context.Context, kind Kind) ([]Object, error) {
	return c.fleet.list(ctx, kind)
}

// ObjectsIn returns a range of the objects of a kind, as [Conductor.NodesIn] does of the nodes.
func (c *Conductor) ObjectsIn(ctx context.Context, kind Kind, r Range) (iter.Seq[Object], error) {
	x, err := c.fleet.read(ctx, kind)
	if err != nil {
		return nil, err
	}
	return selectRange(ctx, x, kind, r)
}

// ObjectsOf returns the objects of a kind that belong to a node, oldest first.
func (c *Conductor) ObjectsOf(ctx context.Context, kind Kind, nodeUUID string) ([]Object, error) {
	return c.fleet.listOf(ctx, kind, nodeUUID)
}

// CreateObject stores a new object and returns it as stored. An empty UUID and CreatedAt are
// filled in. The error matches [Exists], or is the store's. An object whose NodeUUID names no node may be deleted at
// a check.
//
// An [Allocation] is a request for a node. It is stored in the state allocating; the conductor then
// chooses a node and makes the allocation active, or sets its state to error with a LastError. If
// NodeUUID names a node, which must be active, that node is allocated at once (backfill), and
// the allocation ends in the state error if that fails. The error may then match [NotFound],
// [WrongState] or [NoWorker], too.
//
// Source of the rules for allocations: ironic/conductor/allocations.py.
func (c *Conductor) CreateObject(ctx context.Context, o Object) (Object, error) {
	if a, ok := o.(*Allocation); ok {
		return c.allocator.create(ctx, Clone(a))
	}
	return c.fleet.createObject(ctx, o)
}

// UpdateObject changes an object by compare-and-set and returns it as stored. It calls change
// with a clone of the current object, and again with a newer clone after each conflict with
// another write. An object that change leaves as it is keeps its UpdatedAt. An error of change is
// returned as it is. Other errors match [NotFound] or [Exists], or are the store's.
func (c *Conductor) UpdateObject(ctx context.Context, kind Kind, ident string, change func(Object) error) (Object, error) {
	return c.fleet.editObject(ctx, kind, ident, change)
}

// DeleteObject deletes an object, and frees the node of an [Allocation]. The error matches [NotFound], or is the
// store's. If the node of an allocation cannot be freed now, it matches [Locked] or [WrongState].
func (c *Conductor) DeleteObject(ctx context.Context, kind Kind, ident string) error {
	if kind == KindAllocation {
		return c.allocator.remove(ctx, ident)
	}
	return c.fleet.removeObject(ctx, kind, ident)
}

// object is [Conductor.Object]. It updates the index, so that a list that follows is not older.
func (f *fleet) object(ctx context.Context, kind Kind, ident string) (Object, error) {
	r, err := f.load(ctx, kind, ident)
	if errors.Is(err, NotFound) {
		return nil, noObject(kind, ident)
	}
	if err != nil {
		return nil, fmt.Errorf("load %s %s: %w", kind, ident, err)
	}
	o, err := decodeObject(r)
	if x := f.existingIndex(kind); err == nil && x != nil && x.HasOlder(o) {
		x.Replace(Clone(o)) // the caller may modify its own
	}
	return o, err
}

func noObject(kind Kind, ident string) error {
	return refuse(NotFound, "%s %s could not be found.", kind, ident)
}

// createObject is [Conductor.CreateObject].
func (f *fleet) createObject(ctx context.Context, o Object) (Object, error) {
	o = Clone(o)
	m := o.Meta()
	if m.UUID == "" {
		m.UUID = uuid.NewString()
	}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = now()
	}
	r, err := encodeObject(o)
	if err != nil {
		return nil, err
	}
	store := func() error {
		m.Revision, err = f.store.Create(ctx, r)
		return err
	}
	if x := f.existingIndex(o.Kind()); x != nil {
		err = x.Create(o, store, f.exists(ctx, o.Kind()))
	} else {
		err = store()
	}
	if err != nil {
		return nil, objectExists(o, err)
	}
	return o, nil
}

func objectExists(o Object, err error) error {
	var duplicate *DuplicateError
	if errors.As(err, &duplicate) {
		return &Error{Reason: Exists, Text: fmt.Sprintf("%s with %s already exists.", o.Kind(), duplicate.Key), Err: duplicate}
	}
	return fmt.Errorf("store %s %s: %w", o.Kind(), o.Meta().UUID, err)
}

// editObject is [Conductor.UpdateObject].
func (f *fleet) editObject(ctx context.Context, kind Kind, ident string, change func(Object) error) (Object, error) {
	for {
		old, err := f.object(ctx, kind, ident)
		if err != nil {
			return nil, err
		}
		o := Clone(old)
		if err := change(o); err != nil {
			return nil, err
		}
		before, err := encodeObject(old)
		if err != nil {
			return nil, err
		}
		if after, err := encodeObject(o); err != nil || bytes.Equal(before.Value, after.Value) {
			return old, err
		}
		m := o.Meta()
		if !otherTraits(old, o) {
			updated := now()
			m.UpdatedAt = &updated
		}
		r, err := encodeObject(o)
		if err != nil {
			return nil, err
		}
		m.Revision, err = f.store.Update(ctx, r)
		switch {
		case err == nil:
			if x := f.existingIndex(kind); x != nil {
				x.Replace(o)
			}
			return o, nil
		case errors.Is(err, NotFound):
			return nil, noObject(kind, ident)
		case !errors.Is(err, ErrConflict):
			return nil, objectExists(o, err)
		}
	}
}

// find is object for the kind of a type.
func find[O Object](ctx context.Context, f *fleet, ident string) (O, error) {
	var of O
	o, err := f.object(ctx, of.Kind(), ident)
	if err != nil {
		return of, err
	}
	return o.(O), nil
}

// editObject is editObject for the kind of a type.
func editObject[O Object](ctx context.Context, f *fleet, ident string, change func(O) error) (O, error) {
	var of O
	o, err := f.editObject(ctx, of.Kind(), ident, func(o Object) error { return change(o.(O)) })
	if err != nil {
		return of, err
	}
	return o.(O), nil
}

// typed returns objects in their own type.
func typed[O Object](objects []Object, err error) ([]O, error) {
	list := make([]O, len(objects))
	for i, o := range objects {
		list[i] = o.(O)
	}
	return list, err
}

// removeObject is [Conductor.DeleteObject]. A record that cannot be decoded is deleted, too.
func (f *fleet) removeObject(ctx context.Context, kind Kind, ident string) error {
	for {
		r, err := f.load(ctx, kind, ident)
		if err == nil {
			err = f.removeRevision(ctx, kind, r.ID, r.Revision)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, NotFound):
			return noObject(kind, ident)
		case !errors.Is(err, ErrConflict):
			return fmt.Errorf("delete %s %s: %w", kind, ident, err)
		}
	}
}

// removeRevision deletes a record unless it has another revision.
func (f *fleet) removeRevision(ctx context.Context, kind Kind, id string, revision int64) error {
	remove := func() (int64, error) { return f.store.Delete(ctx, kind, id, revision) }
	if x := f.existingIndex(kind); x != nil {
		return x.Delete(id, remove)
	}
	_, err := remove()
	return err
}

// discard is removeObject without an error if the object does not exist.
func (f *fleet) discard(ctx context.Context, kind Kind, id string) error {
	err := f.removeObject(ctx, kind, id)
	if errors.Is(err, NotFound) {
		return nil
	}
	return err
}

// discardTimeout bounds the deletion of the objects of a node, of which the entries of its history are the most.
const discardTimeout = time.Minute

// discardOf deletes the objects of a node that does not exist, and nothing if it exists. The objects are listed before
// the node is looked for: a new node with the UUID of a deleted one keeps its own. The inventory is deleted first,
// since discardOrphans finds it only by the other objects; one that is alone stays until a node is created with its
// UUID.
func (f *fleet) discardOf(ctx context.Context, node string) error {
	inventory, err := f.store.Get(ctx, KindInventory, node)
	if err != nil && !errors.Is(err, NotFound) {
		return fmt.Errorf("load the inventory of node %s: %w", node, err)
	}
	objects := map[Kind][]Object{}
	for _, kind := range nodeKinds {
		if objects[kind], err = f.listOf(ctx, kind, node); err != nil {
			return err
		}
	}
	if _, err := f.storedNode(ctx, node); !errors.Is(err, NotFound) {
		return err
	}
	if inventory.ID != "" {
		err := f.removeRevision(ctx, KindInventory, node, inventory.Revision)
		if err != nil && !errors.Is(err, NotFound) && !errors.Is(err, ErrConflict) {
			return fmt.Errorf("delete the inventory of node %s: %w", node, err)
		}
	}
	var errs []error
	for _, kind := range nodeKinds {
		for _, o := range objects[kind] {
			errs = append(errs, f.discardFrom(ctx, node, o))
		}
	}
	return errors.Join(errs...)
}

// list is [Conductor.Objects].
func (f *fleet) list(ctx context.Context, kind Kind) ([]Object, error) {
	x, err := f.read(ctx, kind)
	if err != nil {
		return nil, err
	}
	return x.All(), nil
}

// listOf returns the objects of a kind that belong to a node.
func (f *fleet) listOf(ctx context.Context, kind Kind, node string) ([]Object, error) {
	x, err := f.read(ctx, kind)
	if err != nil {
		return nil, err
	}
	return x.AllOf(node), nil
}

// read returns the index of a kind of objects when a watch has reported all objects.
func (f *fleet) read(ctx context.Context, kind Kind) (*index.Index[Object], error) {
	return awaitIndex(ctx, f, f.of(kind), "objects of kind "+string(kind))
}

// readNodes is read for the nodes.
func (f *fleet) readNodes(ctx context.Context) (*index.Index[*Node], error) {
	return awaitIndex(ctx, f, f.nodes, "nodes")
}

// listNodes is [Conductor.Nodes].
func (f *fleet) listNodes(ctx context.Context) ([]*Node, error) {
	x, err := f.readNodes(ctx)
	if err != nil {
		return nil, err
	}
	return x.All(), nil
}

// awaitIndex returns an index when a watch has reported all its records. It waits no longer than until the end of the
// watches: an index that is incomplete then stays so.
func awaitIndex[R comparable](ctx context.Context, f *fleet, x *index.Index[R], records string) (*index.Index[R], error) {
	if x.Synced() {
		return x, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(f.ended, func() { cancel(errShutdown) })()
	if x.Wait(ctx) != nil {
		return nil, fmt.Errorf("list the %s: %w", records, context.Cause(ctx))
	}
	return x, nil
}

// discardFrom deletes an object of a node that does not exist, unless the object belongs to another node. One that was
// changed since it was listed is read again, and the node is looked for once more.
func (f *fleet) discardFrom(ctx context.Context, node string, o Object) error {
	for o.Meta().NodeUUID == node {
		kind, m := o.Kind(), o.Meta()
		err := f.removeRevision(ctx, kind, m.UUID, m.Revision)
		switch {
		case err == nil || errors.Is(err, NotFound):
			return nil
		case !errors.Is(err, ErrConflict):
			return fmt.Errorf("delete %s %s: %w", kind, m.UUID, err)
		}
		if o, err = f.object(ctx, kind, m.UUID); errors.Is(err, NotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := f.storedNode(ctx, node); !errors.Is(err, NotFound) {
			return err
		}
	}
	return nil
}

// discardOrphans deletes the objects of nodes that do not exist: their process has died, or the store has failed, while
// it deleted the node, or an object was created at that time. It finds them by the kinds that this conductor has read,
// such as the history, which each conductor reads. Ironic's database deletes a node and its objects at once.
func (c *Conductor) discardOrphans() {
	s, err := c.sessions.current()
	if err != nil || !c.fleet.nodes.Synced() {
		return
	}
	for _, kind := range nodeKinds {
		x := c.fleet.existingIndex(kind)
		if x == nil {
			continue
		}
		for _, node := range x.Owners() {
			if c.fleet.nodes.Get(node) != nil || !s.isChosen(node) || !c.engine.pool.TryTake(node) {
				continue
			}
			s.run.group.Go(func() {
				defer c.engine.pool.Free(node)
				if err := c.fleet.discardOf(s.ctx, node); err != nil && s.ctx.Err() == nil {
					c.config.Log.Warn("the objects of a node that may not exist could not be deleted", "node", node, "error", err)
				}
			})
		}
	}
}

// otherTraits reports whether two runbooks differ in their traits. Ironic keeps them in a table of their own, and
// changes them alone: that is no update of the runbook.
func otherTraits(old, o Object) bool {
	before, is := old.(*Runbook)
	after, _ := o.(*Runbook)
	return is && !slices.Equal(before.Traits, after.Traits)
}
