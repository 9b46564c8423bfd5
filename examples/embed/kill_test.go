package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/states"
)

// TestNoKillLosesANotice kills the program with SIGKILL at random moments. Together the
// processes report every change: each notice begins in the state in which the previous
// one ended.
func TestNoKillLosesANotice(t *testing.T) {
	var told bytes.Buffer
	file := filepath.Join(t.TempDir(), "node.db")
	for range 30 {
		told.Write(killed(t, file))
	}
	told.WriteString(output(t, "-db", file, "-rounds", "2"))

	state, power, last, changes, again := states.Enroll, states.NoPower, int64(0), 0, 0
	for _, n := range notices(t, told.String()) {
		if n.ID <= last {
			again++
			continue
		}
		last = n.ID
		changes++
		if n.Event == "power_state_corrected" {
			require.Equal(t, power, n.Payload.From, "a change before %+v is not told of", n)
			power = n.Payload.Power
			continue
		}
		require.Equal(t, state, n.Payload.Previous, "a change before %+v is not told of", n)
		state = n.Payload.State
		if n.Payload.Power != states.NoPower {
			power = n.Payload.Power
		}
	}
	t.Logf("%d changes, %d notices came again", changes, again)
	require.Equal(t, states.Manageable, state)
	s := openStore(t, file)
	r, err := s.Load(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, states.Manageable, r.ProvisionState)
	require.Equal(t, power, r.Power)
	var integrity string
	require.NoError(t, s.QueryRow("PRAGMA integrity_check").Scan(&integrity))
	require.Equal(t, "ok", integrity)
}

// killed starts the program, kills it after a while and returns what it has written.
func killed(t *testing.T, file string) []byte {
	t.Helper()
	program := programtest.Command("-db", file, "-rounds", "1000000", "-interval", "1ms")
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	time.AfterFunc(rand.N(150*time.Millisecond), func() { _ = program.Process.Kill() })
	written, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Error(t, program.Wait(), "it was killed")
	return written
}
