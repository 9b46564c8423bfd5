// SPDX-License-Identifier: Apache-2.0

package agenttest_test

import (
	"context"
	"math"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
)

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]agenttest.Config{
		`API is ""`:          {},
		"DiskSize is 1":      {API: "x", DiskSize: 1},
		"Heartbeat is -1ns":  {API: "x", Heartbeat: -1},
		`MACs is "x"`:        {API: "x", MACs: []string{"x"}},
		`Host is "x"`:        {API: "x", Host: "x"},
		"KeepCommands is -1": {API: "x", KeepCommands: -1},
		`Steps is "x"`:       {API: "x", Steps: []agenttest.Step{{Name: "x"}}},
		"make the disk":      {API: "x", Disk: "/proc/none/disk"},
	} {
		_, err := agenttest.New(c)
		require.ErrorContains(t, err, name)
	}
}

func TestBootDeviceDecidesWhatRuns(t *testing.T) {
	m, err := agenttest.New(agenttest.Config{API: "http://127.0.0.1:1"})
	require.NoError(t, err)
	defer m.Close()
	require.Empty(t, m.Running())
	for i, c := range []struct {
		source, image, want string
	}{
		{"Pxe", "", "agent"}, {"UefiHttp", "", "agent"}, {"Cd", "http://x/agent.iso", "agent"}, {"Usb", "http://x/agent.img", "agent"},
		{"Cd", "", "disk"}, {"Hdd", "", "disk"}, {"None", "", "disk"},
	} {
		m.Power(true, c.source, c.image)
		requireRuns(t, c.want, m)
		require.Equal(t, i+1, m.Boots())
	}
	m.Power(false, "", "")
	require.Empty(t, m.Running())
}

func TestBootsSelectsAnotherImage(t *testing.T) {
	m, err := agenttest.New(agenttest.Config{API: "http://127.0.0.1:1",
		Boots: func(_ context.Context, _, image string) (string, bool) { return "", image == "agent.iso" }})
	require.NoError(t, err)
	defer m.Close()
	m.Power(true, "Cd", "agent.iso")
	requireRuns(t, "agent", m)
	m.Power(true, "Cd", "live.iso")
	requireRuns(t, "live.iso", m)
	m.Power(true, "Hdd", "")
	requireRuns(t, "disk", m)
}

func requireRuns(t *testing.T, what string, m *agenttest.Machine) {
	t.Helper()
	for m.Running() != what {
		time.Sleep(time.Millisecond)
	}
}

func TestPowerOffEndsTheAgent(t *testing.T) {
	a := boot(t, agenttest.Config{Heartbeat: time.Millisecond})
	a.machine.Power(false, "", "")
	a.awaitEnd()
	for len(a.requests) > 0 {
		<-a.requests
	}
	a.machine.Power(true, "Pxe", "")
	for old := a.ca; a.ca == old; { // a last heartbeat of the old agent may be on its way
		a.connect()
	}
	_, list, err := a.do("GET", "/v1/commands/", "")
	require.NoError(t, err)
	require.Empty(t, list["commands"])
}

func TestAgentPowersTheMachineOff(t *testing.T) {
	off := make(chan struct{})
	var a *agent
	a = boot(t, agenttest.Config{PowerOff: func() {
		a.machine.Power(false, "", "") // as a BMC does
		close(off)
	}})
	_, answer, err := a.command("standby.power_off", map[string]any{}, "false")
	require.NoError(t, err)
	require.Equal(t, "RUNNING", answer["command_status"])
	<-off
	require.Empty(t, a.machine.Running())
	require.Equal(t, "standby.power_off", a.machine.Commands()[0].Name)
}

func TestAgentBootsTheDisk(t *testing.T) {
	a := boot(t, agenttest.Config{})
	_, _, err := a.command("standby.run_image", map[string]any{}, "false")
	require.NoError(t, err)
	requireRuns(t, "disk", a.machine)
	require.Equal(t, 2, a.machine.Boots())
}

func TestPowerOffEndsAStep(t *testing.T) {
	begun := make(chan struct{})
	ended := make(chan error, 1)
	a := boot(t,
		agenttest.Config{Steps: []agenttest.Step{{Work: "clean", Interface: "deploy", Name: "hang",
			Run: func(ctx context.Context, _ map[string]any) (any, error) {
				close(begun)
				<-ctx.Done()
				ended <- ctx.Err()
				return nil, ctx.Err()
			}}}})
	_, _, err := a.command("clean.execute_clean_step", map[string]any{"step": map[string]any{"step": "hang"}}, "false")
	require.NoError(t, err)
	<-begun
	a.machine.Power(false, "", "")
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestCloseRemovesItsDiskAlone(t *testing.T) {
	m, err := agenttest.New(agenttest.Config{API: "http://127.0.0.1:1"})
	require.NoError(t, err)
	require.FileExists(t, m.Disk)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	require.NoFileExists(t, m.Disk)
	m.Power(true, "Pxe", "") // a closed machine stays off
	require.Empty(t, m.Running())

	path := t.TempDir() + "/disk"
	m, err = agenttest.New(agenttest.Config{API: "http://127.0.0.1:1", Disk: path, DiskSize: 100 << 20})
	require.NoError(t, err)
	require.NoError(t, m.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, int64(100<<20), info.Size())
}

// The effects on a step, as a conductor sees them.
func TestFaultsOfAStep(t *testing.T) {
	for _, c := range []struct {
		do     agenttest.Effect
		status int    // of the answer to POST; 0 if there is none
		word   string // command_status
		erased bool
	}{
		{agenttest.Silent(), 0, "", false},
		{agenttest.Delay(time.Millisecond), 200, "SUCCEEDED", true},
		{agenttest.Busy(), 409, "", false},
		{agenttest.WrongToken(), 401, "", false},
		{agenttest.VersionMismatch(), 200, "CLEAN_VERSION_MISMATCH", false},
		{agenttest.Die(), 0, "", false},
		{agenttest.Lie(), 200, "SUCCEEDED", false},
		{agenttest.Fail("the disk is on fire"), 200, "FAILED", false},
		{agenttest.Huge(1000), 200, "SUCCEEDED", true},
		{agenttest.Garbage(), 0, "", false},
		{agenttest.Effect{}, 200, "SUCCEEDED", true},
	} {
		t.Run(c.do.String(), func(t *testing.T) {
			path := t.TempDir() + "/disk"
			require.NoError(t, os.WriteFile(path, agenttest.Image(4*mib, 1), 0o600))
			a := boot(t, agenttest.Config{Disk: path, Faults: []agenttest.Fault{{On: "erase_devices", Do: c.do}}})
			if c.do == agenttest.Silent() {
				a.client.Timeout = time.Second
			}
			status, answer, err := a.command("clean.execute_clean_step",
				map[string]any{"step": map[string]any{"step": "erase_devices"}, "clean_version": nil}, "true")
			if c.status == 0 {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
				require.Equal(t, c.status, status)
			}
			if c.word != "" {
				require.Equal(t, c.word, answer["command_status"])
			}
			disk, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, c.erased, disk[510] == 0)
		})
	}
}

