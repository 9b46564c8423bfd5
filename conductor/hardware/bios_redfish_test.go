// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// A BMC may report that the system runs still after a reset, and then how far the machine has booted.
func TestABIOSStepWaitsSince2026_1UntilTheMachineBootsItsSystem(t *testing.T) {
	const boots = 20 // reads after a reset until the machine has booted
	settings := map[string]any{"settings": []any{map[string]any{"name": "BootTimeout", "value": 30}}}
	for name, test := range map[string]struct {
		series  states.Series
		reports string // "" for nothing
		step    string
		args    map[string]any
		timeout time.Duration
		waits   bool
	}{
		"settings":        {states.Gazpacho, "OSBootStarted", "apply_configuration", settings, time.Hour, true},
		"a reset":         {states.Latest(), "OSRunning", "factory_reset", nil, time.Hour, true},
		"an older series": {states.Flamingo, "OSRunning", "factory_reset", nil, time.Hour, false},
		"no reports":      {states.Latest(), "", "factory_reset", nil, time.Hour, false},
		"no end":          {states.Latest(), "SetupEntered", "apply_configuration", settings, time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			progress, reset, reads := "OSRunning", false, 0
			at := func(state string) bmctest.Fault {
				return bmctest.Fault{On: systemPath, Method: http.MethodGet, If: func(*http.Request) bool { return progress == state },
					Do: bmctest.Property("BootProgress", map[string]any{"LastState": state})}
			}
			server.AddFault(bmctest.Fault{If: func(r *http.Request) bool {
				switch {
				case strings.HasSuffix(r.URL.Path, "ComputerSystem.Reset"):
					reset = true
				case reset && r.URL.Path == systemPath:
					reads++
				}
				switch {
				case reads >= boots || test.reports == "":
					progress = test.reports
				case reads > 1:
					progress = "MemoryInitializationStarted"
				}
				return false
			}})
			for _, state := range []string{"OSRunning", "MemoryInitializationStarted", "OSBootStarted", "SetupEntered"} {
				server.AddFault(at(state))
			}
			s := start(t, hardware.Config{}, inSeries(test.series))
			s.redfish.AwaitBIOS(test.timeout, time.Millisecond)
			n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
			request := s.word("clean")
			request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: test.step, Args: test.args}}
			require.NoError(t, s.Provision(t.Context(), n.UUID, request))
			n = s.settle(n)
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			require.NoError(t, server.ClearFaults())
			require.Equal(t, test.waits, reads >= boots)
		})
	}
}

// The settings that are pending in this BMC are all settings, as they will be after the next reset.
func TestBIOSSettingsThatAreInForceRebootNothing(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	for i, test := range []struct{ value, resets int }{{30, 1}, {30, 1}, {40, 2}, {40, 2}, {30, 3}} {
		request := s.word("clean")
		request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "apply_configuration", Args: map[string]any{
			"settings": []any{map[string]any{"name": "BootTimeout", "value": test.value}, map[string]any{"name": "QuietBoot", "value": false}},
		}}}
		require.NoError(t, s.Provision(t.Context(), n.UUID, request))
		n = s.settle(n)
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		require.Equal(t, test.value, server.BIOS("1")["BootTimeout"])
		resets := 0
		for _, r := range server.Requests() {
			if strings.HasSuffix(r.Path, "ComputerSystem.Reset") {
				resets++
			}
		}
		require.Equal(t, test.resets, resets, "request %d", i)
	}
}
