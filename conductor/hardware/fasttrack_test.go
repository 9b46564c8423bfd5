// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/states"
)

// startFastTrack starts a lab whose node has fast track.
func startFastTrack(t *testing.T, state states.State, fastTrack any) *lab {
	l := startLab(t, state, "direct", func(c *agenttest.Config) { c.Inspection = true })
	_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error {
		n.DriverInfo["fast_track"], n.Interfaces["inspect"] = fastTrack, "agent"
		return nil
	})
	require.NoError(t, err)
	return l
}

// heartbeat waits until the record has the address of the agent.
func (l *lab) heartbeat() {
	l.await(l.n, func(n *conductor.Node) bool { return n.Agent.URL != "" })
}

func TestByFastTrackOneBootOfTheAgentInspectsCleansAndDeploys(t *testing.T) {
	l := startFastTrack(t, states.Manageable, "true")
	l.ask(conductor.ProvisionRequest{Target: "inspect"})
	n := l.until(states.Manageable, states.InspectFail)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, "On", l.bmc.Power("1"))
	l.heartbeat()

	l.ask(conductor.ProvisionRequest{
		Target:     "clean",
		CleanSteps: []conductor.StepRequest{{Interface: "deploy", Step: "erase_devices_metadata"}},
	})
	n = l.until(states.Manageable, states.CleanFail)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	l.ask(conductor.ProvisionRequest{Target: "provide"})
	n = l.until(states.Available, states.CleanFail)
	require.Equal(t, states.Available, n.ProvisionState, n.LastError)
	require.Equal(t, "On", l.bmc.Power("1"))
	require.Equal(t, 1, l.machine.Boots())

	_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error {
		n.Properties["vendor"], n.DriverInternalInfo = "Lenovo", map[string]any{"redfish_boot_device": "pxe"}
		return nil
	})
	require.NoError(t, err)
	l.ask(conductor.ProvisionRequest{Target: "active"})
	n = l.until(states.Active, states.DeployFail)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.NotContains(t, n.DriverInternalInfo, "redfish_boot_device", "which nothing else has set since")
	require.Equal(t, l.image[512:], l.disk()[512:len(l.image)], "the image is on the disk")
	l.requireRuns("disk")
	require.Equal(t, 2, l.machine.Boots(), "of the agent and of the instance")
	require.Empty(t, n.Agent.Token)
}

func TestFastTrackBootsAnAgentUnlessOneIsReady(t *testing.T) {
	for name, c := range map[string]struct {
		fastTrack any
		before    func(*lab) // before the deployment
		boots     int        // of the agent for an inspection and a deployment, and of the instance
		silent    bool       // the agent sends no heartbeat before the deployment boots another one
	}{
		"it is ready":         {true, (*lab).heartbeat, 2, false},
		"fast track is off":   {false, func(*lab) {}, 3, false},
		"off by default":      {nil, func(*lab) {}, 3, false},
		"powered off":         {true, func(l *lab) { l.heartbeat(); l.setPower(l.n, states.PowerOff) }, 3, false},
		"powered off by hand": {true, func(l *lab) { l.heartbeat(); require.NoError(l.t, l.bmc.SetPower("1", "Off")) }, 3, false},
		"busy": {true, func(l *lab) {
			l.heartbeat()
			l.machine.AddFault(agenttest.Fault{On: "get_deploy_steps", Times: 1, Do: agenttest.Busy()})
		}, 3, false},
		"its heartbeat is old": {true, func(l *lab) {
			l.heartbeat()
			silent := make(chan struct{}, 1) // the agent has the answer to its last heartbeat
			l.machine.AddFault(agenttest.Fault{On: "heartbeat", Do: agenttest.Silent(), If: func() bool {
				select {
				case silent <- struct{}{}:
				default:
				}
				return true
			}})
			<-silent
			_, err := l.UpdateNode(l.t.Context(), l.n.UUID, func(n *conductor.Node) error {
				n.Agent.LastHeartbeat = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
				return nil
			})
			require.NoError(l.t, err)
		}, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := startFastTrack(t, states.Manageable, c.fastTrack)
			_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error {
				n.AutomatedClean = new(bool)
				return nil
			})
			require.NoError(t, err)
			l.ask(conductor.ProvisionRequest{Target: "inspect"})
			n := l.until(states.Manageable, states.InspectFail)
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			l.ask(conductor.ProvisionRequest{Target: "provide"})
			l.until(states.Available)
			c.before(l)
			l.ask(conductor.ProvisionRequest{Target: "active"})
			if c.silent {
				for l.machine.Boots() < 2 {
					time.Sleep(time.Millisecond)
				}
				l.machine.ClearFaults()
			}
			n = l.until(states.Active, states.DeployFail)
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			require.Equal(t, c.boots, l.machine.Boots())
			require.Equal(t, l.image[512:], l.disk()[512:len(l.image)])
		})
	}
}

func TestAnInvalidValueOfFastTrackRefusesADeployment(t *testing.T) {
	l := startFastTrack(t, states.Available, "maybe")
	require.EqualError(t, l.Provision(t.Context(), l.n.UUID, l.word("active")),
		"Failed to validate deploy or power info for node "+l.n.UUID+": Invalid value of fast_track: maybe")
}
