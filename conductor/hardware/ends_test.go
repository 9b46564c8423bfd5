// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// startMediaLab starts a lab whose machine boots the agent from virtual media.
func startMediaLab(t *testing.T, state states.State, set ...func(*agenttest.Config)) *lab {
	return startLabWith(t, bmctest.Profile{SystemID: "1"}, state, "direct", func(n *conductor.Node) {
		n.Interfaces["boot"], n.Interfaces["inspect"], n.DriverInfo["deploy_iso"] = "redfish-virtual-media", "agent", image
	}, set...)
}

// ends waits until the node's work has failed or was aborted, and requires that nothing is left of the agent.
func (l *lab) ends(want states.State) *conductor.Node {
	l.t.Helper()
	n := l.until(want, states.CleanFail, states.InspectFail, states.DeployFail, states.RescueFail, states.ServiceFail)
	require.Equal(l.t, want, n.ProvisionState, n.LastError)
	require.Empty(l.t, l.bmc.Media("CD"), "it is ejected")
	require.Empty(l.t, n.Agent.Token)
	require.False(l.t, n.Agent.TokenPregenerated)
	require.Empty(l.t, n.Agent.URL)
	require.Equal(l.t, map[string]string{"On": "power on", "Off": "power off"}[l.bmc.Power("1")], n.Power.String())
	return n
}

// bootingWork is each kind of work that boots an agent, with the request that begins it.
var bootingWork = []struct {
	from, wait, fail states.State
	request          conductor.ProvisionRequest
	step             string // at which the agent can fail
}{
	{states.Manageable, states.CleanWait, states.CleanFail, conductor.ProvisionRequest{Target: "provide"}, "erase_devices"},
	{states.Manageable, states.CleanWait, states.CleanFail,
		conductor.ProvisionRequest{Target: "clean", CleanSteps: []conductor.StepRequest{{Interface: "deploy", Step: "erase_devices"}}},
		"erase_devices"},
	{states.Available, states.DeployWait, states.DeployFail, conductor.ProvisionRequest{Target: "active"}, "write_image"},
	{states.Active, states.RescueWait, states.RescueFail, conductor.ProvisionRequest{Target: "rescue", RescuePassword: "hunter2"},
		"finalize_rescue"},
	{states.Active, states.ServiceWait, states.ServiceFail,
		conductor.ProvisionRequest{Target: "service", ServiceSteps: []conductor.StepRequest{{Interface: "deploy", Step: "burnin_cpu"}}},
		"burnin_cpu"},
	{states.Manageable, states.InspectWait, states.InspectFail, conductor.ProvisionRequest{Target: "inspect"}, ""},
}

// withService gives the agent a step of a service.
func withService(c *agenttest.Config) {
	c.Steps = append(c.Steps, agenttest.Step{
		Work:      "service",
		Interface: "deploy",
		Name:      "burnin_cpu",
		Run:       func(context.Context, map[string]any) (any, error) { return nil, nil },
	})
}

func TestAServiceRebootsTheMachineBetweenTwoStepsAndStartsItsInstance(t *testing.T) {
	for _, fastTrack := range []bool{false, true} {
		l := startMediaLab(t, states.Active, withService, func(c *agenttest.Config) {
			c.Steps = append(c.Steps, agenttest.Step{
				Work:      "service",
				Interface: "deploy",
				Name:      "update_firmware",
				Reboot:    true,
				Run:       func(context.Context, map[string]any) (any, error) { return nil, nil },
			})
		})
		_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error { n.DriverInfo["fast_track"] = fastTrack; return nil })
		require.NoError(t, err)
		require.NoError(t, l.bmc.SetPower("1", "On"))
		boots := l.machine.Boots()
		l.ask(conductor.ProvisionRequest{
			Target:       "service",
			ServiceSteps: []conductor.StepRequest{{Interface: "deploy", Step: "update_firmware"}, {Interface: "deploy", Step: "burnin_cpu"}},
		})
		n := l.ends(states.Active)
		require.Empty(t, n.LastError)
		require.Equal(t, []string{
			"service.get_service_steps",
			"service.execute_service_step update_firmware",
			"service.execute_service_step burnin_cpu",
		}, l.commands())
		require.Equal(t, boots+3, l.machine.Boots(), "the agent twice, and the instance")
		l.requireRuns("disk")
		l.requireIdle(n)
	}
}

