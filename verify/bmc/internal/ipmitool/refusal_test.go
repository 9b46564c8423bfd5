// SPDX-License-Identifier: Apache-2.0

//go:build go1.25 && unix

package ipmitool

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
)

// failing is a script that fails some times with a text on its error output, and then does what its command says.
func failing(t *testing.T, times int, text string) (dir string) {
	t.Helper()
	dir = install(t, `n=$(cat $DIR/left); if [ $n -gt 0 ]; then echo $((n-1)) >$DIR/left; cat $DIR/text >&2; exit 1; fi
case "$*" in *status) echo "Chassis Power is on";; *) echo "Chassis Power Control: done";; esac`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "left"), []byte(strconv.Itoa(times)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte(text), 0o600))
	return dir
}

const loading = "Loading IANA PEN Registry...\nIANA PEN registry open failed: No such file or directory\n"

// The texts are what ipmitool -v prints.
func TestAFailureForTheMomentIsRepeatedForAMinute(t *testing.T) {
	open := func(text string) string { return text + "\n" + noSession }
	const none = "Set Session Privilege Level to ADMINISTRATOR failed" // ipmitool's text after a handshake without an answer
	const inOpen, inRAKP2 = "Error in open session response message : ", "RAKP 2 message indicates an error : "
	const lowPrivilege = none + ": Insufficient privilege level"
	for name, test := range map[string]struct {
		text  string
		kind  verify.Kind
		again bool
	}{
		"no session resources":        {open(inOpen + "insufficient resources for session"), verify.Unreachable, true},
		"none at RAKP 2":              {open(inRAKP2 + "insufficient resources for session"), verify.Unreachable, true},
		"a session that is gone":      {open(inRAKP2 + "invalid session ID"), verify.Unreachable, true},
		"no answer to RAKP 1":         {open("> Error: no response from RAKP 1 message\n" + none), verify.Unreachable, true},
		"no privilege without RAKP 2": {open("> Error: no response from RAKP 1 message\n" + lowPrivilege), verify.Unreachable, true},
		"no answer to RAKP 3":         {open("> Error: no response from RAKP 3 message\n" + none), verify.Unreachable, true},
		"no answer to open session":   {open(none), verify.Unreachable, true},
		"no answer to a command":      {"Unable to get Chassis Power Status", verify.Unreachable, true},
		"no capabilities":             {open("Get Auth Capabilities error\nError issuing Get Channel"), verify.Unreachable, true},
		"node busy":                   {"Get Chassis Power Status failed: Node busy", verify.Unreachable, true},
		"a starting BMC":              {"Get Chassis Power Status failed: BMC initialization in progress", verify.Unreachable, true},
		"out of space":                {"Get Chassis Power Status failed: Out of space", verify.Unreachable, true},
		"a timeout of the BMC":        {"Get Chassis Power Status failed: Timeout", verify.Unreachable, true},
		"busy as a session begins":    {open("Set Session Privilege Level to ADMINISTRATOR failed: Node busy"), verify.Unreachable, true},
		"another password":            {open("> RAKP 2 HMAC is invalid"), verify.Credentials, false},
		"another user":                {open(inRAKP2 + "unauthorized name"), verify.Credentials, false},
		"another suite":               {open(inOpen + "invalid authentication algorithm"), verify.Unsupported, false},
		"no IPMI 2.0":                 {open("This BMC does not support IPMI v2 / RMCP+"), verify.Unsupported, false},
		"a refused role":              {open("RAKP 4 message indicates an error : unauthorized role requested"), verify.Protocol, false},
		"a refused privilege":         {open("Set Session Privilege Level to ADMINISTRATOR failed: Invalid data field"), verify.Protocol, false},
		"a command that is not there": {"Get Chassis Power Status failed: Invalid command", verify.Protocol, false},
	} {
		for _, times := range []int{1, 3, 100} {
			t.Run(name+" "+strconv.Itoa(times), func(t *testing.T) {
				dir, tool := failing(t, times, loading+test.text), of(t, "3")
				synctest.Test(t, func(t *testing.T) {
					begun, noted := time.Now(), 0
					ctx := retry.WithNote(t.Context(), func(attempt int, err error) {
						noted++
						require.Equal(t, noted, attempt)
						require.Equal(t, verify.Unreachable, verify.KindOf(toVerify(t, err)))
					})
					err := tool.Open(ctx)
					want := times
					switch {
					case !test.again:
						want = 0
					case times == 100:
						want = 12 // in a minute
					}
					require.Equal(t, test.again && times < 100, err == nil, "%v", err)
					require.Equal(t, time.Duration(want)*5*time.Second, time.Since(begun))
					require.Equal(t, want, noted)
					require.Len(t, runs(t, dir), want+1)
					if err != nil {
						require.Equal(t, test.kind, verify.KindOf(toVerify(t, err)))
						require.ErrorContains(t, err, strings.TrimSpace(test.text))
						require.NotContains(t, err.Error(), "IANA")
					}
				})
			})
		}
	}
}

