// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// stuckCD is the hardware type of a machine whose CD cannot be ejected.
type stuckCD struct{ booter }

func (stuckCD) CleanUpAgent(context.Context, *conductor.Task) error {
	return errors.New("the CD is stuck")
}

// As in Ironic, where only AgentRescue does so: the rescue interface "fake" leaves the password in the record.
func TestTheRescuePasswordIsForgottenWhenTheAgentHasIt(t *testing.T) {
	for end, want := range map[string]states.State{"": states.Rescue, "unrescue": states.Active, "abort": states.RescueFail} {
		synctest.Test(t, func(t *testing.T) {
			m := startMachine(t, states.Active, func(c *conductor.Config) {
				c.Hardware["fake-hardware"] = booter{c.Hardware["fake-hardware"].(*conductor.Fake), &bootable{}, &mortal{}}
			})
			m.request(m.n, "rescue")
			n := m.settle(m.n)
			require.Equal(t, states.RescueWait, n.ProvisionState)
			require.Equal(t, "xyzzy", n.InstanceInfo["rescue_password"])
			hash := n.InstanceInfo["hashed_rescue_password"]
			require.NotEmpty(t, hash)
			if end != "abort" {
				m.requireState(m.boot(), states.Rescue, "")
				require.Equal(t, []string{"finalize_rescue"}, m.heard())
				require.Equal(t, map[string]any{"rescue_password": hash, "hashed": true}, m.agent.params[0])
			}
			n = m.settle(m.n)
			if end != "" {
				m.request(m.n, end)
				n = m.settle(m.n)
			}
			require.Equal(t, want, n.ProvisionState, n.LastError)
			require.NotContains(t, n.InstanceInfo, "rescue_password")
			require.NotContains(t, n.InstanceInfo, "hashed_rescue_password")
			require.Contains(t, n.InstanceInfo, "image_source")
		})
	}
}

func TestARescueWhoseCleanUpFails(t *testing.T) {
	for name, test := range map[string]struct {
		end         func(m *agentNode)
		lastError   string
		maintenance bool
		fault       string
		entries     []string // of the history
	}{
		"after an abort": {
			func(m *agentNode) { m.request(m.n, "abort") }, "Failed to clean up rescue after aborting the operation",
			true, "rescue abort failure", []string{"INFO rescue", "ERROR rescue"},
		},
		"after a timeout": {func(*agentNode) { time.Sleep(40 * time.Minute) },
			"Rescue operation was unsuccessful, clean up failed for node: the CD is stuck", false, "", []string{"ERROR rescue", "ERROR rescue"}},
		"once the agent has the password": {func(m *agentNode) { m.boot() },
			"Rescue operation was unsuccessful, clean up failed for node: the CD is stuck", false, "", []string{"ERROR rescue", "ERROR rescue"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, states.Active, func(c *conductor.Config) {
					c.Hardware["fake-hardware"] = stuckCD{booter{c.Hardware["fake-hardware"].(*conductor.Fake), &bootable{}, &mortal{}}}
				})
				m.request(m.n, "rescue")
				require.Equal(t, states.RescueWait, m.settle(m.n).ProvisionState)
				test.end(m)
				n := m.settle(m.n)
				m.requireState(n, states.RescueFail, test.lastError)
				require.Equal(t, test.maintenance, n.Maintenance)
				require.Equal(t, test.fault, n.Fault)
				if test.maintenance {
					require.Equal(t, test.lastError, n.MaintenanceReason)
				}
				require.ElementsMatch(t, test.entries, m.entries(n))
				require.Nil(t, n.CleanUp)
				require.Empty(t, n.Reservation)
			})
		})
	}
}