// deaf makes the agent send nothing.
func deaf(c *agenttest.Config) {
	c.Faults = []agenttest.Fault{{On: "lookup", Do: agenttest.Silent()}, {On: "inspection", Do: agenttest.Silent()}}
}

func TestAfterAFailedStepTheMachineIsOffAndItsCDIsEjected(t *testing.T) {
	for _, work := range bootingWork {
		if work.step == "" {
			continue
		}
		t.Run(work.request.Target, func(t *testing.T) {
			l := startMediaLab(t, work.from, withService, func(c *agenttest.Config) {
				c.Faults = []agenttest.Fault{{On: work.step, Do: agenttest.Fail("the disk is on fire")}}
			})
			require.NoError(t, l.bmc.SetPower("1", "On"))
			l.ask(work.request)
			n := l.ends(work.fail)
			require.Contains(t, n.LastError, "the disk is on fire")
			require.Equal(t, "Off", l.bmc.Power("1"))
			require.Equal(t, work.fail == states.CleanFail || work.fail == states.ServiceFail, n.Maintenance)
		})
	}
}

func TestAfterATimeOutOrAnAbortTheMachineIsOffAndItsCDIsEjected(t *testing.T) {
	for how, end := range map[string]func(*lab){
		"timeout": func(l *lab) {
			_, err := l.UpdateNode(l.t.Context(), l.n.UUID, func(n *conductor.Node) error {
				at := n.ProvisionUpdatedAt.Add(-2 * time.Hour)
				n.ProvisionUpdatedAt = &at
				return nil
			})
			require.NoError(l.t, err)
		},
		"abort": func(l *lab) { l.ask(conductor.ProvisionRequest{Target: "abort"}) },
	} {
		for _, work := range bootingWork {
			t.Run(how+" "+work.request.Target, func(t *testing.T) {
				l := startMediaLab(t, work.from, deaf)
				l.ask(work.request)
				l.until(work.wait)
				require.NotEmpty(t, l.bmc.Media("CD"))
				require.Equal(t, "On", l.bmc.Power("1"))
				end(l)
				if how == "abort" && work.fail == states.ServiceFail {
					work.fail = states.Active
				}
				l.requireIdle(l.ends(work.fail))
			})
		}
	}
}

// requireIdle requires that the machine is off, or that its instance runs after a service.
func (l *lab) requireIdle(n *conductor.Node) {
	l.t.Helper()
	require.False(l.t, n.Maintenance, "no step has failed")
	if n.ProvisionState == states.ServiceFail || n.ProvisionState == states.Active {
		require.Equal(l.t, "On", l.bmc.Power("1"))
		require.Equal(l.t, "Hdd Continuous UEFI", l.bmc.Boot("1"))
		return
	}
	require.Equal(l.t, "Off", l.bmc.Power("1"))
}

func TestAMachineWithDisablePowerOffIsRebootedAfterAnAbort(t *testing.T) {
	l := startMediaLab(t, states.Manageable, deaf)
	_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error { n.DisablePowerOff = true; return nil })
	require.NoError(t, err)
	require.NoError(t, l.bmc.SetPower("1", "On"))
	l.ask(conductor.ProvisionRequest{Target: "provide"})
	l.until(states.CleanWait)
	boots := l.machine.Boots()
	l.ask(conductor.ProvisionRequest{Target: "abort"})
	l.ends(states.CleanFail)
	require.Equal(t, "On", l.bmc.Power("1"))
	require.Greater(t, l.machine.Boots(), boots)
}

func TestAFailedCleanUpIsInTheLastError(t *testing.T) {
	l := startMediaLab(t, states.Manageable, deaf)
	l.ask(conductor.ProvisionRequest{Target: "provide"})
	l.until(states.CleanWait)
	l.bmc.AddFault(bmctest.Fault{Method: "POST", Do: bmctest.Status(500)})
	l.ask(conductor.ProvisionRequest{Target: "abort"})
	n := l.until(states.CleanFail)
	require.Contains(t, n.LastError, "By request, the clean operation was aborted. "+
		"Also Failed to tear down cleaning on node "+n.UUID+", reason: ")
	require.Empty(t, n.Reservation)
}
