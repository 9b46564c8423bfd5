// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
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

func TestOnlyAnExclusiveVendorMethodNeedsTheReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Available)
		ends := make(chan struct{})
		f.fake.Before = func(context.Context, *conductor.Node, string) error { <-ends; return nil }
		f.request(n, "active")
		synctest.Wait()
		_, err := f.CallVendor(f.ctx, n.UUID, "fourth_method_shared_lock", nil)
		require.EqualError(t, err, "Parameter 'bar' not passed to method 'fourth_method_shared_lock'.")
		_, err = f.CallVendor(f.ctx, n.UUID, "third_method_sync", nil)
		require.ErrorIs(t, err, conductor.Locked)
		close(ends)
		require.Equal(t, states.Active, f.settle(n).ProvisionState)
		_, err = f.CallVendor(f.ctx, n.UUID, "third_method_sync", nil)
		require.EqualError(t, err, "Parameter 'bar' not passed to method 'third_method_sync'.")
	})
}

func TestFakeHardwareDeploysOnlyFromAnImage(t *testing.T) {
	for image, valid := range map[any]bool{"http://192.0.2.1/image": true, nil: false} {
		problems := (&conductor.Fake{}).Validate(&conductor.Node{Interfaces: map[string]string{"deploy": "direct"}, InstanceInfo: map[string]any{"image_source": image, "image_checksum": "0"}})
		require.Equal(t, valid, problems["deploy"] == nil, "%v: %v", image, problems["deploy"])
	}
}
