// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bmc_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// wrapper replaces ipmitool by a shell script and returns the file in which the script
// may list processes.
func wrapper(t *testing.T, script string) (pids string) {
	t.Helper()
	dir := t.TempDir()
	pids = filepath.Join(dir, "pids")
	text := "#!/bin/sh\nPIDS=" + pids + "\necho $$ >>$PIDS\n" + script + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ipmitool"), []byte(text), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return pids
}

// wrappers replaces ipmitool by one shell script for each port of a BMC, so that subtests can be parallel. It returns
// the folder for the scripts. The name of a script is its port; it may list processes in that file plus ".pids".
func wrappers(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	wrapper(t, `while [ "$1" != -p ]; do shift; done; PIDS='`+dir+`'/$2.pids; echo $$ >>$PIDS; . '`+dir+`'/$2`)
	return dir
}

// answering returns the configuration of a UDP port that answers like a BMC.
func answering(t *testing.T) bmc.Config {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	go func() {
		packet := make([]byte, 512)
		for {
			n, client, err := conn.ReadFromUDP(packet)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDP(append(packet[:n], 0, 0, 0, 0), client)
		}
	}()
	return bmc.Config{
		Host: "127.0.0.1", IPMIPort: conn.LocalAddr().(*net.UDPAddr).Port, Protocol: "ipmi",
		User: user, Password: secret.New(password), Timeout: time.Hour,
	}
}

// waitForEnd waits until the processes that are listed in a file have ended.
func waitForEnd(t *testing.T, pids string) {
	t.Helper()
	list, err := os.ReadFile(pids)
	require.NoError(t, err)
	require.NotEmpty(t, strings.Fields(string(list)))
	for _, word := range strings.Fields(string(list)) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err)
		for running(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}

// running reports whether a process exists and is no zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

const fork = "sleep 1000 & echo $! >>$PIDS\n"

func TestNothingIsLeftOfAnIpmitoolThatMisbehaves(t *testing.T) {
	needs.Time(t)
	tests := map[string]struct {
		script string
		kind   verify.Kind
		text   string
	}{
		"hangs":                     {"sleep 1000", verify.Timeout, ""},
		"forks and hangs":           {fork + "wait", verify.Timeout, ""},
		"forks and ends":            {fork + "echo Chassis Power is on", verify.Failed, ""},
		"forks and fails":           {fork + "echo a reason >&2; exit 1", verify.Protocol, "a reason"},
		"ignores signals":           {"trap '' TERM INT HUP PIPE\n" + fork + "while :; do sleep 1; done", verify.Timeout, ""},
		"writes without end":        {"yes", verify.Protocol, "the program writes more than 64 KiB"},
		"complains without end":     {"yes >&2", verify.Protocol, "the program writes more than 64 KiB"},
		"leaves a child to write":   {"yes & echo $! >>$PIDS; echo Chassis Power is on", verify.Protocol, "the program writes more than 64 KiB"},
		"says nothing":              {"exit 0", verify.Protocol, "and no power state"},
		"says what it should not":   {"echo $IPMITOOL_PASSWORD; echo $IPMITOOL_PASSWORD >&2; exit 1", verify.Protocol, "***"},
		"says a state that is none": {"echo Chassis Power is $IPMITOOL_PASSWORD", verify.Unsupported, "***"},
	}
	scripts := wrappers(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, ctx := answering(t), newDeadline(t)
			script := filepath.Join(scripts, strconv.Itoa(config.IPMIPort))
			require.NoError(t, os.WriteFile(script, []byte(test.script), 0o600))
			ended := make(chan error, 1)
			go func() {
				power, err := newVerifier(t, config).Verify(ctx)
				if err == nil && power != states.PowerOn {
					err = fmt.Errorf("the power state read is %v", power)
				}
				ended <- err
			}()
			if test.kind == verify.Timeout {
				processes := 1 + strings.Count(test.script, fork)
				for list := ""; strings.Count(list, "\n") < processes; {
					time.Sleep(time.Millisecond)
					text, _ := os.ReadFile(script + ".pids")
					list = string(text)
				}
				ctx.pass()
			}
			err := <-ended
			if test.kind == verify.Failed {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, test.kind)
				require.ErrorContains(t, err, test.text)
				requireNoSecret(t, config, err)
			}
			waitForEnd(t, script+".pids")
		})
	}
}

// SECURITY.md: A password for `ipmitool` is in its environment and in no argument.
func TestThePasswordIsInNoProcessList(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skipf("no process list to look at: %v", err)
	}
	list := filepath.Join(t.TempDir(), "list")
	wrapper(t, `tr '\0' ' ' </proc/$$/cmdline >'`+list+`'
[ "$IPMITOOL_PASSWORD" = '`+password+`' ] && echo Chassis Power is on`)
	_, err := newVerifier(t, answering(t)).Verify(t.Context())
	require.NoError(t, err)
	command, err := os.ReadFile(list)
	require.NoError(t, err)
	require.Contains(t, string(command), "ipmitool -I lanplus")
	require.NotContains(t, string(command), password)
}

func TestAnIpmitoolThatIsAWrapperFindsItsPrograms(t *testing.T) {
	wrapper(t, `env | sed 's/=.*//' | grep -qx IPMITOOL_PASSWORD && echo Chassis Power is off`)
	power, err := newVerifier(t, answering(t)).Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, states.PowerOff, power)
}

