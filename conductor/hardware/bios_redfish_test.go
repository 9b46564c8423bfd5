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

// An iDRAC lists what was changed until its job has ended, after the machine has the values.
func TestBIOSSettingsAreSetOnceTheBMCAppliesThemNoMore(t *testing.T) {
	const settings = systemPath + "/Bios/Settings"
	for _, test := range []struct {
		reads int // of the settings object until it is empty
		state states.State
	}{{60, states.Manageable}, {1 << 30, states.CleanFail}} {
		server := startRedfish(t)
		reset, reads := false, 0
		server.AddFault(bmctest.Fault{If: func(r *http.Request) bool {
			reset = reset || r.URL.Path == resetPath
			if reset && r.URL.Path == settings {
				reads++
			}
			return false
		}})
		applies := func(*http.Request) bool { return reset && reads < test.reads }
		server.AddFault(bmctest.Fault{On: settings, Method: http.MethodGet, If: applies,
			Do: bmctest.Property("Attributes", map[string]any{"BootTimeout": 30})})
		server.AddFault(bmctest.Fault{On: settings, Method: http.MethodGet, Do: bmctest.Property("Attributes", map[string]any{})})
		s := start(t, hardware.Config{})
		timeout := time.Hour
		if test.state != states.Manageable {
			timeout = time.Millisecond
		}
		s.redfish.AwaitBIOS(timeout, time.Millisecond)
		n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
		created := n.Revision
		request := s.word("clean")
		request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "apply_configuration", Args: map[string]any{
			"settings": []any{map[string]any{"name": "BootTimeout", "value": 30}}}}}
		require.NoError(t, s.Provision(t.Context(), n.UUID, request))
		n = s.settle(n)
		require.Equal(t, test.state, n.ProvisionState, n.LastError)
		require.Equal(t, 30, server.BIOS("1")["BootTimeout"])
		require.NoError(t, server.ClearFaults())
		if test.state == states.Manageable {
			require.GreaterOrEqual(t, reads, test.reads)
			require.Less(t, n.Revision-created, int64(test.reads), "settings that are the same are not stored again")
		} else {
			require.Contains(t, n.LastError, "Attributes {'BootTimeout': 30} are not updated.")
		}
	}
}

// The settings that are pending in this BMC are all settings, as they will be after the next reset.
func TestBIOSSettingsThatAreInForceRebootNothing(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	s.redfish.AwaitBIOS(time.Millisecond, time.Millisecond)
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	for i, test := range []struct {
		value  int
		quiet  any // false
		resets int
	}{{30, false, 1}, {30, "0", 1}, {40, "0", 2}, {40, false, 2}, {30, "f", 3}} {
		request := s.word("clean")
		request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "apply_configuration", Args: map[string]any{
			"settings": []any{map[string]any{"name": "BootTimeout", "value": test.value}, map[string]any{"name": "QuietBoot", "value": test.quiet}},
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
