// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestAnAbortedDeploymentLeavesTheMachineOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, nil)
		m.request(m.n, "active")
		m.requireState(m.settle(m.n), states.DeployWait, "")
		require.True(t, m.settle(m.n).Step().Abortable)
		m.request(m.n, "abort")
		n := m.settle(m.n)
		m.requireState(n, states.DeployFail,
			`By request, the deploy operation was aborted during or after the completion of step "deploy.deploy"`)
		require.Equal(t, states.Active, n.TargetProvisionState)
		require.Equal(t, states.PowerOn, n.Power)
		require.Empty(t, n.Agent.URL+n.Agent.Token)
		require.Equal(t, &conductor.Steps{}, n.DeploySteps)
		require.Empty(t, n.Reservation)
		require.Nil(t, n.CleanUp)
	})
}

func TestAFailedCleanUpAfterAnAbortedDeploymentIsTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, func(c *conductor.Config) {
			c.Hardware["fake-hardware"] = failingCleanUp{c.Hardware["fake-hardware"].(*conductor.Fake)}
		})
		m.request(m.n, "active")
		m.requireState(m.settle(m.n), states.DeployWait, "")
		m.request(m.n, "abort")
		m.requireState(m.settle(m.n), states.DeployFail, "Failed to clean up deploying after aborting the operation")
		entries, err := m.History(m.ctx, m.n.UUID)
		require.NoError(t, err)
		require.Len(t, entries, 2)
		require.Equal(t, "Failed to clean up deploying after aborting the operation", entries[1].Event)
		require.Equal(t, "deploying", entries[1].EventType)
	})
}

// failingCleanUp is hardware whose CleanUpAgent fails.
type failingCleanUp struct{ *conductor.Fake }

func (failingCleanUp) CleanUpAgent(context.Context, *conductor.Task) error {
	return errors.New("broken")
}

// deploying is hardware whose deployment has steps that wait.
type deploying struct {
	*conductor.Fake
	abortable bool
}

func (d deploying) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if work != states.WorkDeploy {
		return d.Fake.Steps(n, work)
	}
	waits := func(context.Context, *conductor.Task) error { return conductor.ErrWait }
	return []conductor.Step{
		{Interface: "deploy", Step: "deploy", Priority: 100, Abortable: d.abortable, Run: waits},
		{Interface: "bios", Step: "apply", Abortable: true, Run: waits},
		{Interface: "raid", Step: "apply", Abortable: true, Run: waits},
	}
}

func TestAnAbortOfADeploymentEndsItAfterAStepThatCannotBeAborted(t *testing.T) {
	const inDeploy, inBIOS = `during or after the completion of step "deploy.deploy"`, `during or after the completion of step "bios.apply"`
	const inRAID = `during or after the completion of step "raid.apply"`
	for name, test := range map[string]struct {
		abortable bool
		requested int // the priority of two steps that the client requests
		resumed   int // how often the deployment is resumed before the abort
		at        states.State
		text      string
	}{
		"abortable":                {true, 0, 0, states.DeployFail, inDeploy},
		"not abortable":            {false, 10, 0, states.DeployWait, inDeploy},
		"at the last step":         {false, 0, 0, states.DeployWait, inDeploy},
		"in a requested step":      {true, 200, 0, states.DeployWait, inBIOS},
		"in a later, a requested":  {true, 10, 1, states.DeployWait, inBIOS},
		"in the last, a requested": {true, 10, 2, states.DeployWait, inRAID},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.SkipPowerSync = true
				c.Hardware["fake-hardware"] = deploying{&conductor.Fake{}, test.abortable}
			})
			n, request := f.node(states.Available), f.provision("active")
			if test.requested > 0 {
				for _, kind := range []string{"bios", "raid"} {
					request.DeploySteps = append(request.DeploySteps, conductor.StepRequest{Interface: kind, Step: "apply", Priority: &test.requested})
				}
			}
			require.NoError(t, f.Provision(f.ctx, n.UUID, request))
			for range test.resumed {
				f.settle(n)
				require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
			}
			require.Equal(t, states.DeployWait, f.settle(n).ProvisionState, name)
			f.request(n, "abort")
			got := f.settle(n)
			require.Equal(t, test.at, got.ProvisionState, name)
			require.Equal(t, test.at == states.DeployWait, got.DeploySteps.AbortAfter, name)
			if test.at == states.DeployWait {
				require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
			}
			got = f.settle(n)
			require.Equal(t, states.DeployFail, got.ProvisionState, name)
			require.Equal(t, "By request, the deploy operation was aborted "+test.text, got.LastError, name)
			require.Equal(t, &conductor.Steps{}, got.DeploySteps, name)
		})
	}
}

