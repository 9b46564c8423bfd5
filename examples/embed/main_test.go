// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"testing"

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

	err := m.Request(t.Context(), "manage", 115)
	require.ErrorIs(t, err, powersync.ErrConflict)
	require.False(t, machine.Moved(err))
	again := must(s.load(t.Context(), node, &read))
	require.NoError(t, m.SetNode(t.Context(), read, &again))
	require.NoError(t, m.Request(t.Context(), "manage", 115))
	require.NoError(t, m.Report(t.Context(), states.EventDone, ""), "the hook has set the new revision")
	r = must(s.Load(t.Context(), node))
	require.Equal(t, states.Manageable, r.ProvisionState)
	require.Equal(t, states.PowerOff, r.Power)
}
