// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// TestATearDownThatFailsIsToldOnce lets the power off fail that ends a cleaning and a service whose steps are done.
func TestATearDownThatFailsIsToldOnce(t *testing.T) {
	for target, test := range map[string]struct {
		from, want states.State
		text       string
	}{
		"clean":   {states.Manageable, states.CleanFail, "Failed to tear down from cleaning for node %s, reason: no answer"},
		"provide": {states.Manageable, states.CleanFail, "Failed to tear down from cleaning for node %s, reason: no answer"},
		"service": {states.Active, states.ServiceFail, "Failed to tear down from service for node %s, reason: no answer"},
	} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, test.from, nil)
				r := m.provision(target)
				step := []conductor.StepRequest{{Interface: "deploy", Step: "burnin_cpu"}}
				r.CleanSteps, r.ServiceSteps = step, step
				require.NoError(t, m.Provision(m.ctx, m.n.UUID, r))
				m.settle(m.n)
				offs := 0
				m.before(func(_ context.Context, _ *conductor.Node, operation string) error {
					if operation != states.PowerOff.String() {
						return nil
					}
					offs++
					return errors.New("no answer")
				})
				n := m.boot()
				for n.ProvisionState == states.CleanWait || n.ProvisionState == states.ServiceWait {
					n = m.end("SUCCEEDED", "")
				}
				m.requireState(n, test.want, fmt.Sprintf(test.text, n.UUID))
				require.Equal(t, 1, offs)
				require.Nil(t, n.CleanUp)
				require.Empty(t, n.Reservation)
				m.requireForgotten(n)
			})
		})
	}
}

// A hardware type panics in one of its answers to whether the node uses the agent, at any time after the last step.
func TestAMachineIsTornDownAlsoIfItsHardwareTypeDoesNotAnswerFirst(t *testing.T) {
	told, asked := 0, true
	for call := 0; asked; call++ {
		synctest.Test(t, func(t *testing.T) {
			hardware := &defective{}
			m := startMachine(t, states.Manageable, func(c *conductor.Config) {
				hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
				c.Hardware["fake-hardware"] = hardware
			})
			m.clean("deploy.burnin_cpu")
			m.boot()
			calls := 0
			hardware.breaks("UsesAgent", func() {
				if calls++; calls == call+1 {
					panic("a defect")
				}
			})
			m.set(func(a *agentProgram) { a.commands[len(a.commands)-1]["command_status"] = "SUCCEEDED" })
			for range 2 { // the first heartbeat may meet the defect
				_ = m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{From: agentAt, CallbackURL: "http://10.0.0.7:9999", AgentToken: m.token})
				synctest.Wait()
			}
			asked = calls > call
			n := m.settle(m.n)
			require.Empty(t, n.Reservation)
			require.Nil(t, n.CleanUp)
			power, err := m.fake.PowerState(m.ctx, n)
			require.NoError(t, err)
			switch {
			case strings.HasPrefix(n.LastError, "Failed to tear down from cleaning for node "+n.UUID+", reason: "+
				"the hardware type could not be asked for its use of the agent: "):
				told++
				require.Equal(t, states.CleanFail, n.ProvisionState)
				require.Empty(t, n.Fault, "no step has failed")
				require.Equal(t, states.PowerOff, power)
			case n.ProvisionState == states.Manageable:
				require.Equal(t, states.PowerOff, power)
			default: // a step has failed, whose machine stays as it is
				require.Equal(t, "clean failure", n.Fault, n.LastError)
			}
		})
	}
	require.Positive(t, told)
}

func TestAMachineWhoseHardwareTypeNoLongerKnowsOfTheAgentIsNotClean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.burnin_cpu", "deploy.hold")
		m.boot()
		require.Equal(t, states.CleanHold, m.end("SUCCEEDED", "").ProvisionState)
		require.NoError(t, m.Put(m.ctx, m.n.UUID, func(n *conductor.Node) { n.Interfaces = map[string]string{"deploy": "fake"} }))
		m.request(m.n, "unhold")
		n := m.settle(m.n)
		if n.ProvisionState == states.CleanWait {
			require.NoError(t, m.Resume(m.ctx, m.n.UUID, nil))
			n = m.settle(m.n)
		}
		m.requireState(n, states.CleanFail, "Failed to tear down from cleaning for node "+n.UUID+
			", reason: the hardware type does not use the agent any more for the work clean")
		require.Equal(t, states.PowerOff, n.Power, "the machine does not stay in the ramdisk")
		require.Nil(t, n.CleanUp)
	})
}
