// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
)

func TestMain(m *testing.M) {
	if !programtest.Main(main) {
		os.Exit(m.Run())
	}
}

// command returns the command as a process of its own, which is killed at the end of the test, and its standard error.
func command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	c := programtest.Command(args...)
	t.Cleanup(func() {
		if c.Process != nil {
			_ = c.Process.Kill() // fails if the process has ended, as it usually has
		}
	})
	stderr := new(bytes.Buffer)
	c.Stderr = stderr
	return c, stderr
}

// failsTo requires that the command ends with a line about its output, and returns the line.
func failsTo(t *testing.T, out io.Writer, args ...string) string {
	t.Helper()
	var problems bytes.Buffer
	require.Equal(t, program.Failed, program.Run("stategraph", args, out, &problems, run))
	return problems.String()
}

func TestAClosedPipeIsAnError(t *testing.T) {
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	defer writer.Close()
	require.Equal(t, "stategraph: write standard output: broken pipe\n", failsTo(t, writer, "-format", "dot"))
}

// The kernel sends SIGPIPE to a process whose standard output is a closed pipe.
func TestAClosedStandardOutputIsAnError(t *testing.T) {
	needs.Time(t)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	defer writer.Close()
	c, stderr := command(t, "-format", "dot")
	c.Stdout = writer
	require.Error(t, c.Run())
	require.Equal(t, "stategraph: write standard output: broken pipe\n", stderr.String())
	require.Equal(t, program.Failed, c.ProcessState.ExitCode())
}

func TestAFullDiskIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	needs.Installed(t, err == nil, "the device /dev/full")
	defer full.Close()
	for name, args := range map[string][]string{
		"standard output": {"-format", "dot"},
		"/dev/full":       {"-format", "dot", "-o", "/dev/full"},
	} {
		require.Equal(t, "stategraph: write "+name+": no space left on device\n", failsTo(t, full, args...))
	}
	require.Contains(t, failsTo(t, full, "-h"), "no space left on device")
}

// The signal arrives while the command is blocked on a reader that has read one byte.
func TestSignalsEndIt(t *testing.T) {
	needs.Time(t)
	for signal, want := range map[syscall.Signal]string{
		syscall.SIGINT:  "stategraph: stopped by signal: interrupt\n",
		syscall.SIGTERM: "stategraph: stopped by signal: terminated\n",
	} {
		dir := t.TempDir()
		pipe := filepath.Join(dir, "states.png")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		for _, file := range []string{"-", pipe} {
			c, stderr := command(t, "-format", "png", "-o", file)
			var reader io.Reader
			var err error
			if file == "-" {
				reader, err = c.StdoutPipe()
				require.NoError(t, err)
			}
			require.NoError(t, c.Start())
			if file == pipe {
				f, err := os.Open(pipe)
				require.NoError(t, err)
				defer f.Close()
				reader = f
			}
			_, err = io.ReadFull(reader, make([]byte, 1))
			require.NoError(t, err)
			require.NoError(t, c.Process.Signal(signal))
			require.Error(t, c.Wait())
			require.Equal(t, want, stderr.String())
			require.Equal(t, 128+int(signal), c.ProcessState.ExitCode())
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1, "nothing is left beside the pipe")
	}
}
