// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ipmitool

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/secret"
)

// Texts that ipmitool writes to its error output.
const (
	noSession     = "Error: Unable to establish IPMI v2 / RMCP+ session"
	noSuite       = "Error in open session response message : no matching authentication payload\n\n" + noSession
	wrongPassword = "> RAKP 2 HMAC is invalid\n" + noSession
	foreign       = "Unsupported cipher suite ID : 99\n\n" + noSession
)

// install replaces ipmitool by a shell script, which may use the folder $DIR. The script lists
// its arguments in a file of the folder, a line for each run.
func install(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text := "#!/bin/sh\nDIR=" + dir + "\necho \"$@\" >>$DIR/runs\n" + script + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ipmitool"), []byte(text), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

// runs returns the arguments of each run of an installed script.
func runs(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// of returns the Tool of a BMC that answers probes.
func of(t *testing.T, suite string) *Tool {
	t.Helper()
	bmc := listen(t, func(_ int, request []byte) [][]byte { return [][]byte{append(request, 0)} })
	host, port, err := net.SplitHostPort(bmc.address())
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	return &Tool{Host: host, Port: number, User: "admin", Password: secret.New("a password"), CipherSuite: suite, ProbeWait: time.Hour}
}

// suiteOnly is a script for a BMC that refuses each cipher suite but one.
func suiteOnly(suite, refusal string) string {
	return `case "$*" in *" -C ` + suite + ` "*) echo "Chassis Power is on";; *) echo "` + refusal + `" >&2; exit 1;; esac`
}

func TestTheFirstCipherSuiteThatTheBMCAcceptsIsUsed(t *testing.T) {
	tests := map[string]struct {
		script, suite string
		kind          verify.Kind
		text          string
		tried         []string // suites
	}{
		"the usual one":    {"echo Chassis Power is on", "", verify.Failed, "", []string{"3"}},
		"the stronger one": {suiteOnly("17", noSuite), "", verify.Failed, "", []string{"3", "17"}},
		"after a refused role": {suiteOnly("17", "Error in open session response message : invalid role\n\n"+noSession), "", verify.Failed, "",
			[]string{"3", "17"}},
		"the caller's": {"echo Chassis Power is on", "8", verify.Failed, "", []string{"8"}},
		"none": {suiteOnly("8", noSuite), "", verify.Unsupported, "no matching authentication payload",
			[]string{"3", "17"}},
		"not the caller's":            {suiteOnly("17", noSuite), "3", verify.Unsupported, "no matching authentication payload", []string{"3"}},
		"the caller's, which is none": {suiteOnly("17", foreign), "99", verify.Unsupported, "Unsupported cipher suite", []string{"99"}},
		"after a wrong password":      {suiteOnly("17", wrongPassword), "", verify.Credentials, "Unable to establish", []string{"3"}},
		"after another failure":       {suiteOnly("17", "Invalid channel"), "", verify.Protocol, "Invalid channel", []string{"3"}},
		"after a strange answer": {"echo Power is on", "", verify.Protocol, `ipmitool says "Power is on\n", and no power state`,
			[]string{"3"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, tool := install(t, test.script), of(t, test.suite)
			err := tool.Open(t.Context())
			if test.kind == verify.Failed {
				require.NoError(t, err)
				word, err := tool.PowerState(t.Context())
				require.NoError(t, err)
				require.Equal(t, "on", word)
				test.tried = append(test.tried, test.tried[len(test.tried)-1])
			} else {
				require.Equal(t, test.kind, verify.KindOf(toVerify(t, err)))
				require.ErrorContains(t, err, test.text)
			}
			var want []string
			for _, suite := range test.tried {
				want = append(want, "-I lanplus -H 127.0.0.1 -p "+strconv.Itoa(tool.Port)+" -U admin -C "+suite+" -N 5 -v -E chassis power status")
			}
			require.Equal(t, want, runs(t, dir))
		})
	}
}

func TestAProgramThatIsNotInstalledIsAMisconfiguration(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := of(t, "").Open(t.Context())
	require.Equal(t, verify.Misconfigured, verify.KindOf(toVerify(t, err)))
	require.EqualError(t, err, "the program ipmitool is not installed: IPMI needs it (Debian package ipmitool)")
}

func TestABMCThatIsSilentGetsNoCredentials(t *testing.T) {
	dir, tool := install(t, "echo Chassis Power is on"), of(t, "")
	tool.Port = 1 // nothing listens there
	require.Equal(t, verify.Unreachable, verify.KindOf(toVerify(t, tool.Open(t.Context()))))
	require.NoFileExists(t, filepath.Join(dir, "runs"))
}

func TestABMCThatFallsSilentHasNotRefusedTheCredentials(t *testing.T) {
	install(t, `case "$*" in *status) echo "Chassis Power is on";; *) echo "`+noSession+`" >&2; exit 1;; esac`)
	tool := of(t, "")
	require.NoError(t, tool.Open(t.Context()))
	tool.Port = 1 // nothing listens there
	_, err := tool.Run(t.Context(), "chassis", "power", "on")
	require.Equal(t, verify.Unreachable, verify.KindOf(toVerify(t, err)))
}

func TestARunNeedsThePermissionOfItsContext(t *testing.T) {
	dir, tool := install(t, "echo Chassis Power is on"), of(t, "")
	require.NoError(t, tool.Open(t.Context()))
	refused := errors.New("the reservation is lost")
	ctx := fence.With(t.Context(), func(context.Context) error { return refused })
	_, err := tool.Run(ctx, "chassis", "power", "on")
	require.Equal(t, refused, err)
	require.Len(t, runs(t, dir), 1)
}

func TestAProgramGetsThePasswordAndThePathAlone(t *testing.T) {
	t.Setenv("SECRET_OF_ANOTHER", "hidden")
	dir, tool := install(t, `env | sort | grep -Ev '^(PWD|SHLVL|OLDPWD|_)=' >$DIR/env; echo Chassis Power is on`), of(t, "")
	require.NoError(t, tool.Open(t.Context()))
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	require.NoError(t, err)
	require.Equal(t, "IPMITOOL_PASSWORD=a password\nPATH="+os.Getenv("PATH")+"\n", string(env))
	require.NotContains(t, strings.Join(runs(t, dir), " "), "a password")
}

// waitForOutput sets how long the output of a program is awaited that has ended before its child.
func waitForOutput(t *testing.T, delay time.Duration) {
	usual := outputDelay
	outputDelay = delay
	t.Cleanup(func() { outputDelay = usual })
}

func TestTheOutputIsBounded(t *testing.T) {
	waitForOutput(t, time.Hour)
	exactly, more := "head -c "+strconv.Itoa(maxOutput)+" /dev/zero", "head -c "+strconv.Itoa(maxOutput+1)+" /dev/zero"
	for name, test := range map[string]struct {
		script string
		fails  bool
	}{
		"as much as permitted":      {exactly, false},
		"as much in two parts":      {"head -c 1 /dev/zero; sleep 0.1; head -c " + strconv.Itoa(maxOutput-1) + " /dev/zero", false},
		"more than permitted":       {more, true},
		"more in two parts":         {exactly + "; sleep 0.1; head -c 1 /dev/zero", true},
		"more complaints":           {more + " >&2", true},
		"without end":               {"yes", true},
		"a child that does not end": {"yes & echo Chassis Power is on", true},
	} {
		t.Run(name, func(t *testing.T) {
			install(t, `case "$*" in *status) echo "Chassis Power is on"; exit;; esac; `+test.script)
			tool := of(t, "")
			require.NoError(t, tool.Open(t.Context()))
			said, err := tool.Run(t.Context(), "mc", "info")
			if test.fails {
				require.Equal(t, verify.Protocol, verify.KindOf(toVerify(t, err)))
				require.EqualError(t, err, "the program writes more than 64 KiB")
				return
			}
			require.NoError(t, err)
			require.Len(t, said, maxOutput)
		})
	}
}

func TestAFailureQuotesBothOutputs(t *testing.T) {
	install(t, `case "$*" in *status) echo "Chassis Power is on"; exit;; esac; echo said; echo complained >&2; exit 3`)
	tool := of(t, "")
	require.NoError(t, tool.Open(t.Context()))
	_, err := tool.Run(t.Context(), "mc", "info")
	require.EqualError(t, err, "complained\nsaid\n: exit status 3")
	require.Equal(t, verify.Protocol, verify.KindOf(toVerify(t, err)))
}

// begins waits until a script has listed n processes in the file pids, and returns them.
func begins(dir string, n int) (pids []int) {
	for len(pids) < n {
		time.Sleep(time.Millisecond)
		text, _ := os.ReadFile(filepath.Join(dir, "pids"))
		pids = nil
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// waitForEnd waits until processes have ended, which a zombie has too.
func waitForEnd(pids []int) {
	for _, pid := range pids {
		for syscall.Kill(pid, 0) == nil {
			if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func TestNoProcessIsLeftWhenTheContextEnds(t *testing.T) {
	for name, script := range map[string]string{
		"one that hangs":          "echo $$ $$ >>$DIR/pids; sleep 1000",
		"one with a child":        "sleep 1000 & echo $$ $! >>$DIR/pids; wait",
		"one that ignores a TERM": "trap '' TERM INT HUP; sleep 1000 & echo $$ $! >>$DIR/pids; while :; do wait; done",
	} {
		t.Run(name, func(t *testing.T) {
			dir := install(t, `case "$*" in *status) echo "Chassis Power is on"; exit;; esac; `+script)
			tool := of(t, "")
			require.NoError(t, tool.Open(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := tool.Run(ctx, "mc", "info")
				ended <- err
			}()
			pids := begins(dir, 2)
			cancel()
			require.ErrorIs(t, <-ended, context.Canceled)
			waitForEnd(pids)
		})
	}
}

func TestAProgramWhoseChildHoldsTheOutputOpenHasSucceeded(t *testing.T) {
	waitForOutput(t, time.Millisecond)
	dir := install(t, `sleep 1000 & echo $! >>$DIR/pids`)
	_, err := runProgram(t.Context(), filepath.Join(dir, "ipmitool"), nil, "A=b")
	require.NoError(t, err)
	waitForEnd(begins(dir, 1))
}

// The output has to be read within the delay, which the test waits for.
func TestAChildThatOutlivesTheProgramIsKilled(t *testing.T) {
	needs.Time(t)
	waitForOutput(t, 10*time.Second)
	dir := install(t, `sleep 1000 & echo $! >>$DIR/pids; echo Chassis Power is on`)
	tool := of(t, "")
	require.NoError(t, tool.Open(t.Context()), "the child holds the output open")
	waitForEnd(begins(dir, 1))
}
