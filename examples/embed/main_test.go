// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
	"github.com/ironstate/ironstate/states"
)

// asProgram is the environment variable that makes the test binary run as the program.
const asProgram = "EMBED_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	m.Run()
}

// fleet is a store of several nodes, which storetest needs for its check.
type fleet struct{ store }

func (f fleet) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		var text []byte
		var names []string
		if err := f.QueryRowContext(ctx, `SELECT json_group_array(name) FROM nodes`).Scan(&text); err != nil {
			yield(powersync.Record{}, err)
			return
		}
		_ = json.Unmarshal(text, &names)
		for _, name := range names {
			if !yield(f.Load(ctx, name)) {
				return
			}
		}
	}
}

func TestTheRowIsAStore(t *testing.T) {
	require.NoError(t, storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		s := open(":memory:")
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		_, err := s.Exec(`DELETE FROM nodes`)
		require.NoError(t, err)
		for _, r := range records {
			record, err := json.Marshal(r)
			require.NoError(t, err)
			_, err = s.Exec(`INSERT INTO nodes (name, record) VALUES (?, ?)`, r.ID, string(record))
			require.NoError(t, err)
		}
		return fleet{s}, nil
	}))
}

// The power sync has written the row since the machine's node was read from it.
func TestASaveHookDoesNotOverwriteARowThatThePowerSyncHasChanged(t *testing.T) {
	s := open(":memory:")
	defer s.Close()
	var read machine.Node
	revision := must(s.load(t.Context(), node, &read))
	m := must(machine.New(machine.Config{
		Table: states.Latest().Table(), Node: read, Name: node, Token: &revision, Save: []machine.Hook{s.save},
	}))
	r := must(s.Load(t.Context(), node))
	r.Power = states.PowerOff
	require.NoError(t, s.Update(t.Context(), r))

	err := m.Request(t.Context(), "manage", 113)
	require.ErrorIs(t, err, powersync.ErrConflict)
	require.False(t, machine.Moved(err))
	again := must(s.load(t.Context(), node, &read))
	require.NoError(t, m.SetNode(t.Context(), read, &again))
	require.NoError(t, m.Request(t.Context(), "manage", 113))
	require.NoError(t, m.Report(t.Context(), states.EventDone, ""), "the hook has set the new revision")
	r = must(s.Load(t.Context(), node))
	require.Equal(t, states.Manageable, r.ProvisionState)
	require.Equal(t, states.PowerOff, r.Power)
}

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