func TestARepetitionIsWithinTheTimeOfItsContext(t *testing.T) {
	dir, tool := failing(t, 100, "Get Chassis Power Status failed: Node busy"), of(t, "3")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		err := tool.Open(ctx)
		require.Equal(t, verify.Unreachable, verify.KindOf(toVerify(t, err)), "not the end of the context: %v", err)
		require.Len(t, runs(t, dir), 3)
	})
}

// ipmitool 1.8.19 gives up after 47 s if no message of RAKP has an answer, and an operation over IPMI may take 90 s.
func TestAnAttemptIsNotBegunThatWouldLastTooLong(t *testing.T) {
	require.True(t, suffices(t.Context(), time.Hour), "without a deadline")
	for _, test := range []struct {
		left, took time.Duration
		want       bool
	}{
		{90 * time.Second, 0, true},
		{43 * time.Second, 47 * time.Second, false},
		{52 * time.Second, 47 * time.Second, true},
		{52*time.Second - 1, 47 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.left)
			defer cancel()
			require.Equal(t, test.want, suffices(ctx, test.took), "%+v", test)
		})
	}
}

// A restart whose answer has timed out in the BMC may have happened.
func TestACommandThatMayHaveBeenCarriedOutIsRepeatedIfItDoesNoHarm(t *testing.T) {
	for word, want := range map[string]int{"on": 2, "off": 2, "soft": 2, "cycle": 1, "diag": 1} {
		for text, busy := range map[string]bool{"failed: Timeout": false, "failed: Node busy": true} {
			t.Run(word+" "+text, func(t *testing.T) {
				dir, tool := begun(t, "Set Chassis Power Control to "+word+" "+text)
				want := want
				if busy {
					want = 2
				}
				synctest.Test(t, func(t *testing.T) {
					_, err := tool.Run(t.Context(), "chassis", "power", word)
					require.Equal(t, want == 2, err == nil, "%v", err)
					require.Len(t, runs(t, dir), 1+want)
				})
			})
		}
	}
}

// begun is failing for a tool whose session is open: its next run fails.
func begun(t *testing.T, text string) (dir string, tool *Tool) {
	dir, tool = failing(t, 0, text), of(t, "3")
	require.NoError(t, tool.Open(t.Context()))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "left"), []byte("1"), 0o600))
	return dir, tool
}

// ipmitool begins a session anew by itself, says that RAKP 1 had no answer, and sends the command.
func TestACommandWithoutAnAnswerIsNotRepeatedAfterASecondAttemptToOpenTheSession(t *testing.T) {
	for _, word := range []string{"on", "off", "cycle", "diag"} {
		dir, tool := begun(t, "> Error: no response from RAKP 1 message\nUnable to set Chassis Power Control to "+word)
		synctest.Test(t, func(t *testing.T) {
			_, err := tool.Run(t.Context(), "chassis", "power", word)
			require.Equal(t, verify.Unreachable, verify.KindOf(toVerify(t, err)))
			require.Len(t, runs(t, dir), 2, "the log-in and the command")
		})
	}
}
