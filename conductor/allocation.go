package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// Allocation returns the state of an [Object] of [KindAllocation], and NoAllocation of nil and of
// other objects.
func (o *Object) Allocation() states.Allocation {
	if o == nil {
		return states.NoAllocation
	}
	word, _ := o.Fields["state"].(string)
	state, _ := states.ParseAllocation(word)
	return state
}

// backfillField marks an allocation whose request names the node. Clients do not see it.
const backfillField = "backfill"

// CreateAllocation stores a request for a node: an [Object] of [KindAllocation] with
// the fields resource_class, traits, candidate_nodes (UUIDs) and owner. It returns the
// allocation as it was stored, in the state allocating; the conductor then chooses a
// node and makes the allocation active, or sets its state to error with a last_error. If
// NodeUUID names a node, which must be active, that node is allocated at once (backfill), and
// the allocation ends in the state error if that fails.
// The error matches [Exists], [NotFound], [WrongState] or [NoWorker], or is the store's.
//
// Source: ironic/conductor/allocations.py.
func (c *Conductor) CreateAllocation(ctx context.Context, o *Object) (*Object, error) {
	if _, err := c.currentSession(); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, refuse(Invalid, "there is no allocation to create: it is nil")
	}
	o = o.Clone()
	o.Kind = KindAllocation
	wanted := o.NodeUUID
	o.NodeUUID = ""
	set(&o.Fields, "state", states.Allocating.String())
	set(&o.Fields, "last_error", nil)
	if wanted != "" {
		o.Fields[backfillField] = true
	}
	o, err := c.CreateObject(ctx, o)
	if err != nil {
		return nil, err
	}
	if wanted != "" {
		return c.backfill(ctx, o, wanted)
	}
	c.considerObject(o)
	return o, nil
}

// backfill allocates the active node that a client names.
func (c *Conductor) backfill(ctx context.Context, o *Object, ident string) (*Object, error) {
	err := c.TouchNode(ctx, ident)
	if err == nil {
		err = c.giveTo(ctx, o, ident)
	}
	if err != nil {
		_, failed := c.finishAllocation(context.WithoutCancel(ctx), o, "", err)
		return nil, errors.Join(err, failed)
	}
	n, err := c.Node(ctx, ident)
	if err != nil {
		return nil, err
	}
	return c.finishAllocation(ctx, o, n.UUID, nil)
}

// giveTo gives an active node to an allocation that fits it.
func (c *Conductor) giveTo(ctx context.Context, o *Object, ident string) error {
	return c.retryLocked(ctx, func() error {
		_, _, err := c.fleet.edit(ctx, ident, func(n *Node) error {
			if err := c.unlocked(n); err != nil {
				return err
			}
			if why := c.unfit(n, o); len(why) > 0 {
				return allocationFailed(o, fmt.Sprintf("Cannot backfill an allocation for node %s: %s", n.UUID, strings.Join(why, "; ")))
			}
			if n.InstanceUUID != "" && n.InstanceUUID != o.UUID {
				return refuse(Associated, "Node %s is associated with instance %s.", n.UUID, n.InstanceUUID)
			}
			n.allocateTo(o)
			return nil
		})
		return err
	})
}

// allocationFailed returns the error of an allocation that gets no node.
func allocationFailed(o *Object, why string) error {
	return refuse(WrongState, "Failed to process allocation %s: %s.", o.UUID, why)
}

// unfit returns why an allocation cannot name a node.
func (c *Conductor) unfit(n *Node, o *Object) (why []string) {
	class, _ := o.Fields["resource_class"].(string)
	traits, _ := o.Fields["traits"].([]any)
	candidates, _ := o.Fields["candidate_nodes"].([]any)
	if c.Rules().Backfill(n.Facts()) != nil {
		why = append(why, fmt.Sprintf("Node must be in the \"active\" state, but the current state is \"%s\"", n.ProvisionState))
	}
	if class != "" && n.ResourceClass != class {
		why = append(why, fmt.Sprintf("Resource class %s does not match the requested resource class %s", cmp.Or(n.ResourceClass, "None"), class))
	}
	if !n.hasTraits(traits) {
		why = append(why, fmt.Sprintf("List of traits %s does not match the requested traits %s", pyrepr.List(n.Traits), pyrepr.Of(traits)))
	}
	if len(candidates) > 0 && !slices.Contains(candidates, any(n.UUID)) {
		why = append(why, fmt.Sprintf("Candidate nodes must be empty or contain the target node, but got %s", pyrepr.Of(candidates)))
	}
	return why
}

