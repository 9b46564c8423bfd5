// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/states"
)

// newUnread returns an empty index that no watch has read. Its records are their own fields.
func newUnread() *Index[*Meta] { return New(func(m *Meta) Meta { return *m }) }

// newIndex returns an empty index that counts as read.
func newIndex() *Index[*Meta] {
	x := newUnread()
	x.once.Do(func() { close(x.synced) })
	return x
}

func TestARevisionIsTakenIntoTheIndexOnce(t *testing.T) {
	x := newIndex()
	first := &Meta{ID: "a", Revision: 2}
	x.put(first)
	for _, revision := range []int64{1, 2} {
		x.put(&Meta{ID: "a", Revision: revision})
		require.Same(t, first, x.All()[0])
	}
	newer := &Meta{ID: "a", Revision: 3}
	x.put(newer)
	require.Same(t, newer, x.All()[0])

	x.drop("a", 3)
	require.Len(t, x.All(), 1, "a deletion has a revision of its own")
	require.NoError(t, x.Delete("a", func() (int64, error) { return 5, nil }))
	require.Empty(t, x.All())
	x.put(&Meta{ID: "a", Revision: 4})
	require.Empty(t, x.All(), "the watch reports it late")
	require.Equal(t, 1, x.Unreported())
	x.drop("a", 4)
	x.put(&Meta{ID: "a", Revision: 4})
	require.Empty(t, x.All(), "the watch has not yet reported this deletion")
	x.drop("a", 5)
	require.Zero(t, x.Unreported(), "deletions are forgotten")
	require.NoError(t, x.Delete("a", func() (int64, error) { x.drop("a", 5); return 5, nil }))
	require.Zero(t, x.Unreported(), "the watch has reported it before the store has answered")
	require.NoError(t, x.Delete("b", func() (int64, error) { return 5, nil }))
	deletions := x.ownDeletions()
	require.NoError(t, x.Delete("b", func() (int64, error) { return 6, nil }))
	x.missing(nil, deletions)
	require.Equal(t, 1, x.Unreported(), "a new watch may have begun before the later one of two deletions")
	deletions = x.ownDeletions()
	require.NoError(t, x.Delete("c", func() (int64, error) { return 6, nil }))
	x.missing(nil, deletions)
	require.Equal(t, 1, x.Unreported(), "a new watch does not report an earlier deletion")
	x.drop("c", 6)
	x.put(&Meta{ID: "a", Revision: 6})
	require.Len(t, x.All(), 1)
}

func TestARecordMovesInTheIndexWithItsTimeAndItsParent(t *testing.T) {
	x := newIndex()
	at := func(uuid string, revision int64, seconds int64, parent string) *Meta {
		return &Meta{ID: uuid, Name: uuid, Revision: revision, Created: time.Unix(seconds, 0), Node: parent}
	}
	order := func() (uuids string) {
		for _, n := range x.All() {
			uuids += n.ID
		}
		return uuids
	}
	for i, uuid := range []string{"a", "b", "c"} {
		x.put(at(uuid, int64(i+1), int64(i), ""))
	}
	require.Equal(t, "abc", order())
	x.put(at("a", 4, 7, "")) // deleted and created again, which a watch may report as one change
	require.Equal(t, "bca", order())
	x.put(at("b", 5, 1, "c"))
	require.Equal(t, "bca", order())
	x.put(at("c", 6, 7, "")) // at the same time as a
	require.Equal(t, "bac", order())
	x.drop("a", 7)
	require.Equal(t, "bc", order())
}

// TestTheCountersByStateEqualARecount applies writes, deletions by this process and by others, late
// and repeated reports of a watch, and new watches.
func TestTheCountersByStateEqualARecount(t *testing.T) {
	all := slices.Collect(states.Latest().Table().States().All())
	rapid.Check(t, func(t *rapid.T) {
		x := newIndex()
		id := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("node ", rapid.IntRange(0, 5).Draw(t, "id")) })
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				x.put(&Meta{
					ID: id.Draw(t, "node"), Name: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "name"),
					Created: time.Unix(rapid.Int64Range(0, 2).Draw(t, "created"), 0),
					State:   rapid.SampledFrom(all).Draw(t, "state"), Revision: rapid.Int64Range(1, 50).Draw(t, "revision"),
				})
			},
			"drop": func(t *rapid.T) {
				node, revision := id.Draw(t, "node"), rapid.Int64Range(1, 50).Draw(t, "revision")
				if rapid.Bool().Draw(t, "own") {
					require.NoError(t, x.Delete(node, func() (int64, error) { return revision, nil }))
				} else {
					x.drop(node, revision)
				}
			},
			"new watch": func(t *rapid.T) {
				require.ErrorIs(t, x.followOnce(stored(rapid.SliceOf(id).Draw(t, "stored")...), nil, nil), errWatchEnded)
			},
			"": func(t *rapid.T) {
				counts := map[states.State]int{}
				for _, m := range x.All() {
					counts[m.State]++
				}
				for _, state := range all {
					count, err := x.Count(context.Background(), states.SetOf(state))
					require.NoError(t, err)
					require.Equal(t, counts[state], count, "records in %v", state)
				}
			},
		})
	})
}

func TestARecordIsFoundByItsNameAndItsNodeWhileItHasThem(t *testing.T) {
	x := newIndex()
	put := func(id, name, node string, revision int64) *Meta {
		m := &Meta{ID: id, Name: name, Node: node, Revision: revision}
		x.put(m)
		return m
	}
	a, b := put("a", "one", "n", 1), put("b", "two", "n", 2)
	require.Same(t, a, x.Named("one"))
	require.Equal(t, []*Meta{a, b}, x.AllOf("n"))
	require.True(t, x.HasOlder(&Meta{ID: "a", Revision: 2}))
	require.False(t, x.HasOlder(&Meta{ID: "a", Revision: 1}))
	require.False(t, x.HasOlder(&Meta{ID: "c", Revision: 1}))

	b = put("b", "", "n", 3)
	require.Nil(t, x.Named("two"))
	require.Equal(t, []*Meta{a, b}, x.AllOf("n"))
	b = put("b", "one", "n", 4) // its watch may report it before the new name of a
	require.Same(t, b, x.Named("one"))
	a = put("a", "three", "n", 5)
	require.Same(t, b, x.Named("one"))
	b = put("b", "one", "m", 6)
	require.Equal(t, []*Meta{a}, x.AllOf("n"))
	require.Equal(t, []*Meta{b}, x.AllOf("m"))
	require.ElementsMatch(t, []string{"n", "m"}, x.Owners())

	x.drop("b", 7)
	require.Nil(t, x.Get("b"))
	require.Nil(t, x.Named("one"))
	require.Empty(t, x.AllOf("m"))
	require.Equal(t, []string{"n"}, x.Owners())
	put("a", "three", "", 8)
	require.Empty(t, x.Owners())
}
