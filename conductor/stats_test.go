// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// script is a scripted membership: the conductor sees each member list or error that the test
// sends to steps. The conductor itself is added to the lists.
type script struct {
	steps chan scriptStep
	alive map[string]bool
}

type scriptStep struct {
	others []conductor.Member
	err    error
}

func (s *script) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case step := <-s.steps:
				if !yield(append([]conductor.Member{self}, step.others...), step.err) || step.err != nil {
					return
				}
			}
		}
	}
}

func (s *script) Alive(_ context.Context, id string) (bool, error) { return s.alive[id], nil }

func (s *script) Holds(string) bool { return true }

func TestStatsAndTheLogReportMembersThatJoinAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: make(chan scriptStep), alive: map[string]bool{otherMember: true}}
		var log lockedBuffer
		f := start(t, func(c *conductor.Config) {
			c.Membership, c.Workers = s, 7
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
			other := []conductor.Member{{ID: otherMember, Hostname: "beta", Drivers: []string{"another"}}}
			go func() { s.steps <- scriptStep{others: other} }()
		})
		ours, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll})
		require.NoError(t, err)
		held, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.Deploying, Reservation: "beta", Claim: otherMember,
		})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, conductor.Stats{Joins: 1, Workers: 7}, f.Stats())
		owner, ok := f.Owner(ours)
		require.True(t, ok)
		require.Equal(t, "alpha", owner.Hostname)
		_, ok = f.Owner(&conductor.Node{Driver: "nobody's"})
		require.False(t, ok)

		s.alive = nil // beta dies
		s.steps <- scriptStep{}
		require.Equal(t, states.DeployFail, f.settle(held).ProvisionState)
		synctest.Wait()
		require.Equal(t, conductor.Stats{Joins: 1, ReservationsDropped: 1, Workers: 7}, f.Stats())
		require.Contains(t, log.String(),
			`level=WARN msg="another conductor has left or died, and the others take its nodes over" conductor=beta`)
		require.Contains(t, log.String(),
			`level=WARN msg="the reservation of a conductor that has died was dropped" node=`+held.UUID+` conductor=beta provision_state=deploying`)

		s.steps <- scriptStep{err: errors.New("the lease has ended")}
		synctest.Wait()
		require.Equal(t, int64(1), f.Stats().MembershipsLost)
		_, ok = f.Owner(ours)
		require.False(t, ok, "who is cut off knows of no owner")
		s.steps <- scriptStep{err: errors.New("nobody answers")}
		s.steps <- scriptStep{}
		synctest.Wait()
		require.Equal(t, conductor.Stats{Joins: 2, JoinsFailed: 1, MembershipsLost: 1, ReservationsDropped: 1, Workers: 7}, f.Stats())
		require.Contains(t, log.String(), `level=ERROR msg="the conductor has lost its membership, has abandoned its work and will join again"`)
		require.Contains(t, log.String(), `level=ERROR msg="the conductor could not join the others and will try again"`)
		require.Contains(t, log.String(), `level=INFO msg="the conductor has joined"`)
		require.Contains(t, log.String(), ` error="the lease has ended"`)
		require.Contains(t, log.String(), ` error="nobody answers"`)
		require.NotContains(t, log.String(), `msg="another conductor has joined"`)
		beta, gamma := conductor.Member{ID: otherMember, Hostname: "beta"}, conductor.Member{ID: "gamma's", Hostname: "gamma"}
		for _, others := range [][]conductor.Member{{beta}, {beta, gamma}} {
			s.steps <- scriptStep{others: others}
			synctest.Wait()
		}
		for _, name := range []string{"beta", "gamma"} {
			require.Equal(t, 1, strings.Count(log.String(), `level=INFO msg="another conductor has joined" conductor=`+name))
		}
	})
}

// rejecting is a store whose next updates fail.
type rejecting struct {
	conductor.Memory
	failures atomic.Int32 // the number of updates that still fail
}

func (d *rejecting) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if d.failures.Add(-1) >= 0 {
		return 0, errors.New("the store does not answer")
	}
	return d.Memory.Update(ctx, r)
}

func TestStatsCountRetriesAndBusyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &rejecting{}
		f := start(t, func(c *conductor.Config) { c.Store, c.LockedRetries = store, 2 })
		goOn := make(chan struct{})
		f.before(func(context.Context, *conductor.Node, string) error { <-goOn; return nil })
		n := f.node(states.Available)
		f.request(n, "active")
		synctest.Wait()
		require.Equal(t, 1, f.Stats().BusyWorkers)
		require.ErrorIs(t, f.Provision(f.ctx, n.UUID, conductor.ProvisionRequest{Target: "deleted"}), conductor.Locked)
		require.Equal(t, int64(2), f.Stats().LockedRetries)
		_, err := f.Management(n.UUID).IndicatorState(f.ctx, "system", "led")
		require.ErrorIs(t, err, conductor.Locked)
		require.Equal(t, int64(4), f.Stats().LockedRetries)
		store.failures.Store(3)
		close(goOn)
		bubble.Sleep(time.Minute)
		require.Equal(t, states.Active, f.settle(n).ProvisionState)
		synctest.Wait()
		require.Zero(t, f.Stats().BusyWorkers)
		require.Equal(t, int64(3), f.Stats().ReportRetries)
	})
}

func TestTheNewerOfTwoMembersWithOneNameOwnsTheNodes(t *testing.T) {
	for _, age := range []time.Duration{time.Minute, -time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{steps: make(chan scriptStep)}
			other := conductor.Member{
				ID: "another process", Hostname: "alpha", Drivers: []string{"fake-hardware"}, CreatedAt: time.Now().Add(-age),
			}
			f := start(t, func(c *conductor.Config) {
				c.Membership = s
				go func() { s.steps <- scriptStep{others: []conductor.Member{other}} }()
			})
			owner, ok := f.Owner(f.node(states.Enroll))
			require.True(t, ok)
			require.Equal(t, age < 0, owner.ID == other.ID, "%v", age)
		})
	}
}
