// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"maps"
	"sync"
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

// outcomes returns how often the rounds of the power sync ended in each outcome that has occurred.
func (f *fleet) outcomes() map[powersync.Outcome]int {
	occurred := f.PowerStats().Nodes
	maps.DeleteFunc(occurred, func(_ powersync.Outcome, count int) bool { return count == 0 })
	return occurred
}

func TestARoundPausesAfterEachBatchOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		seed, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
		require.NoError(t, err)
		for range 600 {
			_, err := seed.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active})
			require.NoError(t, err)
		}
		begun, reads := time.Now(), map[time.Duration]int{}
		var mu sync.Mutex
		f := start(t, func(c *conductor.Config) {
			c.Store, c.Power.Interval = store, time.Minute
			c.Hardware["fake-hardware"].(*conductor.Fake).Before = func(context.Context, *conductor.Node, string) error {
				mu.Lock()
				defer mu.Unlock()
				if at := time.Since(begun) - time.Minute; at >= 0 { // the first round may begin before the conductor is a member
					reads[at]++
				}
				return nil
			}
		})
		bubble.Sleep(time.Minute + time.Second)
		require.NotZero(t, f.PowerStats().Reads)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, map[time.Duration]int{0: 255, 10 * time.Millisecond: 256, 20 * time.Millisecond: 89}, reads)
	})
}

func TestARoundEndsWithTheMembership(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(context.Context) error // of the hardware, after the membership was lost
		want   powersync.Outcome
	}{
		"and does not count a read that was interrupted": {context.Cause, powersync.Interrupted},
		"but for a read that has succeeded":              {func(context.Context) error { return nil }, powersync.Equal},
	} {
		synctest.Test(t, func(t *testing.T) {
			members := &script{steps: make(chan scriptStep)}
			var ended atomic.Int64
			f := start(t, func(c *conductor.Config) {
				c.Membership, c.Power.Interval = members, time.Minute
				c.Hardware["fake-hardware"].(*conductor.Fake).Before = func(ctx context.Context, _ *conductor.Node, _ string) error {
					<-ctx.Done()
					ended.Store(time.Now().UnixNano())
					return test.answer(ctx)
				}
				go func() { members.steps <- scriptStep{} }()
			})
			bubble.Sleep(time.Second)
			f.create(conductor.Node{ProvisionState: states.Active, Power: states.PowerOff})
			bubble.Sleep(time.Minute)
			require.Zero(t, ended.Load(), "the read goes on")
			lost := time.Now().UnixNano()
			members.steps <- scriptStep{err: errors.New("the lease has ended")}
			synctest.Wait()
			require.Equal(t, lost, ended.Load())
			require.Equal(t, map[powersync.Outcome]int{test.want: 1}, f.outcomes(), name)
			require.Zero(t, f.PowerStats().Failing)
		})
	}
}

func TestALostMembershipEndsNoBackoffOfRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := &script{steps: make(chan scriptStep)}
		f := start(t, func(c *conductor.Config) {
			c.Membership = members
			c.Power.Interval, c.Power.RecoveryInterval, c.Power.Backoff = 24*time.Hour, time.Minute, time.Hour
			c.Hardware["fake-hardware"].(*conductor.Fake).Before = func(context.Context, *conductor.Node, string) error { return errDisk }
			go func() { members.steps <- scriptStep{} }()
		})
		bubble.Sleep(time.Second) // the first rounds see no node
		f.create(conductor.Node{ProvisionState: states.Active, Maintenance: true, Fault: powersync.FaultPowerFailure})
		bubble.Sleep(90 * time.Second)
		require.Equal(t, map[powersync.Outcome]int{powersync.ReadFailed: 1}, f.outcomes())
		members.steps <- scriptStep{err: errors.New("the lease has ended")}
		bubble.Sleep(time.Minute)
		members.steps <- scriptStep{}
		bubble.Sleep(time.Minute)
		require.Equal(t, map[powersync.Outcome]int{
			powersync.ReadFailed: 1, powersync.StoreFailed: 1, powersync.SkippedBackoff: 1,
		}, f.outcomes())
	})
}

