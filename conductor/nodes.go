// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/states"
)

// Node returns a node by its UUID or its name, as of its last write. The error matches
// [NotFound], or is the store's.
func (c *Conductor) Node(ctx context.Context, ident string) (*Node, error) {
	return c.fleet.node(ctx, ident)
}

// Nodes returns all nodes, oldest first. It waits until Run has read the store. The result
// includes all writes of this process; writes of other conductors appear with a short delay.
func (c *Conductor) Nodes(ctx context.Context) ([]*Node, error) {
	return c.fleet.listNodes(ctx)
}

// NodesIn returns a range of the nodes, with the guarantees of [Conductor.Nodes]; no other nodes are
// visited. A node that is written during the iteration may be yielded or not. The error matches
// [NotFound] if the node After does not exist.
func (c *Conductor) NodesIn(ctx context.Context, r Range) (iter.Seq[*Node], error) {
	x, err := c.fleet.readNodes(ctx)
	if err != nil {
		return nil, err
	}
	return selectRange(ctx, x, KindNode, r)
}

// Range selects records of one kind. The zero value selects all, oldest first.
type Range struct {
	// Of selects the nodes with this ParentNode, or the objects with this NodeUUID; "" selects those
	// without one, nil selects both.
	Of *string
	// After is the UUID of a record, empty for none. The range begins with the next one.
	After string
	// Backwards orders the records from the newest to the oldest.
	Backwards bool
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
		for change := range c.fleet.nodes.Watch(ctx) {
			if !yield(NodeChange{change.ID, change.Value}) {
				return
			}
		}
	}
}

// DefaultGroup returns the conductor group of new nodes that name none, see [Config.DefaultGroup]; it is empty in
// series before 2024.1.
func (c *Conductor) DefaultGroup() string {
	if c.config.Table.Series() < states.Caracal {
		return ""
	}
	return c.config.DefaultGroup
}

// CreateNode stores a new node and returns it as stored. An empty UUID and CreatedAt are filled in. The caller chooses
// the provision state, see [states.APIVersion.InitialState], and checks the forms of UUID and name, as package api does
// for its clients' versions. A reservation whose claim is no member's, and a target power state without a reservation,
// are dropped at a check. What is left of a deleted node with the same UUID is deleted first, if the Conductor runs.
// The error matches [Exists], [Associated] or [Invalid], or is the store's.
func (c *Conductor) CreateNode(ctx context.Context, n *Node) (*Node, error) {
	if n == nil {
		return nil, refuse(Invalid, "no node was given: it is nil")
	}
	n = n.Clone()
	given := n.UUID != ""
	if !given {
		n.UUID = uuid.NewString()
	}
	n.ConductorGroup = cmp.Or(n.ConductorGroup, c.DefaultGroup())
	if !c.config.Table.States().Has(n.ProvisionState) {
		return nil, refuse(Invalid, "node %s cannot begin in the provision state %q", n.UUID, n.ProvisionState)
	}
	if _, ok := c.Description(n.Driver); !ok {
		return nil, noConductor(n, c.config.Table.Series(), Invalid)
	}
	if err := errors.Join(checkProperties(n, c.config.Table.Series()), c.rules.checkInterfaces(&Node{}, n)); err != nil {
		return nil, err
	}
	if n.CreatedAt.IsZero() {
		n.CreatedAt = now()
	}
	if watches := c.fleet.watches(); given && watches != nil && watches.Err() == nil && c.fleet.nodes.Synced() {
		if err := c.fleet.discardOf(ctx, n.UUID); err != nil {
			return nil, err
		}
	}
	if err := c.fleet.create(ctx, n); err != nil {
		return nil, err
	}
	return n, nil
}

