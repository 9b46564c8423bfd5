// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// TestNoKillLosesANotice kills a process with SIGKILL after each of its first lines.
func TestNoKillLosesANotice(t *testing.T) {
	requireAllTold(t, func() time.Duration { return 0 })
}

// requireAllTold kills the program after each of its first lines, and a pause. Together the processes report every
// change: each notice begins in the state in which the previous one ended.
func requireAllTold(t *testing.T, pause func() time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "node.db")
	var told bytes.Buffer
	for lines := range 20 {
		told.Write(killed(t, file, lines, pause()))
	}
	last, state, power := 0, states.Enroll, states.NoPower
	for line := range strings.Lines(told.String()) {
		var id int
		_, err := fmt.Sscan(line, &id)
		require.NoError(t, err, line)
		if id <= last {
			continue // again
		}
		var notice struct {
			State []states.State `json:"provision_state"`
			Power []states.Power `json:"power_state"`
		}
		require.NoError(t, json.Unmarshal([]byte(strings.TrimLeft(line, "0123456789 ")), &notice), line)
		require.Equal(t, state, notice.State[0], "a change before %s is not told of", line)
		require.Equal(t, power, notice.Power[0], "a change before %s is not told of", line)
		last, state, power = id, notice.State[1], notice.Power[1]
	}
	require.Positive(t, last)
	s := open(file)
	defer s.Close()
	var untold int
	require.NoError(t, s.QueryRow(`SELECT count(*) FROM notices WHERE id > ?`, last).Scan(&untold))
	r, err := s.Load(t.Context(), node)
	require.NoError(t, err)
	if untold == 0 {
		require.Equal(t, state, r.ProvisionState)
		require.Equal(t, power, r.Power)
	}
	var integrity string
	require.NoError(t, s.QueryRow("PRAGMA integrity_check").Scan(&integrity))
	require.Equal(t, "ok", integrity)
}

// killed starts the program, kills it after a number of lines and a pause, and returns what it has written.
func killed(t *testing.T, file string, lines int, pause time.Duration) []byte {
	t.Helper()
	program := exec.Command(os.Args[0], "-db", file, "-rounds", "1000000")
	program.Env = append(os.Environ(), asProgram+"=1")
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	var written bytes.Buffer
	reader := bufio.NewReader(io.TeeReader(out, &written))
	for range lines {
		_, err = reader.ReadString('\n')
		require.NoError(t, err)
	}
	time.AfterFunc(pause, func() { _ = program.Process.Kill() })
	_, err = io.Copy(io.Discard, reader)
	require.NoError(t, err)
	require.Error(t, program.Wait(), "it was killed")
	return written.Bytes()
}