// unwritable is a store whose updates of nodes fail while broken is set.
type unwritable struct {
	conductor.Memory
	broken atomic.Bool
	lose   func(context.Context) // is called before an update fails
}

func (s *unwritable) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if r.Kind == conductor.KindNode && s.broken.Load() {
		s.lose(ctx)
		return 0, errDisk
	}
	return s.Memory.Update(ctx, r)
}

func TestADecisionThatCannotBeStoredIsInterruptedOnlyByTheEndOfTheMembership(t *testing.T) {
	for _, loses := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			members := &script{steps: make(chan scriptStep)}
			store := &unwritable{lose: func(ctx context.Context) {
				if loses {
					members.steps <- scriptStep{err: errors.New("the lease has ended")}
					<-ctx.Done()
				}
			}}
			f := start(t, func(c *conductor.Config) {
				c.Store, c.Membership, c.Power.Interval = store, members, time.Minute
				go func() { members.steps <- scriptStep{} }()
			})
			bubble.Sleep(time.Second)
			n := f.create(conductor.Node{ProvisionState: states.Active})
			require.NoError(t, f.fake.SetPower(f.ctx, n, states.PowerOn))
			store.broken.Store(true)
			bubble.Sleep(time.Minute)
			want := powersync.StoreFailed
			if loses {
				want = powersync.Interrupted
			}
			require.Equal(t, map[powersync.Outcome]int{want: 1}, f.outcomes())
			store.broken.Store(false)
		})
	}
}

func TestTheFailuresOfANodeInMaintenanceAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) {
			c.Power.Interval, c.Hardware["fake-hardware"].(*conductor.Fake).Before = time.Minute, failing("read power")
		})
		bubble.Sleep(time.Second)
		n := f.node(states.Active)
		bubble.Sleep(time.Minute)
		require.Equal(t, 1, f.PowerStats().Failing)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = true; return nil })
		require.NoError(t, err)
		bubble.Sleep(20 * time.Minute)
		require.Equal(t, 1, f.PowerStats().Failing)
	})
}

// unconfigured is fake-hardware whose power interface is not configured.
type unconfigured struct{ *conductor.Fake }

func (unconfigured) Validate(*conductor.Node) map[string]error {
	return map[string]error{"power": errors.New("no address")}
}

func TestOnlyANodeWithoutAKnownPowerStateIsValidatedInARound(t *testing.T) {
	for name, test := range map[string]struct {
		node  conductor.Node
		reads int
		want  powersync.Outcome
	}{
		"no power state": {conductor.Node{ProvisionState: states.Active}, 0, powersync.SkippedConfiguration},
		"a power state":  {conductor.Node{ProvisionState: states.Active, Power: states.PowerOff}, 1, powersync.Equal},
		"in a power failure": {
			conductor.Node{ProvisionState: states.Active, Power: states.PowerOff, Maintenance: true, Fault: powersync.FaultPowerFailure},
			0, powersync.ReadFailed,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.Power.Interval, c.Power.RecoveryInterval = time.Minute, time.Minute
				c.Hardware = map[string]conductor.Hardware{"fake-hardware": unconfigured{c.Hardware["fake-hardware"].(*conductor.Fake)}}
			})
			bubble.Sleep(time.Second)
			f.create(test.node)
			bubble.Sleep(time.Minute)
			require.Equal(t, test.reads, f.PowerStats().Reads, name)
			require.Equal(t, 1, f.outcomes()[test.want], name)
		})
	}
}

func TestOnlyMachinesThatMayBeForcedAreSet(t *testing.T) {
	for _, may := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.Power.Interval, c.Power.CanForce = time.Minute, func(string) bool { return may }
			})
			n := f.powered(states.PowerOn, states.PowerOff)
			bubble.Sleep(time.Minute)
			got, want := f.settle(n), map[bool]powersync.Outcome{false: powersync.Corrected, true: powersync.Forced}[may]
			require.Equal(t, map[powersync.Outcome]int{want: 1}, f.outcomes())
			require.Equal(t, map[bool]states.Power{false: states.PowerOff, true: states.PowerOn}[may], got.Power)
		})
	}
}

