// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const tasksPath = "/redfish/v1/TaskService"

// updates is the update service of an OpenBMC, to which firmware is sent as multipart/form-data.
type updates struct {
	mu     sync.Mutex
	power  func() string
	states []string // of the task, one for each read; the last one stays. "503" is an answer
	files  []string // what was sent, with the machine's power state
}

func (u *updates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	answer := map[string]any{"@odata.id": r.URL.Path, "Id": "7"}
	switch task := tasksPath + "/Tasks/7"; r.URL.Path {
	case tasksPath:
		answer["Tasks"] = map[string]any{"@odata.id": tasksPath + "/Tasks"}
	case tasksPath + "/Tasks":
		members := []any{}
		if len(u.files) > 0 {
			members = append(members, map[string]any{"@odata.id": task})
		}
		answer["Members"] = members
	case task:
		state := u.states[0]
		if len(u.states) > 1 {
			u.states = u.states[1:]
		}
		if state == "503" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer["TaskState"] = state
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
		w.Header().Set("Location", task+"/Monitor")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// faults make a BMC an OpenBMC with the update service.
func (u *updates) faults() []bmctest.Fault {
	const push = "/redfish/v1/UpdateService/update-multipart"
	all := []bmctest.Fault{
		{On: "/", Do: bmctest.Handle("its page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "OpenBMC") })},
		{On: "/redfish/v1", Do: bmctest.Property("Tasks", map[string]any{"@odata.id": tasksPath})},
		{On: "/redfish/v1/UpdateService", Do: bmctest.Property("MultipartHttpPushUri", push)},
	}
	for _, path := range []string{push, tasksPath, tasksPath + "/Tasks", tasksPath + "/Tasks/7"} {
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
	b.ReadFirmwareTasksEvery(time.Millisecond)
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
	server = startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.BMCVersion, c.Faults = "2.9.1", u.faults() })
	u.power = func() string { return server.Power("1") }
	config, _, files := serveImages(t)
	b, err := hardware.NewBMCLibDialing(config, dialer(server))
	require.NoError(t, err)
	b.ReadFirmwareTasksEvery(time.Millisecond)
	return start(t, hardware.Config{}, func(c *conductor.Config) { c.Hardware["bmclib"] = b }), u, server, files
}

func (s *site) updateFirmware(n *conductor.Node, settings ...any) *conductor.Node {
	s.t.Helper()
	r := s.word("clean")
	r.CleanSteps = []conductor.StepRequest{{Interface: "firmware", Step: "update", Args: map[string]any{"settings": settings}}}
	require.NoError(s.t, s.Provision(s.t.Context(), n.UUID, r))
	return s.settle(n)
}

func TestBMCLibUpdatesFirmware(t *testing.T) {
	const sum = "d2cdd9a45d9eb1e3ad4bd4a5b6d87ea5f6a07a8ca4e9b8a4b5c7ae8b4b2ee5ad"
	for name, test := range map[string]struct {
		component string
		checksum  string
		states    []string
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
			n := s.node(machine{driver: "bmclib", info: openBMCInfo(t, server)}, func(n *conductor.Node) {
				n.ProvisionState = states.Manageable
				if test.change != nil {
					test.change(n)
				}
			})
			s.setPower(n, states.PowerOn)
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

// The provider asrockrack must be told the version that is installed.
func TestProvidersOfBMCLibThatInstallFirmwareHaveTheStep(t *testing.T) {
	b := newBMCLib(t)
	for provider, want := range map[string]bool{
		"asrockrack": false, "dell": true, "intel-amt": false, "openbmc": true, "rpc": false, "supermicro": true,
	} {
		n := &conductor.Node{Driver: "bmclib", DriverInfo: map[string]any{
			"bmclib_provider": provider, "bmclib_address": "http://192.0.2.1", "bmclib_password": "p", "bmclib_username": "u",
		}}
		require.Equal(t, want || provider == "asrockrack", hardware.InstallsByBMCLib(n), provider)
		for work, listed := range map[states.Work]bool{states.WorkClean: want, states.WorkService: want, states.WorkDeploy: false} {
			require.Equal(t, listed, len(b.Steps(n, work)) > len(b.Steps(&conductor.Node{Driver: "bmclib"}, work)), provider)
		}
	}
}
