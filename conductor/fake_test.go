// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestTheVendorStepsOfFakeHardwareCameWithBobcat(t *testing.T) {
	steps := func(f *conductor.Fake, work states.State) (names []string) {
		for _, step := range f.Steps(&conductor.Node{}, work) {
			if step.Interface == "vendor" {
				names = append(names, step.Step)
			}
		}
		return names
	}
	for series := range states.AllSeries() {
		f := &conductor.Fake{Series: series}
		_, isMethod := f.VendorMethods()["log_passthrough"]
		if series < states.Bobcat {
			require.Empty(t, steps(f, states.Cleaning), series)
			require.Empty(t, steps(f, states.Servicing), series)
			require.False(t, isMethod, series)
			continue
		}
		require.Equal(t, []string{"log_passthrough"}, steps(f, states.Cleaning), series)
		require.Equal(t, []string{"log_passthrough", "trigger_servicewait"}, steps(f, states.Servicing), series)
		require.True(t, isMethod, series)
	}
	require.Len(t, steps(&conductor.Fake{}, states.Servicing), 2, "zero is the latest series")
}

func TestAServiceStepLeadsToServiceWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Active)
		require.NoError(t, f.Provision(f.ctx, n.UUID, conductor.ProvisionRequest{
			Target: "service", Version: 87,
			ServiceSteps: []conductor.StepRequest{{Interface: "vendor", Step: "log_passthrough"}, {Interface: "vendor", Step: "trigger_servicewait"}},
		}))
		require.Equal(t, states.ServiceWait, f.settle(n).ProvisionState)
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		require.Equal(t, states.Active, f.settle(n).ProvisionState)
	})
}
