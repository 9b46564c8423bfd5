// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// interrupted is a store in which something else happens before an operation. Each function is called
// once, for the next operation on the kind.
type interrupted struct {
	conductor.Memory
	get, update sync.Map // func() error by kind; the operation returns its error
	updated     sync.Map // the same after the operation
}

func (s *interrupted) beforeGet(kind conductor.Kind, f func() error) { s.get.Store(kind, f) }

func (s *interrupted) beforeUpdate(kind conductor.Kind, f func() error) { s.update.Store(kind, f) }

func interrupt(by *sync.Map, kind conductor.Kind) error {
	if f, ok := by.LoadAndDelete(kind); ok {
		return f.(func() error)()
	}
	return nil
}

func (s *interrupted) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	if err := interrupt(&s.get, kind); err != nil {
		return conductor.Record{}, err
	}
	return s.Memory.Get(ctx, kind, key)
}

func (s *interrupted) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if err := interrupt(&s.update, r.Kind); err != nil {
		return 0, err
	}
	revision, err := s.Memory.Update(ctx, r)
	if err == nil {
		err = interrupt(&s.updated, r.Kind)
	}
	return revision, err
}

// loseUpdate makes the store lose its response to the next change of a record of the kind.
func (s *interrupted) loseUpdate(kind conductor.Kind) {
	s.updated.Store(kind, func() error { return errors.New("the response was lost") })
}

const allocationID = "00000000-0000-4000-8000-00000000000a"

// allocating runs a conductor with one node, and returns it with its store and its log.
func allocating(t *testing.T) (*fleet, *conductor.Node, *interrupted, *lockedBuffer) {
	store, log := &interrupted{}, &lockedBuffer{}
	f := start(t, func(c *conductor.Config) {
		c.Store, c.SkipPowerSync = store, true
		c.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	n := f.create(conductor.Node{
		ProvisionState: states.Available, Power: states.PowerOff, ResourceClass: "big", Traits: []string{"CUSTOM_A"},
	})
	return f, f.settle(n), store, log
}

// asks stores an allocation that the node of allocating fits.
func (f *fleet) asks() {
	_, err := f.allocate(&conductor.Allocation{
		ObjectMeta: conductor.ObjectMeta{UUID: allocationID}, ResourceClass: "big", Traits: []string{"CUSTOM_A"},
	})
	require.NoError(f.t, err)
	synctest.Wait()
}

func TestANodeThatNoLongerFitsIsNotAllocated(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*conductor.Node)
		why    string // empty if the node fits
	}{
		"still fits":     {func(n *conductor.Node) { n.Description = "another" }, ""},
		"maintenance":    {func(n *conductor.Node) { n.Maintenance = true }, "all nodes were filtered out during reservation"},
		"resource class": {func(n *conductor.Node) { n.ResourceClass = "small" }, "all nodes were filtered out during reservation"},
		"traits":         {func(n *conductor.Node) { n.Traits = nil }, "all nodes were filtered out during reservation"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, n, store, log := allocating(t)
				store.beforeUpdate(conductor.KindNode, func() error {
					_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { c.change(n); return nil })
					return err
				})
				f.asks()
				a, got := f.allocation(allocationID), f.settle(n)
				if c.why == "" {
					require.Equal(t, []string{n.UUID, allocationID}, []string{a.NodeUUID, got.AllocationUUID})
				} else {
					require.Equal(t, "Failed to process allocation "+allocationID+": "+c.why+".", a.LastError)
					require.Empty(t, a.NodeUUID+got.AllocationUUID)
				}
				require.NotContains(t, log.String(), "level=WARN")
			})
		})
	}
}

func TestANodeIsFreedIfItsAllocationHasEndedMeanwhile(t *testing.T) {
	for name, end := range map[string]func(f *fleet, store *interrupted) error{
		"deleted": func(f *fleet, _ *interrupted) error {
			return f.DeleteObject(f.ctx, conductor.KindAllocation, allocationID)
		},
		"another conductor has ended it": func(f *fleet, store *interrupted) error {
			r, err := store.Memory.Get(f.ctx, conductor.KindAllocation, allocationID)
			require.NoError(f.t, err)
			r.Value = []byte(strings.Replace(string(r.Value), `"state":"allocating"`, `"state":"error"`, 1))
			_, err = store.Memory.Update(f.ctx, r)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, n, store, log := allocating(t)
				store.beforeUpdate(conductor.KindNode, func() error { return end(f, store) })
				f.asks()
				got := f.settle(n)
				require.Empty(t, got.AllocationUUID+got.InstanceUUID)
				require.NotContains(t, got.InstanceInfo, "traits")
				require.NotContains(t, log.String(), "level=WARN")
				_, err := f.Object(f.ctx, conductor.KindAllocation, allocationID)
				require.Equal(t, name == "deleted", errors.Is(err, conductor.NotFound))
			})
		})
	}
}

func TestAnAllocationThatIsDeletedFirstGetsNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n, store, log := allocating(t)
		store.beforeGet(conductor.KindAllocation, func() error {
			return f.DeleteObject(f.ctx, conductor.KindAllocation, allocationID)
		})
		f.asks()
		require.Empty(t, f.settle(n).AllocationUUID)
		require.NotContains(t, log.String(), "level=WARN")
	})
}

