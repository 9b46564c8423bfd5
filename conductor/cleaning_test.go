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

func TestARetiredNodeIsManageableAfterItsAutomatedCleaning(t *testing.T) {
	for name, test := range map[string]struct {
		retired bool
		from    states.State
		request string
		want    states.State
	}{
		"a retired node that is torn down": {true, states.Active, "deleted", states.Manageable},
		"another node that is torn down":   {false, states.Active, "deleted", states.Available},
		"a retired node cleaned manually":  {true, states.Manageable, "clean", states.Manageable},
		"another node cleaned manually":    {false, states.Manageable, "clean", states.Manageable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cleaned bool
				f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
				f.before(func(_ context.Context, n *conductor.Node, _ string) error {
					cleaned = cleaned || n.ProvisionState == states.Cleaning
					return nil
				})
				n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: test.from, Retired: test.retired})
				require.NoError(t, err)
				f.request(n, test.request)
				got := f.settle(n)
				require.Equal(t, test.want, got.ProvisionState, got.LastError)
				require.Empty(t, got.LastError)
				require.True(t, cleaned)
			})
		})
	}
}

func TestAStepKeepsItsRequestedPriorityAfterACallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			switch operation {
			case "bios.cache_bios_settings":
				return conductor.ErrWait
			case "bios.factory_reset":
				return errors.New("no answer")
			}
			return nil
		})
		n := f.node(states.Manageable)
		priority := 77
		r := f.provision("clean")
		r.CleanSteps = append(r.CleanSteps, conductor.StepRequest{Interface: "bios", Step: "factory_reset", Priority: &priority})
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		waiting := f.settle(n)
		require.Equal(t, states.CleanWait, waiting.ProvisionState)
		require.Nil(t, waiting.CleanSteps.Current.Run, "a record holds no function")
		for _, step := range waiting.CleanSteps.Planned {
			require.True(t, step.Requested)
			require.Nil(t, step.Run)
		}

		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Contains(t, got.LastError, "'priority': 77}: no answer")
	})
}

// TestACleaningThatAClientHasEndedIsNotContinued ends a cleaning by "manage" while the conductor that owns the node has
// not continued it.
func TestACleaningThatAClientHasEndedIsNotContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.SkipPowerSync, c.Membership = true, withBeta{draining: true} })
		steps := []conductor.Step{
			{Interface: "deploy", Step: "erase_devices_metadata", InBand: true},
			{Interface: "deploy", Step: "erase_devices", InBand: true},
		}
		n, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver:               "fake-hardware",
			ProvisionState:       states.CleanWait,
			TargetProvisionState: states.Available,
			Interfaces:           map[string]string{"deploy": "direct"},
			CleanSteps:           &conductor.Steps{Prepared: true, Planned: steps, Begun: 2, Current: &steps[1]},
		})
		require.NoError(t, err)
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		require.Equal(t, states.Cleaning, f.settle(n).ProvisionState)
		f.request(n, "manage")
		got := f.settle(n)
		require.Equal(t, states.Manageable, got.ProvisionState)
		require.Empty(t, got.LastError)
		require.Equal(t, &conductor.CleanUp{PowerOff: true, Ramdisk: true}, got.CleanUp, "the agent still runs")
		f.request(n, "provide")
		got = f.settle(n)
		require.Equal(t, states.Cleaning, got.ProvisionState)
		require.Zero(t, got.CleanSteps.Begun)
		require.Nil(t, got.CleanSteps.Current)
		require.Nil(t, got.CleanUp, "the new work boots the machine as it needs")
	})
}

