//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// A child is the command in a separate process.
type child struct {
	*exec.Cmd
	out, err bytes.Buffer
}

func newChild(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{Cmd: programtest.CommandFor(t, args...)}
	temporary := t.TempDir()
	c.Env = append(c.Env, "BMC_PASSWORD="+bmctest.DefaultPassword, "TMPDIR="+temporary)
	t.Cleanup(func() {
		left, err := os.ReadDir(temporary)
		require.NoError(t, err)
		require.Empty(t, left, "files left behind")
	})
	c.Stdout, c.Stderr = &c.out, &c.err
	return c
}

// realBMC starts a BMC and returns the flags for it.
func realBMC(t *testing.T, faults ...bmctest.Fault) (*bmctest.Redfish, []string) {
	t.Helper()
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{Faults: faults})
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, server.CAPEM, 0o600))
	return server, []string{"-bmc", server.Addr, "-user", bmctest.DefaultUser, "-ca", ca}
}

func TestOutputThatFailsIsStatus1AndTheBMCIsLoggedOutOf(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	needs.Installed(t, err == nil, "the device /dev/full")
	defer full.Close()
	reader, closed, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	defer closed.Close()
	server, real := realBMC(t)

	for reason, stdout := range map[string]*os.File{"no space left on device": full, "broken pipe": closed} {
		for _, args := range [][]string{nil, real, {"-h"}} {
			c := newChild(t, args...)
			c.Stdout = stdout
			require.Error(t, c.Run())
			require.Equal(t, "enroll: write standard output: "+reason+"\n", c.err.String())
			require.Equal(t, exitFailed, c.ProcessState.ExitCode())
		}
	}
	require.Empty(t, server.Sessions())
}

// The signal arrives once the command has logged in and the BMC has stopped answering.
func TestSignalsEndItAndTheBMCIsLoggedOutOf(t *testing.T) {
	for signal, want := range map[syscall.Signal]string{
		syscall.SIGINT:  "enroll: stopped by signal: interrupt\n",
		syscall.SIGTERM: "enroll: stopped by signal: terminated\n",
	} {
		server, args := realBMC(t, bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.HangAfter(120)})
		c := newChild(t, args...)
		require.NoError(t, c.Start())
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(server.Requests(), func(r bmctest.Request) bool { return r.Path == "/redfish/v1/Systems/1" })
		}, time.Minute, time.Millisecond)
		require.NotEmpty(t, server.Sessions())
		require.NoError(t, c.Process.Signal(signal))
		require.Error(t, c.Wait())
		require.Equal(t, want, c.err.String())
		require.Equal(t, 128+int(signal), c.ProcessState.ExitCode())
		require.Contains(t, c.out.String(), "verifying --fail--> enroll")
		require.Empty(t, server.Sessions())
	}
}

// An ipmitool that never answers ends with the command.
func TestASignalEndsIPMIToolToo(t *testing.T) {
	needs.Programs(t, "ipmi_sim")
	server, err := bmctest.NewIPMI(t.Context(), bmctest.IPMIConfig{})
	require.NoError(t, err)
	defer server.Close()
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	script := "#!/bin/sh\necho $$ >" + pid + ".new\nmv " + pid + ".new " + pid + "\nexec sleep 600\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ipmitool"), []byte(script), 0o700))
	c := newChild(t, "-bmc", server.Addr, "-user", bmctest.DefaultUser, "-protocol", "ipmi")
	c.Env = append(c.Env, "PATH="+dir+":"+os.Getenv("PATH"))
	require.NoError(t, c.Start())

	var text []byte
	require.Eventually(t, func() (found bool) {
		var err error
		text, err = os.ReadFile(pid)
		return err == nil
	}, time.Minute, time.Millisecond)
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(number, 0))

	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Error(t, c.Wait())
	require.Equal(t, 128+int(syscall.SIGTERM), c.ProcessState.ExitCode())
	require.ErrorIs(t, syscall.Kill(number, 0), syscall.ESRCH)
}
