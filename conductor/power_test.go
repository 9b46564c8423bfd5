// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// powered stores an active node with a recorded power state, and sets its machine to another. The
// first round of the power sync, at the start, does not see the node.
func (f *fleet) powered(recorded, real states.Power) *conductor.Node {
	bubble.Sleep(time.Second)
	n := f.node(states.Active)
	require.NoError(f.t, f.fake.SetPower(f.ctx, n, real))
	n, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Power = recorded; return nil })
	require.NoError(f.t, err)
	return n
}

// TestAChangeOfPowerHasTheReservationOfItsMember reads the record while a power request and a round
// of the power sync set the hardware.
func TestAChangeOfPowerHasTheReservationOfItsMember(t *testing.T) {
	for _, by := range []string{"a request", "a round"} {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) { c.SkipPowerSync = by == "a request" })
				var sets atomic.Int64
				f.before(func(ctx context.Context, n *conductor.Node, operation string) error {
					if operation != "power on" {
						return nil
					}
					sets.Add(1)
					held, err := f.Node(ctx, n.UUID)
					require.NoError(t, err)
					owner, ok := f.Owner(held)
					require.True(t, ok)
					require.Equal(t, owner.ID, held.Claim)
					require.Equal(t, "alpha", held.Reservation)
					require.Equal(t, states.PowerOn, held.TargetPower)
					require.ErrorIs(t, f.TouchNode(ctx, n.UUID), conductor.Locked)
					return nil
				})
				n := f.powered(states.PowerOn, states.PowerOff)
				if by == "a request" {
					require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
				}
				bubble.Sleep(5 * time.Minute)
				got := f.settle(n)
				require.EqualValues(t, 1, sets.Load())
				require.Empty(t, got.Claim+got.Reservation+got.LastError)
				require.Equal(t, states.NoPower, got.TargetPower)
				require.Equal(t, states.PowerOn, got.Power)
				real, err := f.fake.PowerState(f.ctx, got)
				require.NoError(t, err)
				require.Equal(t, states.PowerOn, real)
				stats := f.PowerStats()
				require.Equal(t, 1, stats.Sets)
				require.Equal(t, 1, stats.Nodes[powersync.Forced]+stats.Nodes[powersync.PowerSet])
			})
		})
	}
}

// TestAReservationOfNoGoroutineIsDropped plants the record that a change of power leaves whose end
// could not be stored.
func TestAReservationOfNoGoroutineIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Active)
		owner, _ := f.Owner(n)
		require.NoError(t, f.Put(f.ctx, n.UUID, func(n *conductor.Node) {
			n.Reservation, n.Claim, n.TargetPower = "alpha", owner.ID, states.PowerOff
		}))
		synctest.Wait()
		got, err := f.Node(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Empty(t, got.Claim+got.Reservation)
		require.Equal(t, states.NoPower, got.TargetPower)
		require.Equal(t, "the power state was being changed, and what came of it could not be stored", got.LastError)
	})
}

// TestAPowerCallThatDoesNotReturnIsMadeOnce has hardware that ignores the end of its context.
func TestAPowerCallThatDoesNotReturnIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.Power.MaxRetries = 2 })
		var calls atomic.Int64
		stuck := make(chan struct{})
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "read power" {
				calls.Add(1)
				<-stuck
			}
			return nil
		})
		n := f.powered(states.PowerOn, states.PowerOn)
		bubble.Sleep(20 * time.Minute)
		got := f.settle(n)
		require.True(t, got.Maintenance)
		require.Equal(t, powersync.FaultPowerFailure, got.Fault)
		require.EqualValues(t, 1, calls.Load())
		require.Equal(t, 1, f.PowerStats().Abandoned)
		close(stuck)
		bubble.Sleep(10 * time.Minute)
		require.False(t, f.settle(n).Maintenance, "the power sync recovers the node")
	})
}

// TestAForceLimitHoldsRoundsBack has more nodes that differ than may be set in a minute.
func TestAForceLimitHoldsRoundsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.Power.ForceLimit = 1 })
		nodes := []*conductor.Node{f.powered(states.PowerOn, states.PowerOff), f.powered(states.PowerOn, states.PowerOff)}
		bubble.Sleep(3 * time.Minute)
		stats := f.PowerStats()
		require.Equal(t, 1, stats.Nodes[powersync.Forced])
		require.NotZero(t, stats.Nodes[powersync.ForceLimited])
		bubble.Sleep(5 * time.Minute)
		for _, n := range nodes {
			real, err := f.fake.PowerState(f.ctx, n)
			require.NoError(t, err)
			require.Equal(t, states.PowerOn, real)
		}
	})
}

// TestARoundLeavesANodeThatFailedToItsNewOwner moves a node that cannot be read to another conductor
// group.
func TestARoundLeavesANodeThatFailedToItsNewOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		var reads atomic.Int64
		f.before(func(context.Context, *conductor.Node, string) error {
			reads.Add(1)
			return errors.New("no answer")
		})
		bubble.Sleep(time.Second) // the first round is over
		n := f.node(states.Active)
		bubble.Sleep(3 * time.Minute)
		require.EqualValues(t, 1, reads.Load())
		require.Equal(t, 1, f.PowerStats().Failing)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.ConductorGroup = "west"; return nil })
		require.NoError(t, err)
		bubble.Sleep(20 * time.Minute)
		require.EqualValues(t, 1, reads.Load())
		require.Zero(t, f.PowerStats().Failing)
	})
}
