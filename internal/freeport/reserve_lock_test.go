// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package freeport

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// lockedFile is the environment variable that makes the test binary lock the port 1 in a file until its standard input
// ends.
const lockedFile = "IRONSTATE_TEST_LOCKED_FILE"

func TestMain(m *testing.M) {
	path := os.Getenv(lockedFile)
	if path == "" {
		os.Exit(m.Run())
	}
	if lock(open(path), 1) {
		_, _ = os.Stdout.WriteString("locked\n")
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestAPortIsReservedForOneProcess(t *testing.T) {
	needs.Time(t)
	path := filepath.Join(t.TempDir(), "ports")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), lockedFile+"="+path)
	stdin, err := other.StdinPipe()
	require.NoError(t, err)
	stdout, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)

	ours := open(path)
	require.False(t, lock(ours, 1))
	require.True(t, lock(ours, 2))
	require.NoError(t, stdin.Close())
	require.NoError(t, other.Wait())
	require.True(t, lock(ours, 1))
}
