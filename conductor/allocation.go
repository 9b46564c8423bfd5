// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/workerpool"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// Allocation is a request for a node. NodeUUID is the node that it has got.
//
// Source: ironic/objects/allocation.py.
type Allocation struct {
	ObjectMeta
	State          states.Allocation `json:"state"`
	LastError      string            `json:"last_error,omitzero"`
	ResourceClass  string            `json:"resource_class,omitzero"`
	Traits         []string          `json:"traits,omitzero"`
	CandidateNodes []string          `json:"candidate_nodes,omitzero"` // UUIDs; any node if empty
	Owner          string            `json:"owner,omitzero"`
	Extra          map[string]any    `json:"extra,omitzero"`
	// Backfill is set while a request that names the node is processed. It is not in Ironic's record.
	Backfill bool `json:"backfill,omitzero"`
}

// Kind implements [Object].
func (*Allocation) Kind() Kind { return KindAllocation }

// allocator chooses nodes for allocations.
type allocator struct {
	config   *Config
	rules    *rulebook
	fleet    *fleet
	sessions *sessions
	pool     *workerpool.Pool
}

// create stores an allocation. The conductor that chooses its node sees it in the watch.
func (al *allocator) create(ctx context.Context, a *Allocation) (Object, error) {
	if _, err := al.sessions.current(); err != nil {
		return nil, err
	}
	wanted := a.NodeUUID
	a.NodeUUID, a.State, a.LastError, a.Backfill = "", states.Allocating, "", wanted != ""
	if begun := now(); a.Backfill {
		a.UpdatedAt = &begun
	}
	o, err := al.fleet.createObject(ctx, a)
	if err != nil {
		return nil, err
	}
	if wanted != "" {
		a, err := al.backfill(ctx, o.(*Allocation), wanted)
		return a, halfDone(err)
	}
	return o, nil
}

// backfill allocates the active node that a client names.
func (al *allocator) backfill(ctx context.Context, a *Allocation, ident string) (*Allocation, error) {
	err := al.fleet.retryLocked(ctx, func() error {
		_, _, err := al.fleet.edit(ctx, ident, al.rules.unlocked)
		return err
	})
	var n *Node
	if err == nil {
		n, err = al.giveTo(ctx, a, ident)
	}
	if err != nil {
		ctx := context.WithoutCancel(ctx)
		var refusal *Error
		if !errors.As(err, &refusal) { // the node may have the allocation
			_, _, freed := al.fleet.edit(ctx, ident, func(n *Node) error { n.freeFrom(a.UUID); return nil })
			err = errors.Join(err, freed)
		}
		_, failed := al.finishAllocation(ctx, a, "", err)
		return nil, errors.Join(err, failed)
	}
	finished, err := al.settle(context.WithoutCancel(ctx), a, n.UUID, nil)
	if err == nil && finished.NodeUUID != n.UUID {
		return nil, refuse(WrongState, "%s", finished.LastError)
	}
	return finished, err
}

// giveTo gives an active node to an allocation that fits it.
func (al *allocator) giveTo(ctx context.Context, a *Allocation, ident string) (n *Node, err error) {
	err = al.fleet.retryLocked(ctx, func() error {
		_, n, err = al.fleet.edit(ctx, ident, func(n *Node) error {
			if err := al.rules.unlocked(n); err != nil {
				return err
			}
			if why := al.unfit(n, a); len(why) > 0 {
				return allocationFailed(a, fmt.Sprintf("Cannot backfill an allocation for node %s: %s", n.UUID, strings.Join(why, "; ")))
			}
			if n.InstanceUUID != "" && n.InstanceUUID != a.UUID {
				return refuse(Associated, "Node %s is associated with instance %s.", n.UUID, n.InstanceUUID)
			}
			n.allocateTo(a)
			return nil
		})
		return err
	})
	return n, err
}

// allocationFailed returns the error of an allocation that gets no node.
func allocationFailed(a *Allocation, why string) error {
	return refuse(WrongState, "Failed to process allocation %s: %s.", a.UUID, why)
}

// unfit returns why an allocation cannot name a node.
func (al *allocator) unfit(n *Node, a *Allocation) (why []string) {
	if al.rules.admission().Backfill(n.Fields()) != nil {
		why = append(why, fmt.Sprintf("Node must be in the \"active\" state, but the current state is \"%s\"", n.ProvisionState))
	}
	if a.ResourceClass != "" && n.ResourceClass != a.ResourceClass {
		why = append(why, fmt.Sprintf("Resource class %s does not match the requested resource class %s",
			cmp.Or(n.ResourceClass, "None"), a.ResourceClass))
	}
	if !n.hasTraits(a.Traits) {
		why = append(why, fmt.Sprintf("List of traits %s does not match the requested traits %s", pyrepr.List(n.Traits), pyrepr.List(a.Traits)))
	}
	if len(a.CandidateNodes) > 0 && !slices.Contains(a.CandidateNodes, n.UUID) {
		why = append(why, fmt.Sprintf("Candidate nodes must be empty or contain the target node, but got %s", pyrepr.List(a.CandidateNodes)))
	}
	return why
}

