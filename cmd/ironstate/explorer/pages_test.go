// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

// Page after page, each wanted node is listed once: first the overdue ones, both in the order of the nodes.
func TestPagesHaveEachNodeOnceAndTheOverdueOnesFirst(t *testing.T) {
	for name, overdue := range map[string]func(n int) bool{
		"none":       func(int) bool { return false },
		"all":        func(int) bool { return true },
		"each third": func(n int) bool { return n%3 == 0 },
		"the last":   func(n int) bool { return n >= 100 },
		"most":       func(n int) bool { return n%10 > 0 },
	} {
		for _, total := range []int{0, 1, pageSize, pageSize + 1, 2 * pageSize, 157} {
			for _, step := range []int{1, 2} {
				t.Run(name, func(t *testing.T) {
					var nodes []*conductor.Node
					var first, rest []string
					for n := range total {
						nodes = append(nodes, numbered(n))
						switch {
						case n%step != 0:
						case overdue(n):
							first = append(first, uuidOf(n))
						default:
							rest = append(rest, uuidOf(n))
						}
					}
					isOverdue := func(n *conductor.Node) bool { return overdue(number(n)) }
					wanted := func(n *conductor.Node, late bool) bool {
						require.Equal(t, isOverdue(n), late)
						return number(n)%step == 0
					}
					require.Equal(t, append(first, rest...), readAll(t, nodes, isOverdue, wanted))
				})
			}
		}
	}
}

// numbered returns the node with a number. Each seven nodes are created at the same time.
func numbered(n int) *conductor.Node {
	return &conductor.Node{UUID: uuidOf(n), CreatedAt: time.Unix(int64(n/7), 1000).UTC()}
}

func uuidOf(n int) string { return fmt.Sprintf("%03d", n) }

func number(n *conductor.Node) int {
	number, err := strconv.Atoi(n.UUID)
	if err != nil {
		panic(err)
	}
	return number
}

// readAll returns the UUIDs of the nodes on all pages.
func readAll(
	t *testing.T, nodes []*conductor.Node, isOverdue func(*conductor.Node) bool, wanted func(*conductor.Node, bool) bool,
) (all []string) {
	for at := (position{}); ; {
		page, next := pageOf(nodes, at, isOverdue, wanted)
		for _, n := range page {
			all = append(all, n.UUID)
		}
		if next == (position{}) {
			return all
		}
		require.Len(t, page, pageSize, "a page that is not full has no successor")
		read, err := parsePosition(next.String())
		require.NoError(t, err)
		require.Equal(t, next, read)
		at = read
	}
}

// A position remains where it was when its node is overdue no longer, or has become so, or is deleted.
func TestAPositionRemainsWhenItsNodeChanges(t *testing.T) {
	at := func(n int, overdue bool) position { return position{numbered(n).CreatedAt, uuidOf(n), overdue} }
	isOverdue := func(n *conductor.Node) bool { return number(n)%2 == 1 }
	all := func(*conductor.Node, bool) bool { return true }
	for _, test := range []struct {
		position
		want []int
	}{
		{at(0, true), []int{1, 3, 0, 2}},
		{at(1, true), []int{3, 0, 2}},
		{at(2, true), []int{3, 0, 2}},
		{at(1, false), []int{2}},
		{at(2, false), nil},
	} {
		for _, deleted := range []bool{false, true} {
			var nodes []*conductor.Node
			var want, got []int
			for n := range 4 {
				if !deleted || uuidOf(n) != test.uuid {
					nodes = append(nodes, numbered(n))
				}
			}
			for _, n := range test.want {
				if !deleted || uuidOf(n) != test.uuid {
					want = append(want, n)
				}
			}
			page, next := pageOf(nodes, test.position, isOverdue, all)
			for _, n := range page {
				got = append(got, number(n))
			}
			require.Equal(t, want, got, "%v, deleted: %v", test.position, deleted)
			require.Zero(t, next)
		}
	}
}

func TestATextThatIsNoPositionIsRefused(t *testing.T) {
	for _, text := range []string{"nonsense", "other", "other,x,u", "other,2026-11-28T00:00:00Z", "other,2026-11-28T00:00:00Z,",
		"some,2026-11-28T00:00:00Z,u"} {
		_, err := parsePosition(text)
		require.ErrorContains(t, err, "want what next of a page was", text)
	}
}
