// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"

	"github.com/ironstate/ironstate/states"
)

// discardFreed deletes an active allocation whose node it no longer has. The allocation is read before the node, which
// gets it before it becomes active.
func (f *fleet) discardFreed(ctx context.Context, a *Allocation) error {
	if a.State != states.AllocationActive {
		return nil
	}
	n, err := f.storedNode(ctx, a.NodeUUID)
	if err == nil && n.AllocationUUID != a.UUID {
		err = f.removeRevision(ctx, KindAllocation, a.UUID, a.Revision)
	}
	if errors.Is(err, NotFound) || errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// discardAllFreed deletes the active allocations that have lost their nodes: the process has died, or the store has
// failed, after a client took the instance from the node, before the allocation was deleted. In Ironic's database
// both is one change.
func (al *allocator) discardAllFreed() {
	s, err := al.sessions.current()
	if err != nil || !al.fleet.nodes.Synced() {
		return
	}
	for _, o := range al.fleet.of(KindAllocation).All() {
		a := o.(*Allocation)
		n := al.fleet.nodes.Get(a.NodeUUID)
		if n == nil || n.AllocationUUID == a.UUID || !s.isChosen(a.UUID) || !al.pool.TryTake(a.UUID) {
			continue
		}
		s.run.group.Go(func() {
			defer al.pool.Free(a.UUID)
			if err := al.fleet.discardFreed(s.ctx, a); err != nil && s.ctx.Err() == nil {
				al.config.Log.Warn("an allocation without its node could not be deleted", "allocation", a.UUID, "node", a.NodeUUID, "error", err)
			}
		})
	}
}
