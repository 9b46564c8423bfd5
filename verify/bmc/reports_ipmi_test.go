// SPDX-License-Identifier: Apache-2.0

//go:build go1.25 && unix

package bmc_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// scripted replaces ipmitool by a script that tells the power state in the file "is", and runs does for other commands.
// It returns the folder, in which the file "runs" has a line for each run.
func scripted(t *testing.T, is, does string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	wrapper(t, `cd `+dir+`; echo "$*" | sed 's/.* -E //' >>runs
case "$*" in
*"chassis power status") echo Chassis Power is $(cat is) ;;
*) `+does+` ;;
esac`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "is"), []byte(is), 0o600))
	return dir
}

// runsOf returns the commands of a script's runs.
func runsOf(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestAPowerRequestOverIPMIHasSucceededIfTheMachineIsInItsState(t *testing.T) {
	const refused = "echo Set Chassis Power Control to it failed: Command not supported in present state >&2; exit 1"
	for _, test := range []struct {
		is    string
		power states.Power
		does  string
		ok    bool
	}{
		{"on", states.PowerOff, "echo off >is; " + refused, true},
		{"on", states.PowerSoftOff, "echo off >is; " + refused, true},
		{"off", states.PowerOn, "echo on >is; " + refused, true},
		{"on", states.PowerOff, "echo off >is; echo Unable to set Chassis Power Control to Down/Off >&2; exit 1", true},
		{"on", states.PowerOff, "echo off >is; echo perhaps", true},
		{"on", states.PowerOff, refused, false},
		{"on", states.PowerRebooting, refused, false},
	} {
		dir := scripted(t, test.is, test.does)
		d := newDriver(t, 0, map[string]bmc.Config{"node": answering(t)})
		err := d.SetPower(t.Context(), "node", test.power)
		require.Equal(t, test.ok, err == nil, "%+v: %v", test, err)
		sent := 0
		for _, run := range runsOf(t, dir) {
			if run != "chassis power status" {
				sent++
			}
		}
		require.Equal(t, 1, sent, "%+v", test)
	}
}

func TestASoftRebootOverIPMIIsUnsupported(t *testing.T) {
	scripted(t, "on", "exit 1")
	d := newDriver(t, 0, map[string]bmc.Config{"node": answering(t)})
	err := d.SetPower(t.Context(), "node", states.PowerSoftRebooting)
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestAWrongPasswordOverIPMIIsOneLogIn(t *testing.T) {
	dir := scripted(t, "on", "")
	wrapper(t, `cd `+dir+`; echo "$*" | sed 's/.* -E //' >>runs
echo "> RAKP 2 HMAC is invalid" >&2; echo "Error: Unable to establish IPMI v2 / RMCP+ session" >&2; exit 1`)
	config := answering(t)
	_, err := newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.Credentials)
	require.Len(t, runsOf(t, dir), 1)
	d := newDriver(t, 0, map[string]bmc.Config{"node": config})
	require.ErrorIs(t, d.SetPower(t.Context(), "node", states.PowerRebooting), verify.Credentials)
	require.Len(t, runsOf(t, dir), 2)
}

func TestABMCThatOpensNoSessionIsUnreachableAfterAMinute(t *testing.T) {
	dir := scripted(t, "on", "")
	wrapper(t, `cd `+dir+`; echo "$*" | sed 's/.* -E //' >>runs
echo "Error in open session response message : insufficient resources for $IPMITOOL_PASSWORD" >&2
echo "Error: Unable to establish IPMI v2 / RMCP+ session" >&2; exit 1`)
	for _, protocol := range []string{"ipmi", "auto"} {
		config := answering(t)
		var log bytes.Buffer
		config.Protocol, config.Timeout, config.Log = protocol, 0, slog.New(slog.NewTextHandler(&log, nil))
		config.RedfishPort = 1 // where nothing listens
		require.NoError(t, os.WriteFile(filepath.Join(dir, "runs"), nil, 0o600))
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, err := newVerifier(t, config).Verify(t.Context())
			require.ErrorIs(t, err, verify.Unreachable)
			require.Equal(t, time.Minute, time.Since(begun))
		})
		require.Len(t, runsOf(t, dir), 13)
		require.Equal(t, 12, strings.Count(log.String(), "level=WARN"), "each repetition is seen in the log")
		require.Contains(t, log.String(), `operation="power interface" protocol=ipmi host=127.0.0.1:`)
		require.Contains(t, log.String(), "insufficient resources for ***")
	}
}
