// SPDX-License-Identifier: Apache-2.0

// Package programtest runs commands as processes in their own tests, and checks how they end when they are
// interrupted or cannot write.
package programtest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// asProgram is the environment variable that makes a test binary run as the program.
const asProgram = "IRONSTATE_AS_PROGRAM"

// Main runs main in a process that [Command] started, and reports whether it did so. A
// TestMain calls it and runs the tests only if it returns false.
func Main(main func()) bool {
	if os.Getenv(asProgram) == "" {
		return false
	}
	main()
	return true
}

// CommandFor is [Command] with a process that is killed at the end of the test.
func CommandFor(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program := Command(args...)
	t.Cleanup(func() {
		if program.Process != nil {
			_ = program.Process.Kill() // fails if the process has ended, as it usually has
		}
	})
	return program
}

// Command returns a command that runs the test binary as the program.
func Command(args ...string) *exec.Cmd {
	program := exec.Command(os.Args[0], args...)
	program.Env = append(os.Environ(), asProgram+"=1")
	return program
}

// CheckEnds checks that an interrupted program ends soon, with the right status and one
// line that gives the reason, and leaves no temporary files. With these arguments the
// program must write more than one line and run for some seconds.
func CheckEnds(t *testing.T, args ...string) {
	t.Helper()
	for name, test := range map[string]struct {
		out    func(t *testing.T) *os.File // nil: a pipe that the test reads
		signal syscall.Signal
		status int
		line   string
	}{
		"Ctrl-C":                  {signal: syscall.SIGINT, status: 130, line: "stopped by signal: interrupt"},
		"SIGTERM":                 {signal: syscall.SIGTERM, status: 143, line: "stopped by signal: terminated"},
		"output to a closed pipe": {out: closedPipe, status: 1, line: "write standard output: "},
		"output to a full disk":   {out: fullDisk, status: 1, line: "write standard output: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := Command(args...)
			program.Env = append(program.Env, "TMPDIR="+dir)
			var errOut bytes.Buffer
			program.Stderr = &errOut
			if test.out != nil {
				program.Stdout = test.out(t)
				require.NoError(t, program.Start())
			} else {
				signalAfterALine(t, program, test.signal)
			}
			requireStatus(t, test.status, program.Wait(), errOut.String())
			require.Contains(t, errOut.String(), test.line)
			require.Equal(t, 1, bytes.Count(errOut.Bytes(), []byte("\n")), "%s", &errOut)
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func requireStatus(t *testing.T, want int, err error, errOut string) {
	t.Helper()
	var ended *exec.ExitError
	require.True(t, errors.As(err, &ended), "%v: %s", err, errOut)
	require.Equal(t, want, ended.ExitCode(), errOut)
}

func closedPipe(t *testing.T) *os.File {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	t.Cleanup(func() { _ = write.Close() })
	return write
}

func fullDisk(t *testing.T) *os.File {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	needs.Installed(t, err == nil, "/dev/full")
	t.Cleanup(func() { _ = full.Close() })
	return full
}

func signalAfterALine(t *testing.T, program *exec.Cmd, signal syscall.Signal) {
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	lines := bufio.NewReader(out)
	_, err = lines.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, program.Process.Signal(signal))
	_, _ = lines.WriteTo(io.Discard) // so that the program does not wait for its reader
}