// hasTraits reports whether a node has all of some traits.
func (n *Node) hasTraits(traits []string) bool {
	return !slices.ContainsFunc(traits, func(name string) bool { return !slices.Contains(n.Traits, name) })
}

// reconcile starts the processing of an allocation that has no node yet, if this conductor
// is the one to choose the node. A client's request that names the node is left to the conductor that handles it for
// backfillTime; that has died by then, or its store has failed.
func (al *allocator) reconcile(a *Allocation) {
	if a.State != states.Allocating || a.Backfill && a.UpdatedAt != nil && time.Since(*a.UpdatedAt) < backfillTime {
		return
	}
	s, err := al.sessions.current()
	if err != nil || !s.isChosen(a.UUID) || !al.pool.TryTake(a.UUID) {
		return
	}
	s.run.group.Go(func() {
		defer al.pool.Free(a.UUID)
		if err := al.allocate(s.ctx, a.UUID); err != nil && !errors.Is(err, NotFound) {
			al.config.Log.Warn("an allocation could not be processed and stays as it is", "allocation", a.UUID, "error", err)
		}
	})
}

// backfillTime is how long a request may take that names the node of its allocation.
const backfillTime = 10 * time.Minute

// allocate chooses a node for an allocation that has none.
func (al *allocator) allocate(ctx context.Context, id string) error {
	a, err := find[*Allocation](ctx, al.fleet, id)
	if err != nil || a.State != states.Allocating {
		return err
	}
	node, failure := al.choose(ctx, a)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var store *storeError
	if errors.As(failure, &store) {
		return store.error
	}
	if failure != nil {
		failure = allocationFailed(a, failure.Error())
	}
	_, err = al.settle(ctx, a, node, failure)
	return err
}

// storeError is an error of the store while a node is chosen. The allocation is processed again.
type storeError struct{ error }

// settle stores the outcome of an allocation, and frees its node if the allocation was deleted, or ended otherwise,
// meanwhile.
func (al *allocator) settle(ctx context.Context, a *Allocation, node string, failure error) (*Allocation, error) {
	finished, err := al.finishAllocation(ctx, a, node, failure)
	if node != "" && (errors.Is(err, NotFound) || err == nil && finished.NodeUUID != node) {
		_, _, freed := al.fleet.edit(ctx, node, func(n *Node) error { n.freeFrom(a.UUID); return nil })
		err = errors.Join(err, freed)
	}
	return finished, err
}

