// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// frees takes the instance from a node, as a client does.
func frees(n *conductor.Node) error { n.InstanceUUID = ""; return nil }

func TestAnAllocationIsDeletedAlsoIfTheResponseToItsNodeWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n, store, _ := allocating(t)
		f.asks()
		require.Equal(t, n.UUID, f.allocation(allocationID).NodeUUID)
		store.loseUpdate(conductor.KindNode)
		_, err := f.UpdateNode(f.ctx, n.UUID, frees)
		require.ErrorContains(t, err, "the response was lost")
		require.Empty(t, f.settle(n).AllocationUUID)
		_, err = f.Object(f.ctx, conductor.KindAllocation, allocationID)
		require.ErrorIs(t, err, conductor.NotFound)
	})
}

func TestAnAllocationStaysIfItsNodeCouldNotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n, store, _ := allocating(t)
		f.asks()
		store.beforeUpdate(conductor.KindNode, func() error { return errDisk })
		_, err := f.UpdateNode(f.ctx, n.UUID, frees)
		require.ErrorIs(t, err, errDisk)
		bubble.Sleep(time.Hour)
		require.Equal(t, allocationID, f.settle(n).AllocationUUID)
		require.Equal(t, n.UUID, f.allocation(allocationID).NodeUUID)
	})
}

// write stores a node or an object as another process would.
func write(t *testing.T, store *conductor.Memory, r conductor.Record, err error) {
	require.NoError(t, err)
	_, err = store.Update(t.Context(), r)
	require.NoError(t, err)
}

func TestAnAllocationWithoutItsNodeIsDeletedAtACheck(t *testing.T) {
	for name, next := range map[string]string{"the node has none": "", "the node has another": "00000000-0000-4000-8000-00000000000b"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, n, store, log := allocating(t)
				f.asks()
				died := f.settle(n).Clone() // the process has, after this
				died.AllocationUUID, died.InstanceUUID = next, next
				r, err := conductor.EncodeNode(died)
				write(t, &store.Memory, r, err)
				bubble.Sleep(time.Hour)
				_, err = f.Object(f.ctx, conductor.KindAllocation, allocationID)
				require.ErrorIs(t, err, conductor.NotFound)
				require.Equal(t, next, f.settle(n).AllocationUUID)
				require.NotContains(t, log.String(), "level=WARN")
			})
		})
	}
}

// A conductor may learn that an allocation is active before it learns which node has it.
func TestAnAllocationWhoseNodeIsKnownLaterStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lagging{Memory: &conductor.Memory{}, follows: conductor.KindAllocation}
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true })
		n := f.node(states.Available)
		_, err := f.allocate(&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: allocationID}, ResourceClass: "big"})
		require.NoError(t, err)
		synctest.Wait()
		a := conductor.Clone(f.allocation(allocationID))
		require.Equal(t, states.AllocationError, a.State)
		n = n.Clone()
		n.AllocationUUID, n.InstanceUUID = allocationID, allocationID
		r, err := conductor.EncodeNode(n)
		write(t, store.Memory, r, err)
		a.State, a.LastError, a.NodeUUID = states.AllocationActive, "", n.UUID
		r, err = conductor.EncodeObject(a)
		write(t, store.Memory, r, err)
		bubble.Sleep(time.Hour)
		require.Equal(t, n.UUID, f.allocation(allocationID).NodeUUID)
	})
}

// An allocation that has ended otherwise tells its client why, and has no node.
func TestAnAllocationThatHasFailedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n, store, _ := allocating(t)
		f.asks()
		failed := conductor.Clone(f.allocation(allocationID))
		failed.State = states.AllocationError
		r, err := conductor.EncodeObject(failed)
		write(t, &store.Memory, r, err)
		_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Description = "X"; return nil })
		require.NoError(t, err)
		freed := f.settle(n).Clone()
		freed.AllocationUUID, freed.InstanceUUID = "", ""
		r, err = conductor.EncodeNode(freed)
		write(t, &store.Memory, r, err)
		bubble.Sleep(time.Hour)
		require.Equal(t, states.AllocationError, f.allocation(allocationID).State)
	})
}
