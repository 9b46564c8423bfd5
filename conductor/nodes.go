package conductor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/machine/admission"
)

// Node returns a node by its UUID or its name, as of its last write. The error matches
// [NotFound], or is the store's.
func (c *Conductor) Node(ctx context.Context, ident string) (*Node, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	if n := c.knownNode(ident); n != nil && ctx.Err() == nil {
		return n, nil
	}
	return c.storedNode(ctx, ident)
}

// knownNode returns a node from the index, or nil if the store must be read. Only a
// conductor that is alone uses the index, since its writes are there before they return.
func (c *Conductor) knownNode(ident string) *Node {
	switch _, err := uuid.Parse(ident); {
	case !c.config.alone():
		return nil
	case err == nil:
		return c.nodes.get(ident)
	default:
		return c.nodes.named(ident)
	}
}

// storedNode is Node without the index: it reads the store.
func (c *Conductor) storedNode(ctx context.Context, ident string) (*Node, error) {
	r, err := c.load(ctx, KindNode, ident)
	if errors.Is(err, ErrNotFound) {
		return nil, refuse(NotFound, "Node %s could not be found.", ident)
	}
	if err != nil {
		return nil, fmt.Errorf("load node %s: %w", ident, err)
	}
	if n := c.nodes.get(r.ID); n != nil && n.Revision == r.Revision {
		return n, nil
	}
	return decodeNode(r)
}

// load returns a record by its UUID or its name.
func (c *Conductor) load(ctx context.Context, kind Kind, ident string) (Record, error) {
	if err := c.usable(ctx); err != nil {
		return Record{}, err
	}
	if _, err := uuid.Parse(ident); err != nil {
		ident = nameKey(ident)
	}
	return c.store.Get(ctx, kind, ident)
}

// Nodes returns all nodes, oldest first. It waits until Run has read the store. The result
// includes all writes of this process; writes of other conductors appear with a short delay.
func (c *Conductor) Nodes(ctx context.Context) ([]*Node, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	return c.nodes.list(ctx)
}

// CreateNode stores a new node and returns it as stored. An empty UUID and CreatedAt are
// filled in. The caller chooses the provision state, see [states.APIVersion.InitialState].
// The error matches [Exists], [Associated] or [Invalid], or is the store's.
func (c *Conductor) CreateNode(ctx context.Context, n *Node) (*Node, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	if n == nil {
		return nil, refuse(Invalid, "there is no node to create: it is nil")
	}
	n = n.Clone()
	if n.UUID == "" {
		n.UUID = uuid.NewString()
	}
	if !c.config.Table.States().Has(n.ProvisionState) {
		return nil, refuse(Invalid, "node %s cannot begin in the provision state %q", n.UUID, n.ProvisionState)
	}
	if _, ok := c.Description(n.Driver); !ok {
		return nil, refuse(Invalid, "No valid host was found. Reason: No conductor service registered which supports driver %s for conductor group %q.", n.Driver, n.ConductorGroup)
	}
	if err := errors.Join(checkProperties(n), c.checkInterfaces(&Node{}, n)); err != nil {
		return nil, err
	}
	if n.CreatedAt.IsZero() {
		n.CreatedAt = now()
	}
	n.Revision = 0
	r, err := encodeNode(n)
	if err != nil {
		return nil, err
	}
	if n.Revision, err = c.store.Create(ctx, r); err != nil {
		err = nodeExists(n, err)
		if _, twice := c.Node(ctx, n.Name); n.Name != "" && twice == nil && errors.Is(err, Exists) {
			err = refuse(Exists, "A node with name %s already exists.", n.Name) // rather than with the UUID
		}
		return nil, err
	}
	c.nodes.put(n)
	return n, nil
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
		refused = refuse(Associated, "Instance %s is already associated with a node, it cannot be associated with this other node %s", n.InstanceUUID, n.UUID)
	}
	refused.Err = duplicate
	return refused
}

