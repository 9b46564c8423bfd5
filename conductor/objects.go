package conductor

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/states"
)

// Object returns an object by its UUID or its name, as of its last write. The error matches
// [NotFound], or is the store's.
func (c *Conductor) Object(ctx context.Context, kind Kind, ident string) (*Object, error) {
	r, err := c.load(ctx, kind, ident)
	if errors.Is(err, ErrNotFound) {
		return nil, refuse(NotFound, "%s %s could not be found.", kind, ident)
	}
	if err != nil {
		return nil, fmt.Errorf("load %s %s: %w", kind, ident, err)
	}
	return decodeObject(r)
}

// Objects returns all objects of a kind, oldest first, with the guarantees of
// [Conductor.Nodes].
func (c *Conductor) Objects(ctx context.Context, kind Kind) ([]*Object, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	return c.objects(kind).list(ctx)
}

// objects returns the index of a kind. The first call for a kind starts its watch, if Run
// has been called.
func (c *Conductor) objects(kind Kind) *index[Object] {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, made := c.indexed(kind)
	if made && c.run != nil && c.run.ctx.Err() == nil {
		c.run.group.Go(func() { x.follow(c.run.ctx, c.store, c.config.Log, c.considerObject) })
	}
	return x
}

// indexed returns the index of a kind, and whether this call created it. The caller holds the
// lock.
func (c *Conductor) indexed(kind Kind) (x *index[Object], made bool) {
	x, ok := c.indexes[kind]
	if !ok {
		x = newIndex(kind, decodeObject, func(o *Object) meta { return meta{o.UUID, o.Name, o.CreatedAt, o.NodeUUID, states.NoState, o.Revision} })
		c.indexes[kind] = x
	}
	return x, !ok
}

// ObjectsOf returns the objects of a kind that belong to a node, oldest first.
func (c *Conductor) ObjectsOf(ctx context.Context, kind Kind, nodeUUID string) ([]*Object, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	return c.objects(kind).listOf(ctx, nodeUUID)
}

// CreateObject stores a new object and returns it as stored. An empty UUID and CreatedAt are
// filled in. For allocations use [Conductor.CreateAllocation] instead. The error matches
// [Exists], or is the store's.
func (c *Conductor) CreateObject(ctx context.Context, o *Object) (*Object, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, refuse(Invalid, "there is no object to create: it is nil")
	}
	o = o.Clone()
	if o.UUID == "" {
		o.UUID = uuid.NewString()
	}
	if o.CreatedAt.IsZero() {
		o.CreatedAt = now()
	}
	o.Revision = 0
	r, err := encodeObject(o)
	if err != nil {
		return nil, err
	}
	if o.Revision, err = c.store.Create(ctx, r); err != nil {
		return nil, objectExists(o, err)
	}
	c.objects(o.Kind).put(o)
	return o, nil
}

func objectExists(o *Object, err error) error {
	var duplicate *DuplicateError
	if errors.As(err, &duplicate) {
		return &Error{Reason: Exists, Text: fmt.Sprintf("%s with %s already exists.", o.Kind, duplicate.Key), Err: duplicate}
	}
	return fmt.Errorf("store %s %s: %w", o.Kind, o.UUID, err)
}

// UpdateObject changes an object by compare-and-set and returns it as stored. It calls change
// with a clone of the current object, and again with a newer clone after each conflict with
// another write. An object that change leaves as it is keeps its UpdatedAt. An error of change is returned as it is. Other errors match [NotFound] or
// [Exists], or are the store's.
func (c *Conductor) UpdateObject(ctx context.Context, kind Kind, ident string, change func(*Object) error) (*Object, error) {
	for {
		old, err := c.Object(ctx, kind, ident)
		if err != nil {
			return nil, err
		}
		o := old.Clone()
		if err := change(o); err != nil {
			return nil, err
		}
		same, err := sameObject(old, o)
		if err != nil || same {
			return old, err
		}
		updated := now()
		o.UpdatedAt = &updated
		r, err := encodeObject(o)
		if err != nil {
			return nil, err
		}
		o.Revision, err = c.store.Update(ctx, r)
		switch {
		case err == nil:
			c.objects(kind).put(o)
			return o, nil
		case errors.Is(err, ErrNotFound):
			return nil, refuse(NotFound, "%s %s could not be found.", kind, ident)
		case !errors.Is(err, ErrConflict):
			return nil, objectExists(o, err)
		}
	}
}

// sameObject reports whether two objects are stored alike.
func sameObject(a, b *Object) (bool, error) {
	x, err := encodeObject(a)
	if err != nil {
		return false, err
	}
	y, err := encodeObject(b)
	return bytes.Equal(x.Value, y.Value), err
}

// DeleteObject deletes an object. For allocations use [Conductor.DeleteAllocation] instead.
// The error matches [NotFound], or is the store's.
func (c *Conductor) DeleteObject(ctx context.Context, kind Kind, ident string) error {
	for {
		o, err := c.Object(ctx, kind, ident)
		if err != nil {
			return err
		}
		revision, err := c.store.Delete(ctx, kind, o.UUID, o.Revision)
		switch {
		case err == nil:
			c.objects(kind).drop(o.UUID, revision, true)
			return nil
		case errors.Is(err, ErrNotFound):
			return refuse(NotFound, "%s %s could not be found.", kind, ident)
		case !errors.Is(err, ErrConflict):
			return fmt.Errorf("delete %s %s: %w", kind, ident, err)
		}
	}
}

// deleteObject is DeleteObject without an error if the object does not exist.
func (c *Conductor) deleteObject(ctx context.Context, kind Kind, id string) error {
	err := c.DeleteObject(ctx, kind, id)
	if errors.Is(err, NotFound) {
		return nil
	}
	return err
}

// deleteBelongings deletes the objects of a deleted node.
func (c *Conductor) deleteBelongings(ctx context.Context, n *Node) error {
	var errs []error
	for _, kind := range nodeKinds {
		objects, err := c.ObjectsOf(ctx, kind, n.UUID)
		errs = append(errs, err)
		for _, o := range objects {
			errs = append(errs, c.deleteObject(ctx, kind, o.UUID))
		}
	}
	return errors.Join(errs...)
}
