// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
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