// save stores a modified clone of a node and returns it.
func (c *Conductor) save(ctx context.Context, n *Node) (*Node, error) {
	updated := now()
	n.UpdatedAt = &updated
	r, err := encodeNode(n)
	if err != nil {
		return nil, err
	}
	revision, err := c.store.Update(ctx, r)
	if err != nil {
		return nil, nodeExists(n, err)
	}
	n.Revision = revision
	c.nodes.put(n)
	return n, nil
}

// edit changes a node by compare-and-set. It calls change with a clone of the current node,
// and again after each conflict with another write. An error of change is returned as it is, see
// [Held] for the exception. edit returns the node before and after the change.
func (c *Conductor) edit(ctx context.Context, ident string, change func(*Node) error) (before, n *Node, err error) {
	for get := c.Node; ; get = c.storedNode {
		before, err := get(ctx, ident)
		if err != nil {
			return nil, nil, err
		}
		n := before.Clone()
		var held *heldError
		if err := change(n); errors.As(err, &held) {
			n = before.Clone()
		} else if err != nil {
			return nil, nil, err
		}
		n, err = c.save(ctx, n)
		switch {
		case held != nil && !errors.Is(err, ErrConflict):
			return nil, nil, held.error
		case err == nil:
			return before, n, nil
		case errors.Is(err, ErrNotFound):
			return nil, nil, refuse(NotFound, "Node %s could not be found.", ident)
		case !errors.Is(err, ErrConflict):
			return nil, nil, err
		}
	}
}

// UpdateNode changes a node's record for a client and returns it as stored. It calls change
// with a clone of the current node, and again with a newer clone after each conflict with
// another write. An error of change is returned as it is. A change that Ironic's conductor
// refuses is refused: the error matches [Locked], [WrongState], [Associated], [Invalid],
// [Exists] or [NotFound], or is the store's.
//
// The caller checks whether the node's state allows updates at all, see
// [states.Table.CanUpdate].
//
// Source: update_node in ironic/conductor/manager.py.
func (c *Conductor) UpdateNode(ctx context.Context, ident string, change func(*Node) error) (*Node, error) {
	var n *Node
	var freed string // the allocation whose instance was taken from the node
	err := c.retryLocked(ctx, func() (err error) {
		_, n, err = c.edit(ctx, ident, func(n *Node) error {
			before := n.Clone()
			if err := change(n); err != nil {
				return err
			}
			freed = ""
			if before.AllocationUUID != "" && before.InstanceUUID != "" && n.InstanceUUID == "" {
				freed, n.AllocationUUID = before.AllocationUUID, ""
			}
			return c.checkUpdate(before, n)
		})
		return err
	})
	var duplicate *DuplicateError
	switch {
	case errors.As(err, &duplicate): // Ironic locks the node before its database finds the duplicate
		return nil, c.touched(ctx, ident, err)
	case err == nil && freed != "":
		err = c.deleteObject(ctx, KindAllocation, freed)
	}
	return n, err
}

// checkUpdate applies the conductor's rules to a client's change.
func (c *Conductor) checkUpdate(before, n *Node) error {
	n.UUID, n.Revision, n.CreatedAt = before.UUID, before.Revision, before.CreatedAt
	if before.Maintenance && !n.Maintenance {
		n.MaintenanceReason, n.Fault = "", ""
		n.SetEmpty("maintenance_reason", false)
	}
	err := c.Rules().Update(before.Facts(), admission.Update{
		Protects:         n.Protected && !before.Protected,
		Retires:          n.Retired && !before.Retired,
		ProtectedReason:  n.ProtectedReason != "" && !n.Protected && n.ProtectedReason != before.ProtectedReason,
		RetiredReason:    n.RetiredReason != "" && !n.Retired && n.RetiredReason != before.RetiredReason,
		Interface:        c.changedInterface(before, n),
		Unfit:            c.checkInterfaces(before, n),
		Maintenance:      n.Maintenance,
		ReplacesInstance: n.InstanceUUID != "" && n.InstanceUUID != before.InstanceUUID,
		RemovesInstance:  n.InstanceUUID == "" && before.InstanceUUID != "",
		ResourceClass:    before.ResourceClass != "" && n.ResourceClass != before.ResourceClass,
	})
	if err != nil {
		return c.updateRefused(before, err)
	}
	if before.Protected && !n.Protected {
		n.ProtectedReason = ""
		n.SetEmpty("protected_reason", false)
	}
	if before.Retired && !n.Retired {
		n.RetiredReason = ""
		n.SetEmpty("retired_reason", false)
	}
	return Held(checkProperties(n))
}