// TestAnAbortEndsTheWorkBeforeTheStepThatFollows aborts work at a step that cannot be aborted, see
// [conductor.Conductor.Provision].
func TestAnAbortEndsTheWorkBeforeTheStepThatFollows(t *testing.T) {
	for name, test := range map[string]struct {
		from   states.State
		target string
		steps  []string
		end    states.State // before 2026.1
	}{
		"a cleaning":             {states.Manageable, "clean", []string{"cache_bios_settings", "factory_reset"}, states.CleanFail},
		"a service":              {states.Active, "service", []string{"cache_bios_settings", "factory_reset"}, states.ServiceFail},
		"a cleaning at its end":  {states.Manageable, "clean", []string{"cache_bios_settings"}, states.Manageable},
		"a service at its end":   {states.Active, "service", []string{"cache_bios_settings"}, states.Active},
		"a cleaning at its last": {states.Manageable, "clean", []string{"factory_reset", "cache_bios_settings"}, states.Manageable},
	} {
		for _, series := range []states.Series{states.Flamingo, states.Gazpacho} {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) { c.Table = series.Table() })
				f.before(waiting("bios.cache_bios_settings"))
				n, request := f.node(test.from), f.provision(test.target)
				request.CleanSteps, request.ServiceSteps = nil, nil
				for _, step := range test.steps {
					request.CleanSteps = append(request.CleanSteps, conductor.StepRequest{Interface: "bios", Step: step})
				}
				request.ServiceSteps = request.CleanSteps
				require.NoError(t, f.Provision(f.ctx, n.UUID, request))
				waits := f.settle(n)
				f.request(n, "abort")
				require.Equal(t, waits.ProvisionState, f.settle(n).ProvisionState)
				require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
				got, end, text := f.settle(n), test.end, ""
				if series == states.Gazpacho {
					end = map[string]states.State{"clean": states.CleanFail, "service": states.ServiceFail}[test.target]
				}
				if end != test.from {
					text = "By request, the " + test.target + ` operation was aborted during or after the completion of step "bios.cache_bios_settings"`
				}
				require.Equal(t, end, got.ProvisionState, "%s in %v", name, series)
				require.Equal(t, text, got.LastError)
			})
		}
	}
}

// TestABuiltInStepRunsAfterACallBack fails a step that the series has added to all hardware types.
func TestABuiltInStepRunsAfterACallBack(t *testing.T) {
	for _, series := range []states.Series{states.Bobcat, states.Latest()} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.Table = series.Table() })
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				switch operation {
				case "bios.cache_bios_settings":
					return conductor.ErrWait
				case "power on":
					return errors.New("no answer")
				}
				return nil
			})
			n, request := f.node(states.Manageable), f.provision("clean")
			request.CleanSteps = append(request.CleanSteps, conductor.StepRequest{Step: "power_on"})
			require.NoError(t, f.Provision(f.ctx, n.UUID, request))
			require.Equal(t, states.CleanWait, f.settle(n).ProvisionState)
			require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
			got := f.settle(n)
			require.Equal(t, states.CleanFail, got.ProvisionState)
			require.Contains(t, got.LastError, "'step': 'power_on', 'abortable': True, 'priority': 0}: ")
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.Table = states.Antelope.Table() })
		n, request := f.node(states.Manageable), f.provision("clean")
		request.CleanSteps = []conductor.StepRequest{{Step: "power_on"}}
		require.NoError(t, f.Provision(f.ctx, n.UUID, request))
		require.Contains(t, f.settle(n).LastError, "node does not support this clean step")
	})
}

func TestAnAutomatedCleaningForgetsTheStepsOfAnEarlierRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "power on" {
				return errors.New("no answer")
			}
			return nil
		})
		n, request, yes := f.node(states.Manageable), f.provision("clean"), true
		request.CleanSteps, request.DisableRamdisk = []conductor.StepRequest{{Step: "power_on"}}, &yes
		require.NoError(t, f.Provision(f.ctx, n.UUID, request))
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState, got.LastError)
		require.Equal(t, request.CleanSteps, got.CleanSteps.Requested)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = false; return nil })
		require.NoError(t, err)
		f.request(n, "manage")
		f.before(waiting("vendor.log_passthrough"))
		f.request(n, "provide")
		got = f.settle(n)
		require.Equal(t, states.CleanWait, got.ProvisionState, got.LastError)
		require.Empty(t, got.CleanSteps.Requested)
		require.Nil(t, got.CleanSteps.DisableRamdisk)
	})
}