// UpdateNode changes a node's record for a client and returns it as stored. It calls change
// with a clone of the current node, and again with a newer clone after each conflict with
// another write. An error of change is returned as it is. A change that Ironic's conductor
// refuses is refused, and one of what the conductor alone writes: the UUID, the provision state, the
// targets, the reservation with its claim, and the transitions. The error matches [Locked], [WrongState], [Associated],
// [Invalid], [Exists] or [NotFound], or is the store's.
//
// The caller checks whether the node's state allows updates at all, see
// [states.Table.CanUpdate].
//
// Source: update_node in ironic/conductor/manager.py.
func (c *Conductor) UpdateNode(ctx context.Context, ident string, change func(*Node) error) (*Node, error) {
	var n *Node
	var freed string // the allocation whose instance was taken from the node
	err := c.fleet.retryLocked(ctx, func() (err error) {
		_, n, err = c.fleet.edit(ctx, ident, func(n *Node) error {
			before := n.Clone()
			if err := change(n); errors.As(err, new(*refusedUnderLock)) {
				return cmp.Or(c.rules.unlocked(before), err)
			} else if err != nil {
				return err
			}
			n.MaintenanceReason = leading(n.MaintenanceReason, maxReason)
			freed = ""
			if before.AllocationUUID != "" && before.InstanceUUID != "" && n.InstanceUUID == "" {
				freed, n.AllocationUUID = before.AllocationUUID, ""
			}
			return c.rules.checkUpdate(before, n)
		})
		return err
	})
	var duplicate *DuplicateError
	switch {
	case errors.As(err, &duplicate): // Ironic locks the node before its database finds the duplicate
		return nil, c.fleet.touched(ctx, ident, err)
	case err == nil && freed != "":
		err = halfDone(c.fleet.discard(context.WithoutCancel(ctx), KindAllocation, freed))
	case freed != "" && !errors.As(err, new(*Error)): // the node may have been stored
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
		if a, lost := find[*Allocation](ctx, c.fleet, freed); lost == nil {
			_ = c.fleet.discardFreed(ctx, a) // or at a check
		}
	}
	return n, err
}

// maxReason is the number of characters of a maintenance_reason that are stored.
//
// Source: story 2005377 of Ironic; save in ironic/objects/node.py, with the default of [DEFAULT]log_in_db_max_size.
const maxReason = 4096

// leading returns the first characters of a text.
func leading(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}

// checkOwn refuses a change by a client or a step of what the conductor alone writes: the node's identity, its place in
// the state machine and who works on it. A node that is put into a state by a plain write has no transition, and may
// be in one that no request leaves.
func checkOwn(before, n *Node) error {
	field := ""
	switch {
	case n.UUID != before.UUID:
		field = "uuid"
	case n.ProvisionState != before.ProvisionState:
		field = "provision_state"
	case n.TargetProvisionState != before.TargetProvisionState:
		field = "target_provision_state"
	case n.TargetPower != before.TargetPower:
		field = "target_power_state"
	case n.Reservation != before.Reservation:
		field = "reservation"
	case n.Claim != before.Claim:
		field = "claim"
	case !slices.Equal(n.Transitions, before.Transitions):
		field = "transitions"
	default:
		return nil
	}
	return refuse(Invalid, "node %s: %s is changed by the conductor alone", before.UUID, field)
}

// checkProperties refuses sizes in properties that are not non-negative integers. Numbers may have a fraction.
//
// Source: _validate_property_values in ironic/objects/node.py.
func checkProperties(n *Node, series states.Series) error {
	var wrong []string
	for _, key := range []string{"cpus", "local_gb", "memory_mb"} {
		value := n.Properties[key]
		if value == nil || key == "cpus" && series >= states.Bobcat {
			continue
		}
		valid := false
		switch size := value.(type) {
		case bool:
			valid = true
		case string:
			whole, isWhole := new(big.Int).SetString(strings.TrimSpace(size), 10)
			valid = isWhole && whole.Sign() >= 0
		default:
			number, err := strconv.ParseFloat(fmt.Sprint(size), 64)
			valid = err == nil && number > -1
		}
		if !valid {
			wrong = append(wrong, fmt.Sprintf("%s=%v", key, value))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return refuse(Invalid, "The following properties for node %s should be non-negative integers, but provided values are: %s",
		n.UUID, strings.Join(wrong, ", "))
}

// DeleteNode deletes a node with all objects that belong to it, such as its ports and its
// history. Before Run the objects are left to a check of a conductor that runs. The error matches [Locked],
// [WrongState], [Associated], [IsProtected] or [NotFound], or is the store's.
//
// Source: destroy_node in ironic/conductor/manager.py.
func (c *Conductor) DeleteNode(ctx context.Context, ident string) error {
	return c.fleet.retryLocked(ctx, func() error {
		return c.fleet.remove(ctx, ident, func(n *Node) error {
			if err := c.rules.admission().Delete(n.Fields()); err != nil {
				return c.fleet.touched(ctx, n.UUID, c.rules.refused(n, err))
			}
			return nil
		})
	})
}

// TouchNode waits until a node is not reserved, and sets its UpdatedAt, as Ironic's lock does.
// Callers use it before they change an object of the node, such as a port. The error matches
// [Locked] after LockedRetries retries, or [NotFound], or is the store's.
func (c *Conductor) TouchNode(ctx context.Context, ident string) error {
	return c.fleet.retryLocked(ctx, func() error {
		_, _, err := c.fleet.edit(ctx, ident, c.rules.unlocked)
		return err
	})
}
