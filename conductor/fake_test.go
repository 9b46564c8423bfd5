// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestTheVendorStepsOfFakeHardwareCameWithBobcat(t *testing.T) {
	steps := func(f *conductor.Fake, work states.Work) (names []string) {
		for _, step := range f.Steps(&conductor.Node{}, work) {
			if step.Interface == "vendor" {
				names = append(names, step.Step)
			}
		}
		return names
	}
	for series := range states.AllSeries() {
		f := &conductor.Fake{Series: series}
		_, isMethod := f.VendorMethods(&conductor.Node{})["log_passthrough"]
		if series < states.Bobcat {
			require.Empty(t, steps(f, states.WorkClean), series)
			require.Empty(t, steps(f, states.WorkService), series)
			require.False(t, isMethod, series)
			continue
		}
		require.Equal(t, []string{"log_passthrough"}, steps(f, states.WorkClean), series)
		require.Equal(t, []string{"log_passthrough", "trigger_servicewait"}, steps(f, states.WorkService), series)
		require.True(t, isMethod, series)
	}
	require.Len(t, steps(&conductor.Fake{}, states.WorkService), 2, "zero is the latest series")
}

func TestAServiceHasTheUndeclaredStepsOfFakeHardwareSince2025_2(t *testing.T) {
	bios := []string{"bios.apply_configuration", "bios.factory_reset", "bios.cache_bios_settings"}
	for series := range states.AllSeries() {
		steps := func(work states.Work) (names []string) {
			for _, step := range (&conductor.Fake{Series: series}).Steps(&conductor.Node{}, work) {
				if step.Interface != "vendor" {
					names = append(names, step.String())
				}
			}
			return names
		}
		clean, service := bios, []string(nil)
		if series >= states.Bobcat {
			clean = append(slices.Clone(clean), "firmware.update")
		}
		if series >= states.Flamingo {
			service = append(slices.Clone(bios), "raid.create_configuration", "raid.delete_configuration", "firmware.update")
		}
		require.Equal(t, clean, steps(states.WorkClean), series)
		require.Equal(t, service, steps(states.WorkService), series)
	}
}

func TestFakeHardwareUpdatesFirmwareInManualCleaningsSinceBobcat(t *testing.T) {
	const begin = "node does not support this clean step"
	settings := map[string]any{"settings": []any{map[string]any{"component": "bmc", "url": "https://192.0.2.1/bmc.bin"}}}
	for name, test := range map[string]struct {
		series states.Series
		iface  string
		args   map[string]any
		text   string // of the last error; empty: it succeeds
	}{
		"2023.2":      {states.Bobcat, "fake", settings, ""},
		"2026.2":      {states.Latest(), "fake", settings, ""},
		"2023.1":      {states.Antelope, "fake", settings, begin},
		"no firmware": {states.Latest(), "no-firmware", settings, begin},
		"without its argument": {
			states.Latest(), "fake", nil,
			"is missing these required arguments: settings (List of Firmware components, each item needs to contain a " +
				"dictionary with name/value pairs)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) {
					c.Table = test.series.Table()
					c.Hardware["fake-hardware"].(*conductor.Fake).Series = test.series
				})
				n := f.create(conductor.Node{ProvisionState: states.Manageable, Interfaces: map[string]string{"firmware": test.iface}})
				r := f.provision("clean")
				r.CleanSteps = []conductor.StepRequest{{Interface: "firmware", Step: "update", Args: test.args}}
				require.NoError(t, f.Provision(f.ctx, n.UUID, r))
				got := f.settle(n)
				if test.text == "" {
					require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
					return
				}
				require.Equal(t, states.CleanFail, got.ProvisionState)
				require.Contains(t, got.LastError, test.text)
			})
		})
	}
}

func TestAServiceStepLeadsToServiceWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Active)
		require.NoError(t, f.Provision(f.ctx, n.UUID, conductor.ProvisionRequest{
			Target:  "service",
			Version: 87,
			ServiceSteps: []conductor.StepRequest{
				{Interface: "vendor", Step: "log_passthrough"},
				{Interface: "vendor", Step: "trigger_servicewait"},
			},
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
		f.before(func(context.Context, *conductor.Node, string) error { <-ends; return nil })
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
		problems := (&conductor.Fake{}).Validate(&conductor.Node{
			Interfaces:   map[string]string{"deploy": "direct"},
			InstanceInfo: map[string]any{"image_source": image, "image_checksum": "0"},
		})
		require.Equal(t, valid, problems["deploy"] == nil, "%v: %v", image, problems["deploy"])
	}
}

func TestFakeHardwareThatBootsFromTheNetworkNeedsAPort(t *testing.T) {
	for _, test := range []struct {
		boot, deploy string
		port         bool
		boots, is    bool // whether the boot interface is valid, and whether a deployment is accepted
	}{
		{"fake", "direct", false, true, true}, {"pxe", "direct", false, false, false}, {"ipxe", "direct", false, false, false},
		{"pxe", "fake", false, false, true}, {"ipxe", "direct", true, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{
				ProvisionState: states.Available, InstanceInfo: instanceInfo(), Interfaces: map[string]string{"boot": test.boot, "deploy": test.deploy},
			})
			if test.port {
				_, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:12:34:56"})
				require.NoError(t, err)
			}
			problems, err := f.Validate(f.ctx, n.UUID)
			require.NoError(t, err)
			text := "Node " + n.UUID + " does not have any port associated with it"
			if test.boots {
				require.NoError(t, problems["boot"], "%+v", test)
			} else {
				require.EqualError(t, problems["boot"], text, "%+v", test)
			}
			if test.is {
				require.NoError(t, problems["deploy"], "%+v", test)
				require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision("active")), "%+v", test)
				return
			}
			require.EqualError(t, problems["deploy"], text, "%+v", test)
			err = f.Provision(f.ctx, n.UUID, f.provision("active"))
			require.ErrorIs(t, err, conductor.Unsuitable)
			require.ErrorContains(t, err, text)
		})
	}
}

func TestAnInterfaceOfFakeHardwareThatIsNoneHasNoFunction(t *testing.T) {
	f := &conductor.Fake{}
	for kind, names := range f.Describe().Interfaces {
		none := "no-" + kind
		if !slices.Contains(names, none) {
			continue
		}
		n := &conductor.Node{Driver: "fake-hardware", Interfaces: map[string]string{kind: none}}
		if kind != "vendor" { // whose validation Ironic leaves out
			require.EqualError(t, f.Validate(n)[kind], conductor.UnsupportedText(n.Driver, kind))
		}
		for _, work := range []states.Work{states.WorkInspect, states.WorkClean, states.WorkService, states.WorkRescue, states.WorkUnrescue} {
			for _, step := range f.Steps(n, work) {
				require.NotEqual(t, kind, step.Interface, work)
			}
		}
	}
	n := &conductor.Node{Interfaces: map[string]string{"vendor": "no-vendor"}}
	require.Empty(t, f.VendorMethods(n))
	_, err := f.CallVendor(t.Context(), n, "third_method_sync", map[string]any{"bar": "meow"})
	require.ErrorIs(t, err, conductor.Unsupported)
}
