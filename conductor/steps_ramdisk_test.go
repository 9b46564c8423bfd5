// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// byBMC is fake-hardware with a step that needs no ramdisk, one that needs it, and one that fails.
type byBMC struct{ *conductor.Fake }

func (h byBMC) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if work != states.WorkClean && work != states.WorkService {
		return h.Fake.Steps(n, work)
	}
	run := func(context.Context, *conductor.Task) error { return nil }
	return []conductor.Step{
		{Interface: "bios", Step: "set", NoRamdisk: true, Priority: 10, Run: run}, {Interface: "raid", Step: "make", Run: run},
		{Interface: "bios", Step: "fail", NoRamdisk: true, Run: func(context.Context, *conductor.Task) error { return errors.New("no answer") }},
	}
}

func TestTheAgentIsNotBootedForStepsThatNeedNoRamdisk(t *testing.T) {
	step := func(iface, name string) conductor.StepRequest {
		return conductor.StepRequest{Interface: iface, Step: name}
	}
	set, power := step("bios", "set"), step("power", "power_on")
	for name, test := range map[string]struct {
		series states.Series
		target string
		steps  []conductor.StepRequest
		boots  bool
	}{
		"a cleaning in 2026.1":                 {states.Gazpacho, "clean", []conductor.StepRequest{set, power}, false},
		"a cleaning in 2025.2":                 {states.Flamingo, "clean", []conductor.StepRequest{set, power}, true},
		"a service in 2025.2":                  {states.Flamingo, "service", []conductor.StepRequest{set}, false},
		"a service in 2025.1":                  {states.Epoxy, "service", []conductor.StepRequest{set}, true},
		"a step that needs it":                 {states.Latest(), "clean", []conductor.StepRequest{set, step("raid", "make")}, true},
		"a service with a step that needs it":  {states.Latest(), "service", []conductor.StepRequest{step("raid", "make")}, true},
		"a step that only an agent may have":   {states.Latest(), "clean", []conductor.StepRequest{set, step("deploy", "burnin_cpu")}, true},
		"a step that waits for a heartbeat":    {states.Latest(), "clean", []conductor.StepRequest{set, step("power", "wait")}, true},
		"a hold":                               {states.Latest(), "service", []conductor.StepRequest{step("power", "hold"), set}, true},
		"an automated cleaning":                {states.Latest(), "provide", nil, true},
		"an automated cleaning after a manual": {states.Latest(), "provide", []conductor.StepRequest{set}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) {
					c.SkipPowerSync, c.Table = true, test.series.Table()
					c.Hardware = map[string]conductor.Hardware{"fake-hardware": byBMC{c.Hardware["fake-hardware"].(*conductor.Fake)}}
				})
				from := states.Manageable
				if test.target == "service" {
					from = states.Active
				}
				n := f.create(conductor.Node{ProvisionState: from, Interfaces: map[string]string{"deploy": "direct"}, InstanceInfo: instanceInfo()})
				boots := false
				f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
					boots = boots || operation == "prepare"
					return nil
				})
				r := f.provision(test.target)
				r.CleanSteps, r.ServiceSteps = test.steps, test.steps
				if test.target == "provide" && test.steps != nil { // its steps stay in the record, since it fails
					manual := f.provision("clean")
					manual.CleanSteps = append(slices.Clone(test.steps), step("bios", "fail"))
					require.NoError(t, f.Provision(f.ctx, n.UUID, manual))
					got := f.settle(n)
					require.Equal(t, states.CleanFail, got.ProvisionState)
					require.NotEmpty(t, got.CleanSteps.Requested)
					require.False(t, boots)
					_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance, n.Fault = false, ""; return nil })
					require.NoError(t, err)
					f.request(n, "manage")
					f.settle(n)
				}
				require.NoError(t, f.Provision(f.ctx, n.UUID, r))
				got := f.settle(n)
				require.Equal(t, test.boots, boots)
				if test.boots {
					require.Contains(t, []states.State{states.CleanWait, states.ServiceWait}, got.ProvisionState)
					return
				}
				require.Equal(t, from, got.ProvisionState, got.LastError)
				require.Nil(t, got.CleanUp)
			})
		})
	}
}

func TestTheMachineStaysAsItIsAfterStepsThatNeededNoRamdisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) {
			c.SkipPowerSync = true
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": byBMC{c.Hardware["fake-hardware"].(*conductor.Fake)}}
		})
		n := f.create(conductor.Node{
			ProvisionState: states.Manageable,
			Interfaces:     map[string]string{"deploy": "direct"},
			InstanceInfo:   instanceInfo(),
		})
		var did []string
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			did = append(did, operation)
			return nil
		})
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "set"}}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
		require.Empty(t, did)
	})
}

func TestAManualCleaningNamesItsStepsAsCheckedSince2026_1(t *testing.T) {
	const (
		short = "{'interface': 'raid', 'step': 'make', 'args': {'x': 1}}"
		long  = "{'interface': 'raid', 'step': 'make', 'args': {'x': 1}, 'abortable': False, 'priority': 0}"
	)
	for _, test := range []struct {
		series  states.Series
		offline bool
		want    string
	}{{states.Flamingo, false, short}, {states.Gazpacho, false, long}, {states.Gazpacho, true, short}} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.Table = test.series.Table()
				c.Hardware = map[string]conductor.Hardware{"fake-hardware": byBMC{c.Hardware["fake-hardware"].(*conductor.Fake)}}
			})
			n := f.node(states.Manageable)
			r := f.provision("clean")
			r.CleanSteps, r.DisableRamdisk = []conductor.StepRequest{{Interface: "raid", Step: "make", Args: map[string]any{"x": 1}}}, &test.offline
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			got := f.settle(n)
			require.Equal(t, states.CleanFail, got.ProvisionState)
			require.Contains(t, got.LastError, "clean step "+test.want+" has these unexpected arguments: x")
		})
	}
}
