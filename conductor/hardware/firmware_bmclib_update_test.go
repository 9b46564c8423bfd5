// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestBMCLibUpdatesFirmware(t *testing.T) {
	const sum = "d2cdd9a45d9eb1e3ad4bd4a5b6d87ea5f6a07a8ca4e9b8a4b5c7ae8b4b2ee5ad"
	for name, test := range map[string]struct {
		component string
		checksum  string
		states    []string
		after     string
		change    func(*conductor.Node)
		sent      []string
		switched  int
		failure   string
	}{
		"of a BMC, while the machine runs": {component: "bmc", states: []string{"Running", "Completed"}, sent: []string{"On: "}},
		"of a BIOS, while it is off":       {component: "bios", states: []string{"Completed"}, sent: []string{"Off: "}, switched: 2},
		"with a restart": {
			component: "BMC", states: []string{"Scheduled", "Scheduled", "Completed"}, sent: []string{"On: "}, switched: 1,
		},
		"of a BMC that does not answer": {component: "bmc", states: []string{"503", "Running", "503", "Completed"}, sent: []string{"On: "}},
		"of a BMC that restarts":        {component: "bmc", states: []string{"Running", "lost"}, after: "2.10.0", sent: []string{"On: "}},
		"of a BMC that restarts without it": {
			component: "bmc", states: []string{"Running", "lost"}, after: "2.9.1", sent: []string{"On: "},
			failure: "the BMC no longer has the task of the update, and the version is still 2.9.1",
		},
		"of a machine whose power state is unknown": {
			component: "bios", states: []string{"Completed"}, change: powerUnknown, sent: []string{"Off: "}, switched: 2,
		},
		"of a machine that was switched on since its power state was read": {
			component: "bios", states: []string{"Completed"}, change: powerOutdated, sent: []string{"Off: "}, switched: 2,
		},
		"with a restart of a machine whose power state is unknown": {
			component: "bmc", states: []string{"Scheduled", "Completed"}, change: powerUnknown, sent: []string{"On: "}, switched: 1,
		},
		"that fails": {
			component: "bmc", states: []string{"Exception"}, sent: []string{"On: "},
			failure: "firmware update: failed: the BMC reports a failure: id: 7",
		},
		"that is another":      {component: "bmc", checksum: sum, failure: "the checksum of the firmware is "},
		"of another component": {component: "nic", failure: "component firmware install not supported: NIC"},
		"of a machine that stays on": {
			component: "bios", change: func(n *conductor.Node) { n.DisablePowerOff = true }, failure: "which the node's disable_power_off forbids",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, u, server, files := startOpenBMC(t, test.states...)
			u.after = test.after
			n := s.node(testMachine{driver: "bmclib", info: openBMCInfo(t, server)},
				func(n *conductor.Node) { n.ProvisionState = states.Manageable })
			s.setPower(n, states.PowerOn)
			if test.change != nil {
				_, err := s.UpdateNode(t.Context(), n.UUID, func(n *conductor.Node) error { test.change(n); return nil })
				require.NoError(t, err)
			}
			before := len(server.Requests())
			setting := map[string]any{"component": test.component, "url": files + "firmware.bin"}
			if test.checksum != "" {
				setting["checksum"] = test.checksum
			}
			n = s.updateFirmware(n, setting)
			switched := 0
			for _, r := range server.Requests()[before:] {
				if strings.HasSuffix(r.Path, "ComputerSystem.Reset") {
					switched++
				}
			}
			var sent []string
			for _, power := range test.sent {
				sent = append(sent, power+"content of /files/firmware.bin")
			}
			require.Equal(t, sent, u.files)
			require.Empty(t, server.Sessions())
			if test.failure != "" {
				require.Equal(t, states.CleanFail, n.ProvisionState)
				require.Contains(t, n.LastError, test.failure)
				require.NotContains(t, n.LastError, password)
				return
			}
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			require.Equal(t, states.PowerOn, n.Power)
			require.Equal(t, "On", server.Power("1"))
			require.Equal(t, test.switched, switched)
		})
	}
}