func TestDyingAgentSendsNothingMore(t *testing.T) {
	a := boot(t, agenttest.Config{Heartbeat: time.Millisecond, Faults: []agenttest.Fault{{On: "execute_clean_step", Do: agenttest.Die()}}})
	_, answer, err := a.command("clean.execute_clean_step", map[string]any{"step": map[string]any{"step": "erase_devices"}}, "false")
	require.NoError(t, err)
	require.Equal(t, "RUNNING", answer["command_status"])
	a.awaitEnd()
	require.Equal(t, "agent", a.machine.Running(), "the machine is on")
}

func TestARequestThatAFaultSparesIsNoneOfItsTimes(t *testing.T) {
	asked := 0
	a := boot(t, agenttest.Config{Faults: []agenttest.Fault{
		{On: "commands", Times: 1, Do: agenttest.Busy(), If: func() bool { asked++; return asked > 1 }},
	}})
	for _, want := range []int{http.StatusOK, http.StatusConflict, http.StatusOK} {
		status, _, err := a.do("GET", "/v1/commands/", "")
		require.NoError(t, err)
		require.Equal(t, want, status)
	}
	require.Equal(t, 2, asked, "not once it has failed")
}

func TestAFaultAsksItsFunctionLast(t *testing.T) {
	asked := 0
	a := boot(t, agenttest.Config{KeepCommands: 2, Faults: []agenttest.Fault{
		{On: "get_clean_steps", Skip: 1, Do: agenttest.Busy(), If: func() bool { asked++; return asked == 2 }},
	}})
	var statuses []int
	for range 4 {
		status, _, err := a.command("clean.get_clean_steps", map[string]any{"node": map[string]any{}, "ports": []any{}}, "true")
		require.NoError(t, err)
		statuses = append(statuses, status)
	}
	require.Equal(t, []int{200, 200, 409, 200}, statuses)
	require.Equal(t, 3, asked, "not for the request that was skipped")
	require.Len(t, a.machine.Commands(), 2, "the last ones")
}

func TestAgentServesItsAPIAtTheHost(t *testing.T) {
	a := boot(t, agenttest.Config{Host: "127.0.0.2"})
	require.Contains(t, a.callback, "https://127.0.0.2:")
	status, _, err := a.do("GET", "/v1/status", "")
	require.NoError(t, err, "the certificate is for the host")
	require.Equal(t, 200, status)
}

func TestFaultsOfRequests(t *testing.T) {
	a := boot(t, agenttest.Config{Heartbeat: time.Millisecond})
	a.machine.AddFault(agenttest.Fault{On: "heartbeat", Do: agenttest.WrongToken()})
	for a.await("POST /v1/heartbeat/" + uuid).body["agent_token"] == token {
	}
	a.machine.ClearFaults()
	a.machine.AddFault(agenttest.Fault{On: "heartbeat", Do: agenttest.Huge(5000)})
	for len(a.await("POST /v1/heartbeat/" + uuid).body["agent_version"].(string)) != 5000 {
	}
	a.machine.ClearFaults()

	a.machine.AddFault(agenttest.Fault{On: "commands", Skip: 1, Times: 1, Do: agenttest.Busy()})
	a.machine.AddFault(agenttest.Fault{On: "commands", Skip: 1, Times: 1, Do: agenttest.Huge(5000)})
	statuses := []int{}
	for range 3 {
		status, answer, err := a.do("GET", "/v1/commands/", "")
		require.NoError(t, err)
		require.NotContains(t, answer, "padding")
		statuses = append(statuses, status)
	}
	require.Equal(t, []int{http.StatusOK, http.StatusConflict, http.StatusOK}, statuses)
}

func TestCloseEndsEveryFault(t *testing.T) {
	for _, do := range agenttest.Effects() {
		for _, on := range []string{"inspection", "lookup", "heartbeat", "commands", "get_clean_steps", ""} {
			url, requests := ironic(t, answers("1.82"))
			m, err := agenttest.New(agenttest.Config{
				API: url, Inspection: true, Heartbeat: time.Millisecond, Faults: []agenttest.Fault{{On: on, Times: math.MaxInt / 2, Do: do}},
			})
			require.NoError(t, err)
			m.Power(true, "Pxe", "")
			select {
			case <-requests:
			case <-time.After(5 * time.Millisecond):
			}
			require.NoError(t, m.Close(), "%s %s", on, do)
		}
	}
}
