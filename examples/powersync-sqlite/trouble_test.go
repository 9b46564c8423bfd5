package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// machines are simulated hardware that is on, except for the machines in off. They are
// not safe for concurrent use.
type machines struct{ off map[string]bool }

func (m *machines) PowerState(_ context.Context, id string) (states.Power, error) {
	if m.off[id] {
		return states.PowerOff, nil
	}
	return states.PowerOn, nil
}

func (m *machines) SetPower(_ context.Context, id string, power states.Power) error {
	m.off[id] = power.Target() == states.PowerOff
	return nil
}

func newSyncer(t *testing.T, store powersync.Store, hardware powersync.Driver, onEvent func(powersync.Event)) *powersync.Syncer {
	t.Helper()
	syncer, err := powersync.New(powersync.Config{
		Store: store, Driver: hardware, Name: name, Poll: time.Millisecond, OnEvent: onEvent, Workers: 1,
	})
	require.NoError(t, err)
	return syncer
}

func TestACorruptRowIsReportedAndDoesNotStopTheRound(t *testing.T) {
	const n = pageSize + 20 // the last row of the first page among them
	store := open(t, filepath.Join(t.TempDir(), "fleet.db"))
	require.NoError(t, store.Add(t.Context(), fleet(n)...))
	corrupt := []string{"node-000000", "node-000007", fmt.Sprintf("node-%06d", pageSize-1), fmt.Sprintf("node-%06d", n-1)}
	for _, id := range corrupt {
		_, err := store.db.Exec(`UPDATE nodes SET maintenance = 7 WHERE uuid = ?`, id)
		require.NoError(t, err)
	}
	var bad []string
	syncer := newSyncer(t, store, &machines{}, func(e powersync.Event) {
		if e.Outcome == powersync.StoreFailed {
			require.ErrorContains(t, e.Err, fmt.Sprintf("row of node %q", e.ID))
			bad = append(bad, e.ID)
		}
	})
	report, err := syncer.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, n, report.Seen)
	require.Equal(t, len(corrupt), report.Failed)
	require.Equal(t, corrupt, bad)

	_, err = store.db.Exec(`UPDATE nodes SET maintenance = 0`)
	require.NoError(t, err)
	report, err = syncer.Sync(t.Context())
	require.NoError(t, err)
	require.Zero(t, report.Failed)
}

func TestTheProgramReportsACorruptRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fleet.db")
	store := open(t, file)
	require.NoError(t, store.Add(t.Context(), fleet(3)...))
	_, err := store.db.Exec(`UPDATE nodes SET maintenance = 7 WHERE uuid = 'node-000001'`)
	require.NoError(t, err)
	var out bytes.Buffer
	err = run(t.Context(), []string{"-db", file, "-nodes", "3", "-rounds", "2"}, &out, &out)
	require.ErrorContains(t, err, `3 times, the first: row of node "node-000001": `)
	require.Contains(t, out.String(), "1 store_failed")
}