// allocateTo gives the node to an allocation and copies the requested traits to instance_info.
func (n *Node) allocateTo(a *Allocation) {
	n.InstanceUUID, n.AllocationUUID = a.UUID, a.UUID
	traits := make([]any, len(a.Traits))
	for i, t := range a.Traits {
		traits[i] = t
	}
	setKey(&n.InstanceInfo, "traits", traits)
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

// finishAllocation stores the outcome of an allocation that is still being processed, and
// returns the allocation.
func (al *allocator) finishAllocation(ctx context.Context, a *Allocation, nodeUUID string, failure error) (*Allocation, error) {
	return editObject(ctx, al.fleet, a.UUID, func(a *Allocation) error {
		if a.State != states.Allocating {
			return nil
		}
		a.Backfill, a.NodeUUID = false, nodeUUID
		a.State, a.LastError = states.AllocationActive, ""
		if failure != nil {
			a.State, a.LastError = states.AllocationError, failure.Error()
		}
		return nil
	})
}

// choose allocates one of the suitable nodes and returns its UUID. It retries locked nodes.
// A node that already has the allocation's UUID, written by a process that died before it
// finished the allocation, is returned as it is.
func (al *allocator) choose(ctx context.Context, a *Allocation) (string, error) {
	all, err := al.fleet.listNodes(ctx)
	if err != nil {
		return "", &storeError{err}
	}
	if id := nodeOf(a, all); id != "" {
		return id, nil
	}
	if a.Backfill {
		return "", errors.New("the request that names its node was cut off")
	}
	nodes, err := al.candidates(all, a)
	if err != nil {
		return "", err
	}
	var chosen string
	err = al.fleet.retryLocked(ctx, func() error {
		locked := false
		for _, candidate := range nodes {
			_, _, err := al.fleet.edit(ctx, candidate.UUID, func(n *Node) error {
				if !al.allocatable(n) || !matches(n, a) || !n.hasTraits(a.Traits) {
					return errNothingToDo
				}
				if err := al.rules.unlocked(n); err != nil {
					return err
				}
				n.allocateTo(a)
				return nil
			})
			var refusal *Error
			switch {
			case err == nil:
				chosen = candidate.UUID
				return nil
			case errors.Is(err, Locked):
				locked = true
			case !errors.Is(err, errNothingToDo) && !errors.As(err, &refusal):
				return &storeError{err} // the node may have the allocation
			}
		}
		if locked {
			return refuse(Locked, "could not reserve any of %d suitable nodes", len(nodes))
		}
		return errors.New("all nodes were filtered out during reservation")
	})
	return chosen, err
}

// nodeOf returns the UUID of the node that has an allocation.
func nodeOf(a *Allocation, nodes []*Node) string {
	if i := slices.IndexFunc(nodes, func(n *Node) bool { return n.AllocationUUID == a.UUID }); i >= 0 {
		return nodes[i].UUID
	}
	return ""
}

// candidates returns the nodes that fit an allocation. Their order is random, so that
// concurrent allocations do not compete for the same node; a node with the allocation's
// name is first.
func (al *allocator) candidates(all []*Node, a *Allocation) ([]*Node, error) {
	nodes := slices.DeleteFunc(all, func(n *Node) bool { return !al.allocatable(n) || !matches(n, a) })
	switch {
	case len(nodes) > 0:
	case len(a.CandidateNodes) > 0:
		return nil, fmt.Errorf("none of the requested nodes are available and match the resource class %s", cmp.Or(a.ResourceClass, "None"))
	default:
		return nil, fmt.Errorf("no available nodes match the resource class %s", cmp.Or(a.ResourceClass, "None"))
	}
	nodes = slices.DeleteFunc(nodes, func(n *Node) bool { return !n.hasTraits(a.Traits) })
	if len(nodes) == 0 {
		return nil, fmt.Errorf("no suitable nodes have the requested traits %s", strings.Join(slices.Compact(slices.Clone(a.Traits)), ", "))
	}
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	if i := slices.IndexFunc(nodes, func(n *Node) bool { return a.Name != "" && n.Name == a.Name }); i > 0 {
		nodes[0], nodes[i] = nodes[i], nodes[0]
	}
	return nodes, nil
}

// allocatable reports whether a node may be allocated at all. A node without a power state
// qualifies if it has a target power state: it is locked, and the allocation waits for it.
func (al *allocator) allocatable(n *Node) bool {
	fields := n.Fields()
	if fields.Power == states.NoPower {
		fields.Power = n.TargetPower
	}
	err := al.rules.admission().Allocate(fields)
	return err == nil || errors.Is(err, Locked)
}

// matches reports whether a node is one that an allocation asks for, apart from its traits.
func matches(n *Node, a *Allocation) bool {
	return (a.ResourceClass == "" || n.ResourceClass == a.ResourceClass) &&
		(len(a.CandidateNodes) == 0 || slices.Contains(a.CandidateNodes, n.UUID)) &&
		(a.Owner == "" || n.Owner == a.Owner || n.Lessee == a.Owner)
}

// remove frees the node of an allocation and deletes the allocation, also one whose record cannot be decoded.
func (al *allocator) remove(ctx context.Context, ident string) error {
	a, err := find[*Allocation](ctx, al.fleet, ident)
	if err != nil {
		r, loadErr := al.fleet.load(ctx, KindAllocation, ident)
		if loadErr != nil {
			return err
		}
		a = &Allocation{ObjectMeta: ObjectMeta{UUID: r.ID}}
	}
	node := a.NodeUUID
	if node == "" { // a node may have been given to it before its record could be stored
		all, err := al.fleet.listNodes(ctx)
		if err != nil {
			return err
		}
		node = nodeOf(a, all)
	}
	if node != "" {
		err := al.fleet.retryLocked(ctx, func() error { return al.deallocate(ctx, a, node) })
		if err != nil && !errors.Is(err, NotFound) {
			return err
		}
	}
	return al.fleet.discard(ctx, KindAllocation, a.UUID) // a check may have deleted it since its node was freed
}

// deallocate frees the node of an allocation.
func (al *allocator) deallocate(ctx context.Context, a *Allocation, node string) error {
	_, _, err := al.fleet.edit(ctx, node, func(n *Node) error {
		if n.AllocationUUID != a.UUID {
			return nil
		}
		switch err := al.rules.admission().Deallocate(n.Fields()); {
		case err == nil:
		case !errors.Is(err, WrongState):
			return al.rules.refused(n, err)
		case n.ProvisionState == states.Active:
			return refuse(WrongState, "Cannot remove allocation %s for node %s, because the node is active (and maintenance mode is off)",
				a.UUID, n.UUID)
		default:
			return refuse(WrongState, "Cannot remove allocation %s for node %s, because the node is in state %s where updates are "+
				"not allowed (and maintenance mode is off)", a.UUID, n.UUID, n.ProvisionState)
		}
		n.freeFrom(a.UUID)
		return nil
	})
	return err
}