func TestABMCRestartsWithItsFirmwareBeforeTheNextUpdate(t *testing.T) {
	s, u, server, files := startOpenBMC(t, "Running", "Completed")
	u.down = 2
	n := s.node(testMachine{driver: "bmclib", info: openBMCInfo(t, server)}, func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	s.setPower(n, states.PowerOn)
	n = s.updateFirmware(n,
		map[string]any{"component": "bmc", "url": files + "bmc.bin", "wait": 30}, map[string]any{"component": "bios", "url": files + "bios.bin"})
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, []string{
		"sent", "1m0s", "Running", "1m0s", "Completed", restart, "1m0s", "refused", "1m0s", "refused", "1m0s", "30s",
		"Completed", "sent", "1m0s", "Completed", // the first one is whether a task runs
	}, u.log)
}

func TestTheVersionTellsWhetherABMCHasRestartedThatHasNotAnswered(t *testing.T) {
	for version, end := range map[string]states.State{"2.10.0": states.Manageable, "2.9.1": states.CleanFail} {
		t.Run(version, func(t *testing.T) {
			s, u, server, files := startOpenBMC(t, "Completed")
			u.loses, u.after, u.down = true, version, 2
			n := s.node(testMachine{driver: "bmclib", info: openBMCInfo(t, server)},
				func(n *conductor.Node) { n.ProvisionState = states.Manageable })
			s.setPower(n, states.PowerOn)
			n = s.updateFirmware(n, map[string]any{"component": "bmc", "url": files + "bmc.bin"})
			require.Equal(t, end, n.ProvisionState, n.LastError)
			require.Equal(t, []string{"sent", "1m0s", "Completed", restart, "1m0s", "refused", "1m0s", "refused", "1m0s"}, u.log)
		})
	}
}

// A BMC that restarts with its own firmware may refuse the credentials for a moment, and gets them once more.
func TestTheWaitsOfAFirmwareUpdateEndWithRefusedCredentials(t *testing.T) {
	const complete = "sent 1m0s Completed " + restart + " 1m0s"
	for _, test := range []struct {
		component string
		after     string
		refusals  int
		end       states.State
		log       string
	}{
		{"bios", "sent", 5, states.CleanFail, "sent 1m0s 401"},
		{"bmc", "sent", 1, states.Manageable, "sent 1m0s 401 1m0s Completed " + restart + " 1m0s"},
		{"bmc", "sent", 5, states.CleanFail, "sent 1m0s 401 1m0s 401"},
		{"bmc", restart, 1, states.Manageable, complete + " 401 1m0s"},
		{"bmc", restart, 5, states.CleanFail, complete + " 401 1m0s 401"},
	} {
		s, u, server, files := startOpenBMC(t, "Completed")
		server.AddFault(bmctest.Fault{On: "/redfish/v1/SessionService/Sessions", Method: http.MethodPost, If: func(*http.Request) bool {
			u.mu.Lock()
			defer u.mu.Unlock()
			if test.refusals == 0 || !slices.Contains(u.log, test.after) {
				return false
			}
			test.refusals--
			u.log = append(u.log, "401")
			return true
		}, Do: bmctest.Status(http.StatusUnauthorized)})
		n := s.node(testMachine{driver: "bmclib", info: openBMCInfo(t, server)},
			func(n *conductor.Node) { n.ProvisionState = states.Manageable })
		s.setPower(n, states.PowerOn)
		n = s.updateFirmware(n, map[string]any{"component": test.component, "url": files + "bmc.bin"})
		require.Equal(t, test.end, n.ProvisionState, n.LastError)
		require.Equal(t, test.end == states.CleanFail, strings.Contains(n.LastError, "credentials refused"), n.LastError)
		require.Equal(t, test.log, strings.Join(u.log, " "))
	}
}

// An update logs in for the power state, for what the provider needs, for the version, and for the upload.
func TestAWrongPasswordCostsAFirmwareUpdateOneLogin(t *testing.T) {
	for accepted := range int32(4) {
		s, _, server, files := startOpenBMC(t, "Completed")
		n := s.node(testMachine{driver: "bmclib", info: openBMCInfo(t, server)},
			func(n *conductor.Node) { n.ProvisionState = states.Manageable })
		s.setPower(n, states.PowerOn)
		var logins atomic.Int32
		server.AddFault(bmctest.Fault{On: "/redfish/v1/SessionService/Sessions", Method: http.MethodPost,
			If: func(*http.Request) bool { return logins.Add(1) > accepted }, Do: bmctest.Status(http.StatusUnauthorized)})
		n = s.updateFirmware(n, map[string]any{"component": "bmc", "url": files + "bmc.bin"})
		require.Equal(t, states.CleanFail, n.ProvisionState)
		require.Contains(t, n.LastError, "credentials refused")
		require.Equal(t, accepted+1, logins.Load())
	}
}