// updateRefused returns the error of a refused change of a node. Ironic checks some fields only after
// it has locked the node.
func (c *Conductor) updateRefused(n *Node, err error) error {
	refused := c.refused(n, err)
	var r *admission.Refusal
	if errors.As(err, &r) && (r.Reason == Associated || r.Field == "resource_class" || r.Field == "allocation_uuid") {
		return Held(refused)
	}
	return refused
}

// checkProperties refuses sizes in properties that are not non-negative integers.
//
// Source: _validate_property_values in ironic/objects/node.py.
func checkProperties(n *Node) error {
	var wrong []string
	for _, key := range []string{"cpus", "local_gb", "memory_mb"} {
		value, ok := n.Properties[key]
		if !ok || value == nil {
			continue
		}
		if size, err := strconv.ParseInt(fmt.Sprint(value), 10, 64); err != nil || size < 0 {
			wrong = append(wrong, fmt.Sprintf("%s=%v", key, value))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return refuse(Invalid, "The following properties for node %s should be non-negative integers, but provided values are: %s", n.UUID, strings.Join(wrong, ", "))
}

// DeleteNode deletes a node with all objects that belong to it, such as its ports and its
// history. The error matches [Locked], [WrongState], [Associated], [IsProtected] or
// [NotFound], or is the store's.
//
// Source: destroy_node in ironic/conductor/manager.py.
func (c *Conductor) DeleteNode(ctx context.Context, ident string) error {
	return c.retryLocked(ctx, func() error { return c.deleteNode(ctx, ident) })
}

func (c *Conductor) deleteNode(ctx context.Context, ident string) error {
	for get := c.Node; ; get = c.storedNode {
		n, err := get(ctx, ident)
		if err != nil {
			return err
		}
		if err := c.Rules().Delete(n.Facts()); err != nil {
			return c.touched(ctx, n.UUID, c.refused(n, err))
		}
		revision, err := c.store.Delete(ctx, KindNode, n.UUID, n.Revision)
		switch {
		case err == nil:
			c.nodes.drop(n.UUID, revision, true)
			return c.deleteBelongings(ctx, n)
		case errors.Is(err, ErrNotFound):
			return refuse(NotFound, "Node %s could not be found.", ident)
		case !errors.Is(err, ErrConflict):
			return fmt.Errorf("delete node %s: %w", n.UUID, err)
		}
	}
}

// touched sets the UpdatedAt of a node whose request is refused, unless the node is locked, and
// returns the error of the refusal.
func (c *Conductor) touched(ctx context.Context, id string, refused error) error {
	_, _, err := c.edit(ctx, id, func(*Node) error { return Held(refused) })
	return err
}

// TouchNode waits until a node is not reserved, and sets its UpdatedAt, as Ironic's lock does.
// Callers use it before they change an object of the node, such as a port. The error matches
// [Locked] after LockedRetries retries, or [NotFound], or is the store's.
func (c *Conductor) TouchNode(ctx context.Context, ident string) error {
	return c.retryLocked(ctx, func() error {
		_, _, err := c.edit(ctx, ident, c.unlocked)
		return err
	})
}

// retryLocked calls f, and retries it up to LockedRetries times while its error matches Locked.
func (c *Conductor) retryLocked(ctx context.Context, f func() error) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	for retries := c.config.LockedRetries; ; retries-- {
		err := f()
		if retries <= 0 || !errors.Is(err, Locked) || ctx.Err() != nil {
			return err
		}
		c.counters.lockedRetries.Add(1)
		sleep(ctx, c.config.LockedInterval)
	}
}
