// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bmc_test

import (
	"fmt"
	"net"
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
		User: user, Password: secret.New(password), Timeout: 2 * time.Second,
	}
}

// requireEnded checks that the processes that are listed in a file have ended.
func requireEnded(t *testing.T, pids string) {
	t.Helper()
	list, err := os.ReadFile(pids)
	require.NoError(t, err)
	require.NotEmpty(t, strings.Fields(string(list)))
	for _, word := range strings.Fields(string(list)) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return !running(pid) }, 10*time.Second, time.Millisecond, "process %d is left", pid)
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
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pids := wrapper(t, test.script)
			config := answering(t)
			ended := make(chan error, 1)
			go func() {
				power, err := newVerifier(t, config).Verify(t.Context())
				if err == nil && power != states.PowerOn {
					err = fmt.Errorf("the power state read is %v", power)
				}
				ended <- err
			}()
			select {
			case err := <-ended:
				if test.kind == verify.Failed {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, test.kind)
					require.ErrorContains(t, err, test.text)
					requireNoSecret(t, config, err)
				}
			case <-time.After(config.Timeout + 10*time.Second):
				t.Fatal("the timeout does not hold")
			}
			requireEnded(t, pids)
		})
	}
}

func TestAnIpmitoolThatIsAWrapperFindsItsPrograms(t *testing.T) {
	wrapper(t, `env | sed 's/=.*//' | grep -qx IPMITOOL_PASSWORD && echo Chassis Power is off`)
	power, err := newVerifier(t, answering(t)).Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, states.PowerOff, power)
}
