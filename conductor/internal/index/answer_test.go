// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnAnswerAfterTheWatchDoesNotBringARecordBack answers writes late: the watch has reported the deletion of the
// record before.
func TestAnAnswerAfterTheWatchDoesNotBringARecordBack(t *testing.T) {
	x := newIndex()
	x.put(&Meta{ID: "a", Revision: 1})
	x.drop("a", 3)
	x.Replace(&Meta{ID: "a", Revision: 2})
	require.Empty(t, x.All(), "the answer to an update")

	x.put(&Meta{ID: "a", Revision: 4})
	replaced := &Meta{ID: "a", Revision: 5}
	x.Replace(replaced)
	require.Equal(t, []*Meta{replaced}, x.All(), "a process reads its own writes")
	x.Replace(&Meta{ID: "a", Revision: 4})
	require.Equal(t, []*Meta{replaced}, x.All())
}

func TestAnAnswerToACreationIsIgnoredOnceTheWatchHasReportedTheDeletion(t *testing.T) {
	refused := errors.New("refused")
	has := false // whether the store has the record once it has answered
	for _, test := range []struct {
		text      string
		meanwhile func(x *Index[*Meta])
		err       error
		want      int
	}{
		{"nothing", func(*Index[*Meta]) {}, nil, 1},
		{"refused", func(*Index[*Meta]) {}, refused, 0},
		{"its deletion", func(x *Index[*Meta]) { x.drop("a", 6) }, nil, 0},
		{"another deletion", func(x *Index[*Meta]) { x.drop("b", 6) }, nil, 1},
		{"its deletion, then another", func(x *Index[*Meta]) { x.drop("a", 6); x.drop("b", 6) }, nil, 0},
		{"its deletion by this process", func(x *Index[*Meta]) {
			require.NoError(t, x.Delete("a", func() (int64, error) { return 6, nil }))
		}, nil, 0},
		{"the deletion of an earlier record", func(x *Index[*Meta]) { x.drop("a", 4) }, nil, 1},
		{"its deletion and an earlier one", func(x *Index[*Meta]) { x.drop("a", 6); x.drop("a", 4) }, nil, 0},
		{"a deletion that is as new", func(x *Index[*Meta]) { x.drop("a", 5) }, nil, 0},
		{"another watch, and it exists", func(x *Index[*Meta]) { x.missing(nil, nil); has = true }, nil, 1},
		{"another watch, and it does not exist", func(x *Index[*Meta]) { x.missing(nil, nil) }, nil, 0},
		{"another watch and a deletion", func(x *Index[*Meta]) { x.missing(nil, nil); x.drop("a", 6) }, nil, 0},
	} {
		x, n := newIndex(), &Meta{ID: "a"}
		has = false
		err := x.Create(n, func() error {
			require.Len(t, x.pending, 1)
			test.meanwhile(x)
			n.Revision = 5
			return test.err
		}, func(id string) (bool, error) { return has && id == n.ID, nil })
		require.Equal(t, test.err, err, test.text)
		require.Len(t, x.All(), test.want, test.text)
		require.Empty(t, x.pending)
	}
}

// TestACreationWhoseAnswerIsLateKeepsTheRecordThatTheWatchHasYielded has a new watch begin while the store's answer to
// a creation is on its way, and a store that can then not be asked for the record: the client has gone.
func TestACreationWhoseAnswerIsLateKeepsTheRecordThatTheWatchHasYielded(t *testing.T) {
	created, synced := Meta{ID: "a", Revision: 5}, Write[*Meta]{Synced: true}
	for _, test := range []struct {
		text             string
		before, exists   []Write[*Meta] // what watches yield before the store's answer, and while it is asked for the record
		restarted, keeps bool           // another watch without the record has been Synced before
	}{
		{"before Synced", []Write[*Meta]{written(created), synced}, nil, false, true},
		{"after Synced", []Write[*Meta]{synced, written(created)}, nil, false, true},
		{"by the second watch", []Write[*Meta]{written(created), synced}, nil, true, true},
		{"while the store is asked", []Write[*Meta]{synced}, []Write[*Meta]{written(created)}, false, true},
		{"not yet", []Write[*Meta]{synced}, nil, false, false},
		{"and deleted", []Write[*Meta]{written(created), synced, {ID: "a", Revision: 6, Deleted: true}}, nil, false, false},
	} {
		x, n := newIndex(), &Meta{ID: "a"}
		watch := func(yields ...Write[*Meta]) {
			store := Source[*Meta]{Watch: reports(t.Context(), yields), Exists: stored("a").Exists}
			require.ErrorIs(t, x.followOnce(store, nil, nil), errWatchEnded, test.text)
		}
		err := x.Create(n, func() error {
			if test.restarted {
				watch(synced)
			}
			watch(test.before...)
			n.Revision = 5
			return nil
		}, func(string) (bool, error) {
			watch(test.exists...)
			return false, errors.New("the client has gone")
		})
		require.NoError(t, err, test.text)
		require.Equal(t, test.keeps, x.Get("a") != nil, test.text)
		require.Empty(t, x.pending, test.text)
	}
}
