// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	require.NoError(t, storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		m := new(powersync.Memory)
		for _, r := range records {
			m.Put(r)
		}
		return m, nil
	}))
}

func TestMemoryIsFilledAndEmptied(t *testing.T) {
	m := new(powersync.Memory)
	m.Delete("a")
	m.Put(powersync.Record{})
	require.Empty(t, ids(t, m))

	m.Put(powersync.Record{ID: "a"})
	m.Put(powersync.Record{ID: "b"})
	m.Put(powersync.Record{ID: "a", Maintenance: true})
	require.Equal(t, []string{"a", "b"}, ids(t, m))
	r, err := m.Load(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, powersync.Record{ID: "a", Maintenance: true, Revision: r.Revision}, r)

	m.Delete("a")
	require.ErrorIs(t, m.Update(t.Context(), r), powersync.ErrNotFound)
	m.Put(powersync.Record{ID: "a"})
	require.ErrorIs(t, m.Update(t.Context(), r), powersync.ErrConflict, "another node of this name")
	m.Put(powersync.Record{ID: "c"})
	require.Equal(t, []string{"a", "b", "c"}, ids(t, m))
}

// ids returns the nodes of a store, sorted.
func ids(t *testing.T, s powersync.Store) []string {
	t.Helper()
	var ids []string
	for r, err := range s.Records(t.Context()) {
		require.NoError(t, err)
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// heapOfASmallRound bounds the live heap of a round, in bytes.
const heapOfASmallRound = 1 << 20

func TestARoundsMemoryDoesNotGrowWithTheFleet(t *testing.T) {
	small := heapOfRound(t, 1_000, 8)
	large := heapOfRound(t, 100_000, 8)
	require.Less(t, large-small, int64(heapOfASmallRound), "%d B with 1,000 nodes, %d B with 100,000", small, large)
}