// hasTraits reports whether a node has all of some traits.
func (n *Node) hasTraits(traits []any) bool {
	return !slices.ContainsFunc(traits, func(t any) bool {
		name, _ := t.(string)
		return !slices.Contains(n.Traits, name)
	})
}

// considerObject starts the processing of an allocation that has no node yet, if this
// conductor is the one to choose the node, and that of a call of another conductor. It is
// called for each object that any process writes, and for every allocation and call again
// at each periodic check.
func (c *Conductor) considerObject(o *Object) {
	if o.Kind == kindCall {
		if t, err := c.currentSession(); err == nil {
			c.considerCall(t, o)
		}
		return
	}
	if o.Kind != KindAllocation || o.Allocation() != states.Allocating || o.Fields[backfillField] != nil {
		return
	}
	t, err := c.currentSession()
	if err != nil || !t.chooses(o) || !c.pool.tryTake(o.UUID) {
		return
	}
	c.run.group.Go(func() {
		defer c.pool.free(o.UUID)
		if err := c.allocate(t.ctx, o.UUID); err != nil && !errors.Is(err, NotFound) {
			c.config.Log.Warn("an allocation could not be processed and stays as it is", "allocation", o.UUID, "error", err)
		}
	})
}

// allocate chooses a node for an allocation that has none.
func (c *Conductor) allocate(ctx context.Context, id string) error {
	o, err := c.Object(ctx, KindAllocation, id)
	if err != nil || o.Allocation() != states.Allocating {
		return err
	}
	node, failure := c.choose(ctx, o)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failure != nil {
		failure = allocationFailed(o, failure.Error())
	}
	finished, err := c.finishAllocation(ctx, o, node, failure)
	if node != "" && (errors.Is(err, NotFound) || err == nil && finished.NodeUUID != node) {
		// The allocation was deleted, or got another node, meanwhile.
		return errors.Join(err, c.freeNode(ctx, node, id))
	}
	return err
}

// allocateTo gives the node to an allocation and copies the requested traits to instance_info.
func (n *Node) allocateTo(o *Object) {
	n.InstanceUUID, n.AllocationUUID = o.UUID, o.UUID
	traits, _ := o.Fields["traits"].([]any)
	set(&n.InstanceInfo, "traits", append([]any{}, traits...))
}

// freeFrom takes the node from the allocation, if the allocation has it.
func (n *Node) freeFrom(allocation string) {
	if n.AllocationUUID != allocation {
		return
	}
	n.AllocationUUID = ""
	delete(n.InstanceInfo, "traits")
	if n.InstanceUUID == allocation {
		n.InstanceUUID = ""
	}
}

// freeNode takes a node from an allocation.
func (c *Conductor) freeNode(ctx context.Context, node, allocation string) error {
	_, _, err := c.fleet.edit(ctx, node, func(n *Node) error {
		n.freeFrom(allocation)
		return nil
	})
	return err
}

// finishAllocation stores the outcome of an allocation that is still being processed, and
// returns the allocation.
func (c *Conductor) finishAllocation(ctx context.Context, o *Object, nodeUUID string, failure error) (*Object, error) {
	return c.UpdateObject(ctx, KindAllocation, o.UUID, func(o *Object) error {
		if o.Allocation() != states.Allocating {
			return nil
		}
		delete(o.Fields, backfillField)
		o.NodeUUID = nodeUUID
		o.Fields["state"], o.Fields["last_error"] = states.AllocationActive.String(), nil
		if failure != nil {
			o.Fields["state"], o.Fields["last_error"] = states.AllocationError.String(), failure.Error()
		}
		return nil
	})
}

// choose allocates one of the suitable nodes and returns its UUID. It retries locked nodes.
// A node that already has the allocation's UUID, written by a process that died before it
// finished the allocation, is returned as it is.
func (c *Conductor) choose(ctx context.Context, o *Object) (string, error) {
	all, err := c.Nodes(ctx)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(all, func(n *Node) bool { return n.AllocationUUID == o.UUID }); i >= 0 {
		return all[i].UUID, nil
	}
	nodes, err := c.candidates(all, o)
	if err != nil {
		return "", err
	}
	traits, _ := o.Fields["traits"].([]any)
	var chosen string
	err = c.retryLocked(ctx, func() error {
		locked := false
		for _, candidate := range nodes {
			_, _, err := c.fleet.edit(ctx, candidate.UUID, func(n *Node) error {
				if !c.allocatable(n) || !matches(n, o) || !n.hasTraits(traits) {
					return errNothingToDo
				}
				if err := c.unlocked(n); err != nil {
					return err
				}
				n.allocateTo(o)
				return nil
			})
			if err == nil {
				chosen = candidate.UUID
				return nil
			}
			locked = locked || errors.Is(err, Locked)
		}
		if locked {
			return refuse(Locked, "could not reserve any of %d suitable nodes", len(nodes))
		}
		return errors.New("all nodes were filtered out during reservation")
	})
	return chosen, err
}