// TestAutoTakesIPMIOnlyWhereRedfishIsAbsent does the same with a BMC that has IPMI.
func TestAutoStartsIpmitoolOnlyWhereRedfishIsAbsent(t *testing.T) {
	const root, sessions = "/redfish/v1/", "/redfish/v1/SessionService/Sessions"
	// redirected answers the root with a redirect, and that without its last slash with a page.
	redirected := func(status int) bmctest.Fault {
		return bmctest.Fault{On: root, Do: bmctest.Handle("redirected", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == root {
				http.Redirect(w, r, strings.TrimSuffix(root, "/"), http.StatusPermanentRedirect)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "a page")
		})}
	}
	tests := map[string]struct {
		faults []bmctest.Fault
		absent bool
		kind   verify.Kind // of the error over Redfish
	}{
		"nothing listens":         {[]bmctest.Fault{{Do: bmctest.Refuse()}}, true, verify.Unreachable},
		"no service root":         {[]bmctest.Fault{{Do: bmctest.Status(404)}}, true, verify.Unsupported},
		"a page and no Redfish":   {[]bmctest.Fault{{Do: bmctest.HTMLPage()}}, true, verify.Protocol},
		"no root without a slash": {[]bmctest.Fault{redirected(404)}, true, verify.Unsupported},
		"a page without a slash":  {[]bmctest.Fault{redirected(200)}, true, verify.Protocol},
		"an empty root":           {[]bmctest.Fault{{On: root, Do: bmctest.Status(204)}}, false, verify.Protocol},
		"no sessions": {[]bmctest.Fault{{On: sessions, Do: bmctest.Status(404)}, {On: systemsPath, Do: bmctest.Status(404)}},
			false, verify.Unsupported},
		"no system":                    {[]bmctest.Fault{{On: systemPath, Do: bmctest.Status(404)}}, false, verify.Unsupported},
		"a page in place of a system":  {[]bmctest.Fault{{On: systemPath, Do: bmctest.HTMLPage()}}, false, verify.Protocol},
		"wrong credentials":            {[]bmctest.Fault{{On: sessions, Do: bmctest.Status(401)}}, false, verify.Credentials},
		"busy":                         {[]bmctest.Fault{{Do: bmctest.Unavailable(time.Second)}}, false, verify.Unreachable},
		"no TLS":                       {[]bmctest.Fault{{Do: bmctest.PlainHTTP()}}, false, verify.Protocol},
		"a refusal after the log-in":   {[]bmctest.Fault{{On: systemsPath, Do: bmctest.Refuse()}}, false, verify.Unreachable},
		"the root is of another error": {[]bmctest.Fault{{On: root, Do: bmctest.Status(500)}}, false, verify.Protocol},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			started := wrapper(t, "echo Chassis Power is off")
			server := startRedfish(t)
			for _, fault := range test.faults {
				server.AddFault(fault)
			}
			config := configOf(server)
			config.Protocol, config.IPMIPort = "auto", answering(t).IPMIPort
			power, err := newVerifier(t, config).Verify(t.Context())
			if test.absent {
				require.NoError(t, err)
				require.Equal(t, states.PowerOff, power)
				require.Zero(t, server.Logins().Attempts)
			} else {
				require.ErrorIs(t, err, test.kind)
				require.NoFileExists(t, started)
			}
			config.Protocol = "redfish"
			_, err = newVerifier(t, config).Verify(t.Context())
			require.ErrorIs(t, err, test.kind)
		})
	}
}

func TestIpmitoolIsToldThePowerState(t *testing.T) {
	const control = "echo Chassis Power Control: done"
	for _, test := range []struct {
		is      string
		power   states.Power
		does    string
		request string // empty for none
		text    string // of the error
	}{
		{"on", states.PowerOn, control, "", ""},
		{"off", states.PowerOff, control, "", ""},
		{"off", states.PowerSoftOff, control, "", ""},
		{"off", states.PowerOn, control, "on", ""},
		{"on", states.PowerOff, control, "off", ""},
		{"on", states.PowerSoftOff, control, "soft", ""},
		{"on", states.PowerRebooting, control, "cycle", ""},
		{"off", states.PowerRebooting, control, "on", ""},
		{"on", states.PowerOff, "echo perhaps", "off", `ipmitool says "perhaps\n", and not that the power is set`},
		{"on", states.PowerOff, "echo a reason >&2; exit 1", "off", "a reason"},
	} {
		dir := t.TempDir()
		wrapper(t, `case "$*" in
*"chassis power status") echo Chassis Power is $(cat `+dir+`/is) ;;
*) echo "$*" | sed 's/.* power //' >>`+dir+"/requests; "+test.does+` ;;
esac`)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "is"), []byte(test.is), 0o600))
		d := newDriver(t, 0, map[string]bmc.Config{"node": answering(t)})
		err := d.SetPower(t.Context(), "node", test.power)
		if test.text == "" {
			require.NoError(t, err, "%v", test)
		} else {
			require.ErrorContains(t, err, test.text)
		}
		got, _ := os.ReadFile(filepath.Join(dir, "requests"))
		require.Equal(t, test.request, strings.TrimSpace(string(got)), "%v", test)
	}
}
