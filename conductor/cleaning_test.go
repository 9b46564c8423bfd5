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
				f.fake.Before = func(_ context.Context, n *conductor.Node, _ string) error {
					cleaned = cleaned || n.ProvisionState == states.Cleaning
					return nil
				}
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
		f.fake.Before = func(_ context.Context, _ *conductor.Node, operation string) error {
			switch operation {
			case "bios.cache_bios_settings":
				return conductor.ErrWait
			case "bios.factory_reset":
				return errors.New("no answer")
			}
			return nil
		}
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

// TestACleaningThatAClientHasEndedIsNotContinued ends a cleaning by "manage" while the conductor that owns the node has not
// continued it.
func TestACleaningThatAClientHasEndedIsNotContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
		steps := []conductor.Step{{Interface: "deploy", Step: "erase_devices_metadata", InBand: true}, {Interface: "deploy", Step: "erase_devices", InBand: true}}
		n, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.CleanWait, TargetProvisionState: states.Available, Interfaces: map[string]string{"deploy": "direct"},
			CleanSteps: &conductor.Steps{Prepared: true, Planned: steps, Begun: 2, Current: &steps[1]},
		})
		require.NoError(t, err)
		_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.ConductorGroup = "of another conductor"; return nil })
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
	})
}
