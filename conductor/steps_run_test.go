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
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

func TestACleaningByFastTrackGivesTheAgentTheParametersOfAnErasure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.FastTrack = true })
		require.NoError(t, m.fake.SetPower(m.ctx, m.n, states.PowerOn))
		m.boot()
		m.request(m.n, "provide")
		n := m.settle(m.n)
		m.requireState(n, states.CleanWait, "")
		require.True(t, n.CleanSteps.Prepared, "the agent is torn down at the end unless it stays")
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step erase_devices_metadata"}, m.heard())
		record := m.agent.params[1]["node"].(map[string]any)
		require.Equal(t, 1.0, record["driver_internal_info"].(map[string]any)["agent_erase_devices_iterations"])
	})
}

func TestAnAgentThatCannotTellItsStepsFailsTheWork(t *testing.T) {
	for target, test := range map[string]struct {
		from, to states.State
		word     string
	}{
		"clean":   {states.Manageable, states.CleanFail, "cleaning"},
		"service": {states.Active, states.ServiceFail, "service"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := startMachine(t, test.from, nil)
			m.request(m.n, target)
			m.settle(m.n)
			m.set(func(a *agentProgram) { a.silent = true })
			n := m.boot()
			require.Equal(t, test.to, n.ProvisionState)
			require.Contains(t, n.LastError, "Node failed to start the first "+test.word+" step: ")
			require.Contains(t, n.LastError, "connection refused")
		})
	}
}

func TestAStepMayEndShortlyAfterTheConductorWasStopped(t *testing.T) {
	for _, test := range []struct {
		takes time.Duration // to end after the stop
		want  states.State
	}{
		{time.Second, states.Active}, {3 * time.Second, states.DeployFail},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &conductor.Memory{}
			fake := &conductor.Fake{Before: func(ctx context.Context, _ *conductor.Node, _ string) error {
				<-ctx.Done()
				sleep.For(context.WithoutCancel(ctx), test.takes)
				return nil
			}}
			c, err := conductor.New(conductor.Config{
				Store: store, Name: "alpha", SkipPowerSync: true, ShutdownTimeout: time.Second,
				Hardware: map[string]conductor.Hardware{"fake-hardware": fake},
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- c.Run(ctx) }()
			require.NoError(t, c.Ready(ctx))
			n, err := c.CreateNode(ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
			require.NoError(t, err)
			require.NoError(t, c.Provision(ctx, n.UUID, conductor.ProvisionRequest{Target: "active"}))
			synctest.Wait()
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
			n, err = c.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, test.want, n.ProvisionState, n.LastError)
			bubble.Sleep(time.Minute) // the step ends
		})
	}
}

func TestTheAgentOfWorkThatWasHeldEndsWithTheWork(t *testing.T) {
	for target, test := range map[string]struct {
		from, held states.State
		step       string
		end        states.State
		want       []string
	}{
		"clean":   {states.Manageable, states.CleanHold, "erase_devices", states.Manageable, []string{"power off"}},
		"service": {states.Active, states.ServiceHold, "burnin_cpu", states.Active, []string{"power off", "power on"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := startMachine(t, test.from, nil)
			r := m.provision(target)
			steps := []conductor.StepRequest{{Step: "hold"}, {Interface: "deploy", Step: test.step}}
			r.CleanSteps, r.ServiceSteps = steps, steps
			require.NoError(t, m.Provision(m.ctx, m.n.UUID, r))
			m.settle(m.n)
			m.requireState(m.boot(), test.held, "")
			m.request(m.n, "unhold")
			m.settle(m.n)
			m.beat()
			var did []string
			m.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation != "read power" {
					did = append(did, operation)
				}
				return nil
			})
			m.requireState(m.end("SUCCEEDED", ""), test.end, "")
			require.Equal(t, test.want, did, target)
		})
	}
}

func TestAFailedServiceKeepsItsListOfStepsUntilItIsAborted(t *testing.T) {
	for _, series := range []states.Series{states.Flamingo, states.Gazpacho} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.Table, c.SkipPowerSync = series.Table(), true })
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation == "bios.cache_bios_settings" {
					return errors.New("no answer")
				}
				return nil
			})
			n := f.node(states.Active)
			f.request(n, "service")
			got := f.settle(n)
			require.Equal(t, states.ServiceFail, got.ProvisionState)
			require.Len(t, got.ServiceSteps.Planned, 1)
			require.Equal(t, series == states.Gazpacho, got.ServiceSteps.DisableRamdisk != nil, "the agent is not booted")
			require.Zero(t, got.ServiceSteps.Begun)
			require.Nil(t, got.ServiceSteps.Current)
			_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = false; return nil })
			require.NoError(t, err)
			f.request(n, "rescue")
			got = f.settle(n)
			require.Equal(t, states.Rescue, got.ProvisionState)
			require.Len(t, got.ServiceSteps.Planned, 1, "of a failed service that is not aborted")
			f.request(n, "unrescue")
			f.settle(n)
			f.request(n, "service")
			require.Equal(t, states.ServiceFail, f.settle(n).ProvisionState)
			_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = false; return nil })
			require.NoError(t, err)
			f.request(n, "abort")
			got = f.settle(n)
			require.Equal(t, states.Active, got.ProvisionState)
			require.Equal(t, conductor.Steps{}, *got.ServiceSteps)
		})
	}
}
