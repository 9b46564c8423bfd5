// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestTheExitStatusAndTheLineGiveTheReason(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		status int
		line   string
	}{
		"well":      {nil, Good, ""},
		"with help": {flag.ErrHelp, Good, ""},
		"failing":   {errors.New("no"), Failed, "p: no\n"},
		"misused":   {Usagef("-x is %d", 1), Usage, "p: -x is 1\n"},
	} {
		var errOut bytes.Buffer
		status := Run("p", nil, io.Discard, &errOut, func(context.Context, []string, io.Writer, io.Writer) error {
			return test.err
		})
		require.Equal(t, test.status, status, name)
		require.Equal(t, test.line, errOut.String(), name)
	}
}

func TestTheProgramCleansUpAfterASignal(t *testing.T) {
	statuses := map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129}
	if signal.Ignored(syscall.SIGHUP) { // the tests run below nohup
		delete(statuses, syscall.SIGHUP)
	}
	for signal, status := range statuses {
		var errOut bytes.Buffer
		clean := false
		require.Equal(t, status, run(untilSignal(), "p", nil, io.Discard, &errOut, func(ctx context.Context, _ []string, _, _ io.Writer) error {
			defer func() { clean = true }()
			require.NoError(t, syscall.Kill(os.Getpid(), signal))
			<-ctx.Done()
			return ctx.Err()
		}))
		require.True(t, clean)
		require.Equal(t, "p: stopped by signal: "+signal.String()+"\n", errOut.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputThatCannotBeWrittenEndsTheProgram(t *testing.T) {
	var errOut bytes.Buffer
	require.Equal(t, Failed, Run("p", nil, full{}, &errOut, func(ctx context.Context, _ []string, out, _ io.Writer) error {
		_, err := io.WriteString(out, "x")
		require.ErrorIs(t, err, syscall.ENOSPC)
		<-ctx.Done()
		_, err = io.WriteString(out, "y")
		require.Error(t, err)
		return nil
	}))
	require.Equal(t, "p: write standard output: no space left on device\n", errOut.String())
}

func TestFlagsAreParsed(t *testing.T) {
	for args, want := range map[string]string{
		"":     "",
		"-n 3": "",
		"-n x": `invalid value "x" for flag -n: parse error, see -h`,
		"-m":   "flag provided but not defined: -m, see -h",
		"now":  `unexpected argument "now": want flags alone, see -h`,
		"-n 9": "-n is 9: want 0 to 5",
	} {
		flags := flag.NewFlagSet("p", flag.ContinueOnError)
		n := flags.Int("n", 0, "")
		err := Parse(flags, strings.Fields(args), io.Discard)
		if err == nil {
			err = Between("n", *n, 0, 5)
		}
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrUsage)
		require.EqualError(t, err, want)
	}
	var help bytes.Buffer
	require.ErrorIs(t, Parse(flag.NewFlagSet("p", flag.ContinueOnError), []string{"-h"}, &help), flag.ErrHelp)
	require.Contains(t, help.String(), "usage of p:\n  -version\n")
}

func TestTheVersionNamesTheBuild(t *testing.T) {
	program := func(_ context.Context, args []string, _, errOut io.Writer) error {
		return Parse(flag.NewFlagSet("p", flag.ContinueOnError), args, errOut)
	}
	var out, errOut bytes.Buffer
	require.Equal(t, Good, Run("p", []string{"-version"}, &out, &errOut, program))
	require.Regexp(t, `^p .*, go1\.\d+.*\n$`, out.String())
	require.Empty(t, errOut.String())

	build := &debug.BuildInfo{GoVersion: "go1.26.8"}
	build.Main.Version = "v0.1.0"
	require.Equal(t, "v0.1.0, go1.26.8", version(build, true))
	build.Settings = []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0e2e4f3b"},
		{Key: "vcs.modified", Value: "false"}}
	require.Equal(t, "v0.1.0, commit 0e2e4f3b, go1.26.8", version(build, true))
	build.Settings[2].Value = "true"
	require.Equal(t, "v0.1.0, commit 0e2e4f3b with changes, go1.26.8", version(build, true))
	require.Equal(t, "of an unknown version", version(nil, false))
}