func TestAnAllocationThatCannotBeStoredIsProcessedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n, store, log := allocating(t)
		var answers atomic.Bool
		var silent func() error // for each attempt: the request and the watch may both begin one
		silent = func() error {
			if answers.Load() {
				return nil
			}
			store.beforeUpdate(conductor.KindAllocation, silent)
			return errors.New("the store does not answer")
		}
		store.beforeUpdate(conductor.KindAllocation, silent)
		f.asks()
		require.Equal(t, states.Allocating, f.allocation(allocationID).State)
		require.Contains(t, log.String(), `level=WARN msg="an allocation could not be processed and stays as it is" allocation=`+allocationID)
		require.Contains(t, log.String(), "the store does not answer")
		answers.Store(true)
		bubble.Sleep(time.Hour) // the node that it got first is its node
		require.Equal(t, n.UUID, f.allocation(allocationID).NodeUUID)
		require.Equal(t, allocationID, f.settle(n).AllocationUUID)
	})
}

func TestAnAllocationKeepsItsNodeWhoseResponseWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n, store, log := allocating(t)
		store.loseUpdate(conductor.KindNode)
		f.asks()
		require.Contains(t, log.String(), "an allocation could not be processed and stays as it is")
		require.Equal(t, states.Allocating, f.allocation(allocationID).State)
		bubble.Sleep(time.Hour)
		require.Equal(t, n.UUID, f.allocation(allocationID).NodeUUID)
		require.Equal(t, allocationID, f.settle(n).AllocationUUID)
	})
}

func TestAnAllocationWhoseNamedNodeCouldNotBeStoredHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, store, _ := allocating(t)
		n := f.node(states.Active)
		store.beforeUpdate(conductor.KindNode, func() error { // the first change asks whether the node is locked
			store.beforeUpdate(conductor.KindNode, func() error { store.loseUpdate(conductor.KindNode); return nil })
			return nil
		})
		_, err := f.allocate(&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: allocationID, NodeUUID: n.UUID}})
		require.ErrorContains(t, err, "the response was lost")
		require.Equal(t, states.AllocationError, f.allocation(allocationID).State)
		require.Empty(t, f.settle(n).AllocationUUID)
	})
}

func TestANodeIsFreedWhoseAllocationDoesNotNameIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n, store, _ := allocating(t)
		store.beforeUpdate(conductor.KindAllocation, func() error { return errors.New("the store does not answer") })
		f.asks()
		require.Equal(t, allocationID, f.settle(n).AllocationUUID)
		require.Empty(t, f.allocation(allocationID).NodeUUID)
		require.NoError(t, f.DeleteObject(f.ctx, conductor.KindAllocation, allocationID))
		require.Empty(t, f.settle(n).AllocationUUID)
	})
}

func TestEachAllocationIsProcessedByOneConductor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: make(chan scriptStep)}
		f := start(t, func(c *conductor.Config) {
			c.Membership = s
			go func() {
				s.steps <- scriptStep{others: []conductor.Member{{ID: otherMember, Hostname: "beta", Drivers: []string{"another"}}}}
			}()
		})
		var left []string
		for i := range 40 {
			id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
			_, err := f.allocate(&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: id}})
			require.NoError(t, err)
			if f.allocation(id).State == states.Allocating {
				left = append(left, id)
			}
		}
		require.NotEmpty(t, left)
		require.Less(t, len(left), 40)
		s.steps <- scriptStep{} // beta has left
		for _, id := range left {
			require.Equal(t, states.AllocationError, f.allocation(id).State)
		}
	})
}

func TestAllocationsDoNotCompeteForTheSameNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, _, _ := allocating(t)
		f.create(conductor.Node{ProvisionState: states.Available, Power: states.PowerOff, ResourceClass: "big", Traits: []string{"CUSTOM_A"}})
		chosen := map[string]bool{}
		for range 60 { // each node with the same probability
			f.asks()
			chosen[f.allocation(allocationID).NodeUUID] = true
			require.NoError(t, f.DeleteObject(f.ctx, conductor.KindAllocation, allocationID))
		}
		require.Len(t, chosen, 2)
	})
}

// Another conductor may have ended the allocation, since the request that names its node took too long.
func TestARequestThatNamesANodeFailsIfItsAllocationHasEndedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, store, _ := allocating(t)
		n := f.create(conductor.Node{ProvisionState: states.Active})
		store.beforeUpdate(conductor.KindNode, func() error {
			_, err := f.UpdateObject(f.ctx, conductor.KindAllocation, allocationID, func(o conductor.Object) error {
				a := o.(*conductor.Allocation)
				a.State, a.LastError, a.Backfill = states.AllocationError, "it was cut off", false
				return nil
			})
			return err
		})
		_, err := f.allocate(&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: allocationID, NodeUUID: n.UUID}})
		require.ErrorIs(t, err, conductor.WrongState)
		require.EqualError(t, err, "it was cut off")
		require.Empty(t, f.settle(n).AllocationUUID)
	})
}

func TestARequestThatNamesANodeIsNotCutOffWhileItMayLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, store, _ := allocating(t)
		n := f.create(conductor.Node{ProvisionState: states.Active})
		store.beforeUpdate(conductor.KindNode, func() error { bubble.Sleep(9 * time.Minute); return nil })
		yesterday := time.Now().Add(-24 * time.Hour)
		a, err := f.allocate(&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: allocationID, NodeUUID: n.UUID, CreatedAt: yesterday}})
		require.NoError(t, err)
		require.Equal(t, states.AllocationActive, a.State)
	})
}
