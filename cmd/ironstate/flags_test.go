// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestTheFlagsOfAgentsAreParsed(t *testing.T) {
	o, err := parse([]string{"-clean-step-priority", "deploy.erase_devices:0", "-clean-step-priority", "raid.create_configuration:20"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"deploy.erase_devices": 0, "raid.create_configuration": 20}, o.agents.priorities)
	require.Equal(t, machine.DefaultTimeouts(), o.agents.timeouts)
	require.False(t, o.agents.fastTrack)
	o, err = parse([]string{
		"-deploy-callback-timeout", "1s", "-clean-callback-timeout", "2s", "-inspect-wait-timeout", "3s", "-rescue-callback-timeout", "4s", "-service-callback-timeout", "0",
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, machine.Timeouts{Deploy: time.Second, Clean: 2 * time.Second, Inspect: 3 * time.Second, Rescue: 4 * time.Second}, o.agents.timeouts)
}

// TestWorkWithoutAnAgentFailsAfterTheTimeOfItsFlag gives one kind of work a short timeout; the others have the default.
func TestWorkWithoutAnAgentFailsAfterTheTimeOfItsFlag(t *testing.T) {
	for name, test := range map[string]struct {
		before  []string // states and the requests that lead to them
		request string
		failed  string
		text    string
	}{
		"deploy-callback-timeout":  {[]string{"provide", "available"}, `{"target": "active"}`, "deploy failed", "Timeout reached while waiting for callback"},
		"clean-callback-timeout":   {nil, `{"target": "clean", "clean_steps": [{"interface": "deploy", "step": "erase_devices"}]}`, "clean failed", "Timeout reached while cleaning"},
		"inspect-wait-timeout":     {nil, `{"target": "inspect"}`, "inspect failed", "timeout reached while inspecting"},
		"rescue-callback-timeout":  {[]string{"adopt", "active"}, `{"target": "rescue", "rescue_password": "secret"}`, "rescue failed", "Timeout reached while waiting for rescue"},
		"service-callback-timeout": {[]string{"adopt", "active"}, `{"target": "service", "service_steps": [{"interface": "deploy", "step": "x"}]}`, "service failed", "Timeout reached while servicing"},
	} {
		t.Run(name, func(t *testing.T) {
			bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, bmc.Close()) })
			s := serveProcess(t, "-demo", "0", "-automated-clean=false", "-check-interval", "20ms", "-"+name, "20ms")
			status, answer := s.do(http.MethodPost, "/v1/nodes", fmt.Sprintf(`{
				"name": "one", "driver": "redfish", "boot_interface": "redfish-virtual-media", "deploy_interface": "custom-agent",
				"inspect_interface": "agent", "rescue_interface": "agent", "instance_info": {"image_source": "http://images.invalid/x"},
				"driver_info": {"redfish_address": %q, "redfish_username": %q, "redfish_password": %q, "redfish_verify_ca": false, "deploy_iso": "http://images.invalid/agent.iso"}
			}`, bmc.URL, bmctest.DefaultUser, bmctest.DefaultPassword))
			require.Equal(t, http.StatusCreated, status, "%v", answer)
			s.provision("one", "manage")
			s.waitFor("one", "manageable")
			if test.before != nil {
				s.provision("one", test.before[0])
				s.waitFor("one", test.before[1])
			}
			status, answer = s.do(http.MethodPut, "/v1/nodes/one/states/provision", test.request)
			require.Equal(t, http.StatusAccepted, status, "%v", answer)
			require.Contains(t, s.waitFor("one", test.failed)["last_error"], test.text)
		})
	}
}

func TestAnAgentLooksUpAnIdleNodeByTheFlagOfFastTrack(t *testing.T) {
	for flag, want := range map[string]int{"-fast-track": http.StatusOK, "-fast-track=false": http.StatusNotFound} {
		s := serveProcess(t, "-demo", "0", flag)
		status, answer := s.do(http.MethodPost, "/v1/nodes", `{"name": "one", "driver": "fake-hardware"}`)
		require.Equal(t, http.StatusCreated, status, "%v", answer)
		status, answer = s.do(http.MethodGet, "/v1/lookup?node_uuid="+answer["uuid"].(string), "")
		require.Equal(t, want, status, "%s: %v", flag, answer)
	}
}

func TestAutomatedCleaningHasThePrioritiesOfTheFlag(t *testing.T) {
	for _, args := range [][]string{nil, {"-clean-step-priority", "bios.factory_reset:10"}} {
		s := serveProcess(t, append(args, "-demo", "0", "-log-level", "INFO")...)
		status, answer := s.do(http.MethodPost, "/v1/nodes", `{"name": "one", "driver": "fake-hardware"}`)
		require.Equal(t, http.StatusCreated, status, "%v", answer)
		s.provision("one", "manage")
		s.waitFor("one", "manageable")
		s.provision("one", "provide")
		s.waitFor("one", "available")
		s.kill() // the log is complete
		require.Equal(t, args != nil, strings.Contains(s.errOut.String(), "operation=bios.factory_reset"), "%v: %s", args, &s.errOut)
	}
}

func TestThePowerSyncReadsTheHealthUnlessTheFlagForbidsIt(t *testing.T) {
	for flag, want := range map[string]any{"-power-sync-health": "OK", "-power-sync-health=false": nil} {
		s := serveProcess(t, "-demo", "1", "-power-sync-interval", "20ms", flag)
		s.provision("demo-1", "manage")
		s.waitFor("demo-1", "manageable")
		rounds := func() float64 {
			n := 0.0
			_, text, _ := strings.Cut(s.metrics(), "\nconductor_power_sync_rounds_total ")
			_, _ = fmt.Sscan(text, &n)
			return n
		}
		begun := rounds()
		require.Eventually(t, func() bool { return rounds() >= begun+3 }, 20*time.Second, 20*time.Millisecond)
		_, shown := s.do(http.MethodGet, "/v1/nodes/demo-1", "")
		require.Contains(t, shown, "health")
		require.Equal(t, want, shown["health"], flag)
	}
}
