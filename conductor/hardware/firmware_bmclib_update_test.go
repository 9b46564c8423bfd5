// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	tasksPath   = "/redfish/v1/TaskService"
	managerPath = "/redfish/v1/Managers/bmc"
	restart     = "GracefulRestart"
)

// updates is the update service of an OpenBMC or an iDRAC, to which firmware is sent as multipart/form-data.
type updates struct {
	mu     sync.Mutex
	power  func() string
	states []string // of the task, one for each read; the last one stays. "503" is an answer; when "lost", there is no task
	files  []string // what was sent, with the machine's power state
	log    []string // what has happened
	down   int      // sessions that are refused after a reset of the BMC
	after  string   // the version once the task or the answer to a reset is lost
	loses  bool     // whether the answer to a reset is lost

	version atomic.Value // of the BMC's firmware
}

// note adds to the log.
func (u *updates) note(event string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.log = append(u.log, event)
}

// pause notes a wait, and does not wait.
func (u *updates) pause(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		u.note(d.String())
	}
	return ctx.Err() == nil
}

func (u *updates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	answer := map[string]any{"@odata.id": r.URL.Path, "Id": "7"}
	switch task := tasksPath + "/Tasks/7"; r.URL.Path {
	case "/":
		if slices.Contains(u.log, restart) && u.down > 0 {
			u.down--
			u.log = append(u.log, "refused")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "OpenBMC")
		return
	case managerPath + "/Actions/Manager.Reset":
		var reset struct{ ResetType string }
		if err := json.NewDecoder(r.Body).Decode(&reset); err != nil {
			panic(err)
		}
		u.log = append(u.log, reset.ResetType)
		if u.loses {
			u.version.Store(u.after)
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNoContent)
		return
	case tasksPath:
		answer["Tasks"] = map[string]any{"@odata.id": tasksPath + "/Tasks"}
	case tasksPath + "/Tasks":
		members := []any{}
		if len(u.files) > 0 {
			if u.states[0] == "lost" {
				u.version.Store(u.after)
			} else {
				members = append(members, map[string]any{"@odata.id": task})
			}
		}
		answer["Members"] = members
	case task:
		state := u.states[0]
		if len(u.states) > 1 {
			u.states = u.states[1:]
		}
		u.log = append(u.log, state)
		if state == "503" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer["TaskState"] = state
		answer["Oem"] = map[string]any{"Dell": map[string]any{"JobState": state, "JobType": "FirmwareUpdate", "Description": "Job"}}
		answer["Messages"] = []any{map[string]any{"Message": "The image of " + password + " is " + state}}
	default:
		file, _, err := r.FormFile("UpdateFile")
		if err != nil {
			panic(err)
		}
		content, err := io.ReadAll(file)
		if err != nil {
			panic(err)
		}
		u.files = append(u.files, u.power()+": "+string(content))
		u.log = append(u.log, "sent")
		w.Header().Set("Location", task+"/Monitor")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// manager adds to the BMC's Manager its version and, as OpenBMC has it, its only reset.
func (u *updates) manager(_ http.Header, body []byte) []byte {
	var manager map[string]any
	if err := json.Unmarshal(body, &manager); err != nil {
		panic(err)
	}
	manager["FirmwareVersion"] = u.version.Load()
	manager["Actions"] = map[string]any{"#Manager.Reset": map[string]any{
		"target": managerPath + "/Actions/Manager.Reset", "ResetType@Redfish.AllowableValues": []string{restart},
	}}
	body, err := json.Marshal(manager)
	if err != nil {
		panic(err)
	}
	return body
}

// faults make a BMC an OpenBMC with the update service.
func (u *updates) faults() []bmctest.Fault {
	const push = "/redfish/v1/UpdateService/update-multipart"
	u.version.Store("2.9.1")
	all := []bmctest.Fault{
		{On: "/redfish/v1", Do: bmctest.Property("Tasks", map[string]any{"@odata.id": tasksPath})},
		{On: "/redfish/v1/UpdateService", Do: bmctest.Property("MultipartHttpPushUri", push)},
		{On: managerPath, Method: http.MethodGet, Do: bmctest.Change("the manager", u.manager)},
	}
	for _, path := range []string{
		"/", push, managerPath + "/Actions/Manager.Reset", tasksPath, tasksPath + "/Tasks", tasksPath + "/Tasks/7",
	} {
		all = append(all, bmctest.Fault{On: path, Do: bmctest.Handle("the update service", u.ServeHTTP)})
	}
	return all
}

// dialer dials one BMC, since the providers of bmclib know no port but 443.
func dialer(server *bmctest.Redfish) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Addr)
	}
}

// newMixed returns a type with the interfaces of redfish, except for the firmware interface, which is bmclib's.
func newMixed(t *testing.T, config hardware.Config, server *bmctest.Redfish) *hardware.Type {
	t.Helper()
	interfaces, err := hardware.Redfish(config)
	require.NoError(t, err)
	interfaces.Firmware = hardware.BMCLibDialing(config, dialer(server)).Firmware
	b, err := hardware.New(config, interfaces)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	b.PauseFirmwareUpdates(func(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil })
	return b
}

// openBMCInfo returns the driver_info of a BMC that the provider openbmc manages.
func openBMCInfo(t *testing.T, server *bmctest.Redfish) map[string]any {
	return map[string]any{
		"bmclib_provider": "openbmc", "bmclib_address": server.Host, "bmclib_verify_ca": redfishInfo(t, server)["redfish_verify_ca"],
		"bmclib_username": user, "bmclib_password": password,
	}
}

// startOpenBMC starts an OpenBMC, and a conductor with the type bmclib.
func startOpenBMC(t *testing.T, taskStates ...string) (s *site, u *updates, server *bmctest.Redfish, files string) {
	t.Helper()
	u = &updates{states: taskStates}
	server = startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = u.faults() })
	u.power = func() string { return server.Power("1") }
	config, _, files := serveImages(t)
	b, err := hardware.NewBMCLibDialing(config, dialer(server))
	require.NoError(t, err)
	b.PauseFirmwareUpdates(u.pause)
	return start(t, hardware.Config{}, func(c *conductor.Config) { c.Hardware["bmclib"] = b }), u, server, files
}

func (s *site) updateFirmware(n *conductor.Node, settings ...any) *conductor.Node {
	s.t.Helper()
	r := s.word("clean")
	r.CleanSteps = []conductor.StepRequest{{Interface: "firmware", Step: "update", Args: map[string]any{"settings": settings}}}
	require.NoError(s.t, s.Provision(s.t.Context(), n.UUID, r))
	return s.settle(n)
}

func powerOutdated(n *conductor.Node) { n.Power = states.PowerOff }

func powerUnknown(n *conductor.Node) { n.Power = states.NoPower }

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
