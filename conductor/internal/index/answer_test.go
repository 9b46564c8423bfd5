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
			require.Len(t, x.inFlight, 1)
			test.meanwhile(x)
			n.Revision = 5
			return test.err
		}, func(id string) (bool, error) { return has && id == n.ID, nil })
		require.Equal(t, test.err, err, test.text)
		require.Len(t, x.All(), test.want, test.text)
		require.Empty(t, x.inFlight)
	}
}