// candidates returns the nodes that fit an allocation. Their order is random, so that
// concurrent allocations do not compete for the same node; a node with the allocation's
// name is first.
func (c *Conductor) candidates(all []*Node, o *Object) ([]*Node, error) {
	traits, _ := o.Fields["traits"].([]any)
	named, _ := o.Fields["candidate_nodes"].([]any)
	nodes := slices.DeleteFunc(all, func(n *Node) bool { return !c.allocatable(n) || !matches(n, o) })
	switch {
	case len(nodes) > 0:
	case len(named) > 0:
		return nil, fmt.Errorf("none of the requested nodes are available and match the resource class %v", o.Fields["resource_class"])
	default:
		return nil, fmt.Errorf("no available nodes match the resource class %v", o.Fields["resource_class"])
	}
	nodes = slices.DeleteFunc(nodes, func(n *Node) bool { return !n.hasTraits(traits) })
	if len(nodes) == 0 {
		return nil, fmt.Errorf("no suitable nodes have the requested traits %s", joined(traits))
	}
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	if i := slices.IndexFunc(nodes, func(n *Node) bool { return o.Name != "" && n.Name == o.Name }); i > 0 {
		nodes[0], nodes[i] = nodes[i], nodes[0]
	}
	return nodes, nil
}

func joined(list []any) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(slices.Compact(texts), ", ")
}

// allocatable reports whether a node may be allocated at all. A node without a power state
// qualifies if it has a target power state: it is locked, and the allocation waits for it.
func (c *Conductor) allocatable(n *Node) bool {
	facts := n.Facts()
	if facts.Power == states.NoPower {
		facts.Power = n.TargetPower
	}
	err := c.Rules().Allocate(facts)
	return err == nil || errors.Is(err, Locked)
}

// matches reports whether a node is one that an allocation asks for, apart from its traits.
func matches(n *Node, o *Object) bool {
	class, _ := o.Fields["resource_class"].(string)
	named, _ := o.Fields["candidate_nodes"].([]any)
	owner, _ := o.Fields["owner"].(string)
	return (class == "" || n.ResourceClass == class) &&
		(len(named) == 0 || slices.Contains(named, any(n.UUID))) &&
		(owner == "" || n.Owner == owner || n.Lessee == owner)
}

// DeleteAllocation deletes an allocation and frees its node. The error matches
// [NotFound], or [Locked] or [WrongState] where the node cannot be freed now, or is
// the store's.
func (c *Conductor) DeleteAllocation(ctx context.Context, ident string) error {
	o, err := c.Object(ctx, KindAllocation, ident)
	if err != nil {
		return err
	}
	if o.NodeUUID != "" {
		err := c.retryLocked(ctx, func() error { return c.deallocate(ctx, o) })
		if err != nil && !errors.Is(err, NotFound) {
			return err
		}
	}
	return c.DeleteObject(ctx, KindAllocation, o.UUID)
}

// deallocate frees the node of an allocation.
func (c *Conductor) deallocate(ctx context.Context, o *Object) error {
	_, _, err := c.fleet.edit(ctx, o.NodeUUID, func(n *Node) error {
		if n.AllocationUUID != o.UUID {
			return nil
		}
		switch err := c.Rules().Deallocate(n.Facts()); {
		case err == nil:
		case !errors.Is(err, WrongState):
			return c.refused(n, err)
		case n.ProvisionState == states.Active:
			return refuse(WrongState, "Cannot remove allocation %s for node %s, because the node is active (and maintenance mode is off)", o.UUID, n.UUID)
		default:
			return refuse(WrongState, "Cannot remove allocation %s for node %s, because the node is in state %s where updates are not allowed (and maintenance mode is off)", o.UUID, n.UUID, n.ProvisionState)
		}
		n.freeFrom(o.UUID)
		return nil
	})
	return err
}
