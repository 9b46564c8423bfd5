// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
)

const kind conductor.Kind = "nodes"

func create(t *testing.T, s conductor.Store, id string, keys ...string) conductor.Record {
	t.Helper()
	r := conductor.Record{Kind: kind, ID: id, Keys: keys, Value: []byte("{}")}
	revision, err := s.Create(t.Context(), r)
	require.NoError(t, err)
	r.Revision = revision
	return r
}

// watch returns a function that waits for the next change of a watch of the nodes.
func watch(t *testing.T, s conductor.Store) (next func() conductor.Change) {
	t.Helper()
	pull, stop := iter.Pull2(s.Watch(t.Context(), kind))
	t.Cleanup(stop)
	return func() conductor.Change {
		t.Helper()
		change, err, ok := pull()
		require.True(t, ok)
		require.NoError(t, err)
		return change
	}
}

func TestMemoryKeepsTheStoresPromises(t *testing.T) {
	require.NoError(t, storetest.Check(&conductor.Memory{}))
}

func TestAWatcherThatIsSlowGetsTheLastOfSeveralChanges(t *testing.T) {
	var m conductor.Memory
	a := create(t, &m, "a")
	next := watch(t, &m)
	require.Equal(t, a, next().Record)
	require.True(t, next().Synced)

	var err error
	for range 1000 {
		a.Revision, err = m.Update(t.Context(), a)
		require.NoError(t, err)
		passing := create(t, &m, fmt.Sprint("passing-", a.Revision), "name=passing")
		_, err = m.Delete(t.Context(), kind, passing.ID, passing.Revision)
		require.NoError(t, err)
	}
	create(t, &m, "b")
	for change := next(); change.Record.ID != "b"; change = next() {
		if change.Record.ID != "a" {
			require.True(t, change.Deleted, "of a record that came and went meanwhile it hears the end alone")
			continue
		}
		require.Equal(t, a, change.Record)
		a.ID = "" // it comes once
	}
	a.ID = "a"

	_, err = m.Delete(t.Context(), kind, a.ID, a.Revision)
	require.NoError(t, err)
	a = create(t, &m, "a")
	require.Equal(t, a, next().Record, "a record that it knows and that came back is a change to it")
}

func TestMemoryDoesNothingOnceTheContextHasEnded(t *testing.T) {
	var m conductor.Memory
	a := create(t, &m, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := m.Get(ctx, kind, "a")
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.List(ctx, kind, "", 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.Create(ctx, conductor.Record{Kind: kind, ID: "b"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.Update(ctx, a)
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.Delete(ctx, kind, a.ID, a.Revision)
	require.ErrorIs(t, err, context.Canceled)
	for range m.Watch(ctx, kind) {
		require.Fail(t, "a watch whose context has ended yields nothing")
	}

	all, err := m.List(t.Context(), kind, "", 2)
	require.NoError(t, err)
	require.Equal(t, []conductor.Record{a}, all)
}

func TestMemoryForgetsAWatchThatHasEnded(t *testing.T) {
	var m conductor.Memory
	create(t, &m, "a")
	for range m.Watch(t.Context(), kind) {
		require.Equal(t, 1, m.Watchers(kind))
		break
	}
	require.Zero(t, m.Watchers(kind))
	create(t, &m, "b") // does not wait
}
