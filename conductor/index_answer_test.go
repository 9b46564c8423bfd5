// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

// TestAnAnswerAfterTheWatchDoesNotBringARecordBack answers writes late: the watch has reported the deletion of the
// record before.
func TestAnAnswerAfterTheWatchDoesNotBringARecordBack(t *testing.T) {
	x := conductor.NewNodeIndex()
	x.Put(&conductor.Node{UUID: "a", Revision: 1})
	x.Drop("a", 3)
	x.Replace(&conductor.Node{UUID: "a", Revision: 2})
	require.Empty(t, x.All(), "the answer to an update")

	x.Put(&conductor.Node{UUID: "a", Revision: 4})
	replaced := &conductor.Node{UUID: "a", Revision: 5}
	x.Replace(replaced)
	require.Equal(t, []*conductor.Node{replaced}, x.All(), "a conductor reads its own writes")
	x.Replace(&conductor.Node{UUID: "a", Revision: 4})
	require.Equal(t, []*conductor.Node{replaced}, x.All())
}

func TestAnAnswerToACreationIsIgnoredOnceTheWatchHasReportedTheDeletion(t *testing.T) {
	refused := errors.New("refused")
	for _, test := range []struct {
		text      string
		meanwhile func(x conductor.NodeIndex)
		unread    bool // no watch has read the store
		err       error
		want      int
	}{
		{"nothing", func(conductor.NodeIndex) {}, false, nil, 1},
		{"refused", func(conductor.NodeIndex) {}, false, refused, 0},
		{"its deletion", func(x conductor.NodeIndex) { x.Drop("a", 6) }, false, nil, 0},
		{"another deletion", func(x conductor.NodeIndex) { x.Drop("b", 6) }, false, nil, 1},
		{"its deletion, then another", func(x conductor.NodeIndex) { x.Drop("a", 6); x.Drop("b", 6) }, false, nil, 0},
		{"its deletion by this process", func(x conductor.NodeIndex) {
			require.NoError(t, x.Delete("a", func() (int64, error) { return 6, nil }))
		}, false, nil, 0},
		{"the deletion of an earlier record", func(x conductor.NodeIndex) { x.Drop("a", 4) }, false, nil, 1},
		{"its deletion and an earlier one", func(x conductor.NodeIndex) { x.Drop("a", 6); x.Drop("a", 4) }, false, nil, 0},
		{"a deletion that is as new", func(x conductor.NodeIndex) { x.Drop("a", 5) }, false, nil, 0},
		{"the first watch", func(x conductor.NodeIndex) { x.DropUnseen(nil) }, true, nil, 1},
		{"its deletion during the first watch", func(x conductor.NodeIndex) { x.Drop("a", 6); x.DropUnseen(nil) }, true, nil, 0},
		{"another watch", func(x conductor.NodeIndex) { x.DropUnseen(nil) }, false, nil, 0},
	} {
		x := conductor.NewNodeIndex()
		if test.unread {
			x = conductor.NewUnreadNodeIndex()
		}
		n := &conductor.Node{UUID: "a"}
		err := x.Create(n, func() error {
			require.Equal(t, 1, x.Creating())
			test.meanwhile(x)
			n.Revision = 5
			return test.err
		})
		require.Equal(t, test.err, err, test.text)
		require.Len(t, x.All(), test.want, test.text)
		require.Zero(t, x.Creating())
	}
}
