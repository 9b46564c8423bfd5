// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// errDead is returned to a process that has died.
var errDead = errors.New("the process has died")

// mortal is the store of a process that dies at a write of a record. It may die before the write or after it.
type mortal struct {
	conductor.Store
	writes  atomic.Int32 // until the last one
	written bool         // the last write is done
	dead    atomic.Bool
}

func (s *mortal) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	if s.writes.Add(-1) != 0 {
		return s.Store.Update(ctx, r)
	}
	s.dead.Store(true)
	if s.written {
		_, _ = s.Store.Update(ctx, r)
	}
	return 0, errDead
}

// TestADeathOfTheConductorAtEachWriteOfACleaning kills the conductor at each of its writes. Another one takes the node
// over. The node becomes available only if each step was executed once, and a step is not executed twice.
func TestADeathOfTheConductorAtEachWriteOfACleaning(t *testing.T) {
	ends := map[states.State]int{}
	for _, written := range []bool{false, true} {
		for write := int32(1); ; write++ {
			died := false
			t.Run(fmt.Sprint("write ", write, " ", written), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var end states.State
					died, end = cleanWithDeath(t, write, written)
					ends[end]++
				})
			})
			if !died || t.Failed() {
				break
			}
		}
	}
	t.Logf("the ends: %v", ends)
	require.Positive(t, ends[states.Available])
	require.Positive(t, ends[states.CleanFail])
	require.Greater(t, ends[states.Available]+ends[states.CleanFail], 20, "%v", ends)
}

// cleanWithDeath cleans a node. It reports whether the conductor has died, and the state of the node at the end.
func cleanWithDeath(t *testing.T, write int32, written bool) (died bool, end states.State) {
	memory := &conductor.Memory{}
	store := &mortal{Store: memory, written: written}
	m := startMachine(t, states.Manageable, func(c *conductor.Config) {
		c.Store, c.Membership = store, nil
		dial := c.Agent.Dial
		c.Agent.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if store.dead.Load() {
				return nil, errDead
			}
			return dial(ctx, network, address)
		}
		c.OnTransition = nil
	})
	reboots := step("reboot_between", 50)
	reboots["reboot_requested"] = true
	m.set(func(a *agentProgram) { a.steps["clean"] = append(a.steps["clean"], reboots) })
	var boots atomic.Int32
	hook := func(_ context.Context, _ *conductor.Node, operation string) error {
		if operation == states.PowerRebooting.String() {
			boots.Add(1)
		}
		return nil
	}
	m.fake.Before = hook
	store.writes.Store(write)
	err := m.Provision(m.ctx, m.n.UUID, m.provision("provide"))
	if err != nil {
		require.True(t, store.dead.Load())
	}
	now := m.fleet
	for known := int32(0); ; {
		synctest.Wait()
		if store.dead.Load() && now == m.fleet {
			now = start(t, func(c *conductor.Config) {
				c.Store, c.Membership, c.Agent.Dial, c.SkipPowerSync, c.OnTransition = memory, nil, m.agent.dial, true, nil
				c.Hardware["fake-hardware"].(*conductor.Fake).Before = hook // work that was left begins at once
			})
		}
		time.Sleep(10 * time.Second)
		n := now.settle(m.n)
		switch {
		case n.ProvisionState == states.Manageable: // the request was not stored
			now.request(n, "provide")
			continue
		case n.ProvisionState == states.Available || n.ProvisionState == states.CleanFail:
			requireEachStepOnce(t, m, n)
			return store.dead.Load(), n.ProvisionState
		}
		m.set(func(a *agentProgram) {
			if boot := boots.Load(); boot > known { // the machine has started the agent anew
				known, a.commands, a.token, m.token = boot, nil, "", ""
			}
			if last := len(a.commands) - 1; last >= 0 {
				a.commands[last]["command_status"] = "SUCCEEDED"
			}
		})
		if m.token == "" {
			_, m.token, _ = now.Lookup(m.ctx, nil, m.n.UUID)
			m.set(func(a *agentProgram) { a.token = m.token })
		}
		_ = now.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{CallbackURL: "http://agent:9999", AgentVersion: "9.4.3", AgentToken: m.token})
	}
}

// requireEachStepOnce requires that no step was sent twice, and that an available node has had all of them.
func requireEachStepOnce(t *testing.T, m *agentNode, n *conductor.Node) {
	var steps []string
	for _, name := range m.heard() {
		if name != "get_clean_steps" {
			steps = append(steps, name)
		}
	}
	all := []string{"execute_clean_step erase_devices_metadata", "execute_clean_step reboot_between", "execute_clean_step erase_devices"}
	require.LessOrEqual(t, len(steps), len(all), n.LastError)
	require.Equal(t, all[:len(steps)], append([]string{}, steps...), n.LastError)
	if n.ProvisionState == states.Available {
		require.Len(t, steps, len(all))
	}
	m.requireForgotten(n)
}

func TestAConductorThatMayHaveLostItsNodeSendsNoCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		membership := &hung{}
		m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Membership = membership })
		m.clean("deploy.burnin_cpu", "deploy.erase_devices")
		m.boot()
		m.heard()
		m.set(func(a *agentProgram) {
			a.commands[len(a.commands)-1]["command_status"] = "SUCCEEDED"
			a.before = func() { membership.out.Store(true) } // while the agent answers for its commands
		})
		m.beat()
		time.Sleep(time.Minute)
		require.Empty(t, m.heard())
		m.requireState(m.settle(m.n), states.Cleaning, "")
		membership.out.Store(false)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"execute_clean_step erase_devices"}, m.heard())
	})
}
