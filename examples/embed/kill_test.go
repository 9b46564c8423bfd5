// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// TestNoKillLosesANotice kills the program with SIGKILL at random moments. Together the
// processes report every change: each notice begins in the state in which the previous
// one ended.
func TestNoKillLosesANotice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.db")
	var told bytes.Buffer
	for range 20 {
		told.Write(killed(t, file))
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

// killed starts the program, kills it after a while and returns what it has written.
func killed(t *testing.T, file string) []byte {
	t.Helper()
	program := exec.Command(os.Args[0], "-db", file, "-rounds", "1000000")
	program.Env = append(os.Environ(), asProgram+"=1")
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	time.AfterFunc(rand.N(300*time.Millisecond), func() { _ = program.Process.Kill() })
	written, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Error(t, program.Wait(), "it was killed")
	return written
}
