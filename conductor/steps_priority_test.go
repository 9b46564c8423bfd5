// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestTheConfigurationOrdersTheStepsOfAnAutomatedCleaning(t *testing.T) {
	const (
		metadata = "execute_clean_step erase_devices_metadata"
		devices  = "execute_clean_step erase_devices"
		burnin   = "execute_clean_step burnin_cpu"
	)
	for name, test := range map[string]struct {
		priorities map[string]int
		want       []string // of the agent's steps, whose priorities are 99, 10 and 0
	}{
		"none":                   {nil, []string{metadata, devices}},
		"a step left out":        {map[string]int{"deploy.erase_devices": 0}, []string{metadata}},
		"another order":          {map[string]int{"deploy.erase_devices": 100}, []string{devices, metadata}},
		"a step of priority 0":   {map[string]int{"deploy.burnin_cpu": 50}, []string{metadata, burnin, devices}},
		"equal priorities":       {map[string]int{"deploy.burnin_cpu": 99, "deploy.erase_devices": 99}, []string{burnin, devices, metadata}},
		"another interface":      {map[string]int{"raid.erase_devices": 0}, []string{metadata, devices}},
		"a step of the hardware": {map[string]int{"vendor.log_passthrough": 0, "deploy.erase_devices_metadata": 0}, []string{devices}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.CleanStepPriorities = test.priorities })
				m.request(m.n, "provide")
				m.settle(m.n)
				n := m.boot()
				for n.ProvisionState == states.CleanWait {
					n = m.end("SUCCEEDED", "")
				}
				m.requireState(n, states.Available, "")
				require.Equal(t, test.want, m.heard()[1:])
			})
		})
	}
}

func TestTheConfigurationDoesNotOrderTheStepsOfAManualCleaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, func(c *conductor.Config) {
			c.CleanStepPriorities = map[string]int{"deploy.erase_devices": 0, "deploy.burnin_cpu": 100}
		})
		m.clean("deploy.erase_devices", "deploy.burnin_cpu")
		m.boot()
		m.end("SUCCEEDED", "")
		m.requireState(m.end("SUCCEEDED", ""), states.Manageable, "")
		require.Equal(t, []string{"execute_clean_step erase_devices", "execute_clean_step burnin_cpu"}, m.heard()[1:])
	})
}

func TestAutomatedCleaningFailsIfTheConfigurationLeavesNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := map[states.Work][]conductor.Step{states.WorkClean: {{Interface: "deploy", Step: "erase", Priority: 10}}}
		f := start(t, func(c *conductor.Config) {
			withReal(steps)(c)
			c.CleanStepPriorities = map[string]int{"deploy.erase": 0}
		})
		n := f.node(states.Manageable)
		f.request(n, "provide")
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Contains(t, got.LastError, "nothing would be erased")
	})
}