func TestADeploymentCanBeAbortedSince2026(t *testing.T) {
	for series, want := range map[states.Series]bool{states.Flamingo: false, states.Gazpacho: true} {
		synctest.Test(t, func(t *testing.T) {
			m := startMachine(t, states.Available, func(c *conductor.Config) { c.Table = series.Table() })
			m.request(m.n, "active")
			for _, step := range m.settle(m.n).DeploySteps.Planned {
				require.Equal(t, want, step.Abortable, "%v in %v", step, series)
			}
			err := m.Provision(m.ctx, m.n.UUID, m.provision("abort"))
			require.Equal(t, want, err == nil, err)
		})
	}
}

func TestATearDownRemovesTheInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver:         "fake-hardware",
			ProvisionState: states.Active,
			InstanceName:   "web",
			InstanceInfo:   map[string]any{"a": 1},
		})
		require.NoError(t, err)
		f.request(n, "deleted")
		got := f.settle(n)
		require.Equal(t, states.Available, got.ProvisionState)
		require.Empty(t, got.InstanceName)
		require.Empty(t, got.InstanceInfo)
	})
}

// abortable is fake-hardware whose inspections can be aborted.
type abortable struct{ *conductor.Fake }

func (a abortable) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if work != states.WorkInspect {
		return a.Fake.Steps(n, work)
	}
	steps := a.Fake.Steps(&conductor.Node{}, work) // whatever the node has chosen
	steps[0].Abortable = true
	return steps
}

// withAbortable makes the inspections of a conductor abortable.
func withAbortable(c *conductor.Config) {
	c.Hardware = map[string]conductor.Hardware{"fake-hardware": abortable{c.Hardware["fake-hardware"].(*conductor.Fake)}}
}

func TestAnInspectionIsAbortedOnlyByAnInterfaceThatCan(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*conductor.Config)
		iface  string
		want   states.State
	}{
		"fake-hardware":                   {nil, "fake", states.InspectWait},
		"fake-hardware, no interface":     {nil, "no-inspect", states.InspectWait},
		"hardware that can":               {withAbortable, "fake", states.InspectFail},
		"hardware that can, no interface": {withAbortable, "no-inspect", states.InspectWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, test.change)
				n := f.create(conductor.Node{
					ProvisionState:       states.InspectWait,
					TargetProvisionState: states.Manageable,
					Interfaces:           map[string]string{"inspect": test.iface},
				})
				err := f.Provision(f.ctx, n.UUID, f.provision("abort"))
				got := f.settle(n)
				require.Equal(t, test.want, got.ProvisionState)
				if test.want == states.InspectFail {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, conductor.Unsupported)
				require.Equal(t, 400, conductor.HTTPStatus(err))
				require.EqualError(t, err, "Driver fake-hardware does not support abort (disabled or not implemented).")
				require.NotEqual(t, n.UpdatedAt, got.UpdatedAt, "Ironic has locked the node")
				require.Empty(t, f.entries(got), "Ironic adds no entry to the history")
			})
		})
	}
}

func TestAnAbortOfOtherWorkDoesNotNeedAnInspection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.create(conductor.Node{ProvisionState: states.RescueWait, Interfaces: map[string]string{"inspect": "no-inspect"}})
		f.request(n, "abort")
		require.Equal(t, states.RescueFail, f.settle(n).ProvisionState)
	})
}