func TestTheAgentBootsAgainAfterAnUpdateOfFirmware(t *testing.T) {
	u := &updates{states: []string{"Completed"}}
	l := startLab(t, states.Manageable, "direct")
	u.power = func() string { return l.bmc.Power("1") }
	for _, fault := range u.faults() {
		l.bmc.AddFault(fault)
	}
	l.files = map[string][]byte{"bios.bin": []byte("the firmware")}
	_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error {
		n.Driver = "mixed"
		maps.Copy(n.DriverInfo, openBMCInfo(t, l.bmc))
		return nil
	})
	require.NoError(t, err)
	l.ask(conductor.ProvisionRequest{Target: "clean", CleanSteps: []conductor.StepRequest{
		{Interface: "firmware", Step: "update", Args: map[string]any{"settings": []any{
			map[string]any{"component": "bios", "url": l.web + "/bios.bin"},
		}}},
		{Interface: "deploy", Step: "erase_devices_metadata"},
	}})
	n := l.until(states.Manageable, states.CleanFail)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, []string{"Off: the firmware"}, u.files)
	require.Equal(t, 2, l.machine.Boots())
	require.Contains(t, l.commands(), "clean.execute_clean_step erase_devices_metadata")
}

func TestTheSettingsOfAFirmwareUpdateAreChecked(t *testing.T) {
	item := func(set ...any) []any {
		one := map[string]any{"component": "bmc", "url": "http://u:hunter2@h/f"}
		for i := 0; i < len(set); i += 2 {
			one[set[i].(string)] = set[i+1]
		}
		return []any{one}
	}
	for want, argument := range map[string]any{
		"":                                        item("wait", json.Number("60"), "checksum", strings.Repeat("0", 64)),
		"settings: want a list":                   nil,
		"settings: want a list with the":          []any{},
		"item 1: want a component and a url":      item("component", ""),
		"item 2: want a component and a url":      append(item(), "bmc"),
		`item 1: "component" is unknown or has a`: item("component", 1),
		`item 1: "url" is unknown or has a wrong`: item("url", 1),
		`item 1: "targets" is unknown`:            item("targets", "x"),
		`item 1: "checksum" is unknown or has a`:  item("checksum", "x"),
		"item 1: wait must be from 1 to 7200":     item("wait", json.Number("0")),
		"wait must be from 1 to 7200 seconds":     item("wait", json.Number("7201")),
		"1: wait must be from 1":                  item("wait", "soon"),
	} {
		err := hardware.CheckFirmwareSettings(argument)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestTheVersionTellsWhetherAnUpdateIsDoneWhoseTaskIsLost(t *testing.T) {
	for _, test := range []struct {
		before, now string
		done        bool
		failure     string
	}{
		{"1", "2", true, ""},
		{"1", "", false, ""},
		{"1", "1", false, "the version is still 1"},
		{"", "2", false, "has not reported the version before it"},
		{"", "", false, "has not reported the version before it"},
	} {
		done, err := hardware.WithoutTask(test.before, test.now)
		require.Equal(t, test.done, done, test)
		require.Equal(t, test.failure == "", err == nil, test)
		if err != nil {
			require.ErrorContains(t, err, test.failure)
		}
	}
}

// The providers asrockrack and supermicro can, too, and are left out: see bmclibProviders.
func TestProvidersOfBMCLibThatInstallFirmwareHaveTheStep(t *testing.T) {
	b := newBMCLib(t)
	for provider, want := range map[string]bool{
		"asrockrack": false, "dell": true, "intel-amt": false, "openbmc": true, "rpc": false, "supermicro": false,
	} {
		n := &conductor.Node{Driver: "bmclib", DriverInfo: map[string]any{
			"bmclib_provider": provider, "bmclib_address": "http://192.0.2.1", "bmclib_password": "p", "bmclib_username": "u",
		}}
		require.Equal(t, want || provider == "asrockrack" || provider == "supermicro", hardware.InstallsByBMCLib(n), provider)
		for work, listed := range map[states.Work]bool{states.WorkClean: want, states.WorkService: want, states.WorkDeploy: false} {
			require.Equal(t, listed, len(b.Steps(n, work)) > len(b.Steps(&conductor.Node{Driver: "bmclib"}, work)), provider)
		}
	}
}