func TestAForceThatCannotBeReservedDoesNotCountForTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &unwritable{lose: func(context.Context) {}}
		f := start(t, func(c *conductor.Config) { c.Store, c.Power.ForceLimit, c.Power.Interval = store, 1, 10*time.Second })
		f.powered(states.PowerOn, states.PowerOff)
		store.broken.Store(true)
		bubble.Sleep(10 * time.Second)
		require.Equal(t, map[powersync.Outcome]int{powersync.StoreFailed: 1}, f.outcomes())
		store.broken.Store(false)
		bubble.Sleep(10 * time.Second)
		require.Equal(t, map[powersync.Outcome]int{powersync.StoreFailed: 1, powersync.Forced: 1}, f.outcomes())
	})
}

// A power request to the parent's hardware counts for the limit as one to the node's.
func TestAForceWhoseParentWasNotAskedDoesNotCountForTheLimit(t *testing.T) {
	for name, test := range map[string]struct {
		fails string // the operation on the parent
		want  powersync.Outcome
	}{
		"its power cannot be read": {"read power", powersync.Forced},
		"its power cannot be set":  {"power on", powersync.ForceLimited},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) { c.Power.ForceLimit, c.Power.Interval = 1, 10*time.Second })
				bubble.Sleep(time.Second)
				parent := f.create(conductor.Node{ProvisionState: states.Enroll}) // the rounds skip it
				n := f.create(conductor.Node{ProvisionState: states.Active, Power: states.PowerOn, ParentNode: parent.UUID})
				require.NoError(t, f.fake.SetPower(f.ctx, n, states.PowerOff))
				require.NoError(t, f.fake.SetPower(f.ctx, parent, states.PowerOff))
				f.before(func(_ context.Context, n *conductor.Node, operation string) error {
					if n.UUID == parent.UUID && operation == test.fails {
						return errDisk
					}
					return nil
				})
				bubble.Sleep(10 * time.Second)
				require.Equal(t, 1, f.outcomes()[powersync.ForceFailed])
				f.before(nil)
				bubble.Sleep(10 * time.Second)
				require.Equal(t, 1, f.outcomes()[powersync.ForceFailed])
				require.Equal(t, 1, f.outcomes()[test.want])
			})
		})
	}
}

func TestAForceThatFailsReleasesTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) {
			c.Power.Interval, c.Hardware["fake-hardware"].(*conductor.Fake).Before = time.Minute, failing("power on")
		})
		n := f.powered(states.PowerOn, states.PowerOff)
		bubble.Sleep(59 * time.Second)
		got := f.settle(n)
		require.Equal(t, map[powersync.Outcome]int{powersync.ForceFailed: 1}, f.outcomes())
		require.Equal(t, `power sync could not set "power on": no route to host`, got.LastError)
		require.Equal(t, states.NoPower, got.TargetPower)
		require.Empty(t, got.Reservation+got.Claim)
		require.Equal(t, 1, f.PowerStats().Failing)
	})
}

func TestAForceThatTheStopOfTheConductorInterruptsLeavesNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &conductor.Fake{}
		c, err := conductor.New(conductor.Config{
			Store: &conductor.Memory{}, Name: "alpha", ShutdownTimeout: time.Second, Hardware: map[string]conductor.Hardware{"fake-hardware": fake},
			Power: powersync.Config{Timeout: time.Hour},
		})
		require.NoError(t, err)
		n, err := c.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active, Power: states.PowerOn})
		require.NoError(t, err)
		require.NoError(t, fake.SetPower(t.Context(), n, states.PowerOff))
		fake.Before = func(ctx context.Context, _ *conductor.Node, operation string) error {
			if operation == "power on" {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		bubble.Sleep(3 * time.Minute)
		held, err := c.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, states.PowerOn, held.TargetPower)
		require.Equal(t, "alpha", held.Reservation)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		got, err := c.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, states.NoPower, got.TargetPower)
		require.Empty(t, got.Reservation+got.Claim+got.LastError)
		require.Equal(t, 1, c.PowerStats().Nodes[powersync.Interrupted])
	})
}
