// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// TestTheEndOfTheAgentOfADeployment deploys a node until its instance starts, on virtual time.
func TestTheEndOfTheAgentOfADeployment(t *testing.T) {
	off, on, reboot := states.PowerOff.String(), states.PowerOn.String(), states.PowerRebooting.String()
	for name, test := range map[string]struct {
		node     conductor.Node // DriverInfo and DisablePowerOff
		goesOff  time.Duration  // after the agent's power off; 0 for never
		busyFrom string         // the agent refuses every command after this one
		commands []string       // after the image was written
		changes  []string       // of the power state, by the conductor
		took     time.Duration  // until the instance starts
		failure  string
		logged   bool
	}{
		"it powers the machine off": {
			goesOff:  12 * time.Second,
			commands: []string{"get_partition_uuids", "install_bootloader", "power_off"},
			changes:  []string{on},
			took:     15 * time.Second,
		},
		"it does not": {
			commands: []string{"get_partition_uuids", "install_bootloader", "power_off"},
			changes:  []string{off, on},
			took:     35 * time.Second,
		},
		"it refuses": {
			busyFrom: "install_bootloader",
			commands: []string{"get_partition_uuids", "install_bootloader"},
			changes:  []string{off, on},
			took:     35 * time.Second,
			logged:   true,
		},
		"the BMC has to": {
			node:     conductor.Node{DriverInfo: map[string]any{"deploy_forces_oob_reboot": "true"}},
			commands: []string{"get_partition_uuids", "install_bootloader", "sync"},
			changes:  []string{off, on},
		},
		"the machine must stay on": {
			node:     conductor.Node{DisablePowerOff: true},
			commands: []string{"get_partition_uuids", "install_bootloader", "sync"},
			changes:  []string{reboot},
		},
		"the machine must stay on, and the disks cannot be synchronised": {
			node:     conductor.Node{DisablePowerOff: true},
			busyFrom: "install_bootloader",
			commands: []string{"get_partition_uuids", "install_bootloader"},
			changes:  []string{reboot},
			failure: `Deploy step deploy.tear_down_agent failed: Error rebooting node %s after deploy. Node %s command ` +
				`"standby.sync" failed. Agent is presently executing a command. Error Agent is busy: executing command x`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log lockedBuffer
				m := startMachine(t, states.Available, func(c *conductor.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
				_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error {
					n.DriverInfo, n.DisablePowerOff = test.node.DriverInfo, test.node.DisablePowerOff
					return nil
				})
				require.NoError(t, err)
				m.request(m.n, "active")
				m.settle(m.n)
				m.boot()
				m.heard()
				var changes []string
				begun, started := time.Now(), time.Time{}
				byAgent := m.settle(m.n)
				m.before(func(_ context.Context, n *conductor.Node, operation string) error {
					if n != byAgent && slices.Contains([]string{off, on, reboot}, operation) {
						changes, started = append(changes, operation), time.Now()
					}
					return nil
				})
				m.set(func(a *agentProgram) {
					a.accepted = func(_ *http.Request, command string, _ map[string]any) {
						a.busy = command == test.busyFrom
						if command == "power_off" && test.goesOff > 0 {
							time.AfterFunc(test.goesOff, func() { _ = m.fake.SetPower(m.ctx, byAgent, states.PowerOff) })
						}
					}
				})
				m.end("SUCCEEDED", "")
				bubble.Sleep(time.Minute)
				n := m.settle(m.n)
				require.Equal(t, test.commands, m.heard())
				require.Equal(t, test.changes, changes)
				const text = `level=WARN msg="an agent could not be asked to power its machine off, so that the BMC has to" node=`
				require.Equal(t, test.logged, strings.Contains(log.String(), text+n.UUID))
				if test.failure != "" {
					m.requireState(n, states.DeployFail, strings.ReplaceAll(test.failure, "%s", n.UUID))
					return
				}
				m.requireState(n, states.Active, "")
				require.Equal(t, states.PowerOn, n.Power)
				require.Equal(t, test.took, started.Sub(begun))
			})
		})
	}
}
