// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"slices"
	"strconv"
	"testing"

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
						nodes = append(nodes, &conductor.Node{UUID: strconv.Itoa(n)})
						switch {
						case n%step != 0:
						case overdue(n):
							first = append(first, strconv.Itoa(n))
						default:
							rest = append(rest, strconv.Itoa(n))
						}
					}
					isOverdue := func(n *conductor.Node) bool { return overdue(number(n)) }
					wanted := func(n *conductor.Node, late bool) bool {
						require.Equal(t, isOverdue(n), late)
						return number(n)%step == 0
					}
					require.Equal(t, append(first, rest...), readAll(nodes, isOverdue, wanted))
				})
			}
		}
	}
}

func number(n *conductor.Node) int {
	number, err := strconv.Atoi(n.UUID)
	if err != nil {
		panic(err)
	}
	return number
}

// readAll returns the UUIDs of the nodes on all pages.
func readAll(nodes []*conductor.Node, isOverdue func(*conductor.Node) bool, wanted func(*conductor.Node, bool) bool) []string {
	var all []string
	for at, more := (position{}), true; more; {
		var page []*conductor.Node
		page, more = pageOf(nodes, at, isOverdue, wanted)
		if more && len(page) != pageSize {
			panic("a page that is not full has no successor")
		}
		for _, n := range page {
			all = append(all, n.UUID)
			at = position{n.UUID, isOverdue(n)}
		}
	}
	return all
}

// A position remains where it was when its node is overdue no longer, or has become so.
func TestAPositionRemainsWhenItsNodeChanges(t *testing.T) {
	nodes := []*conductor.Node{{UUID: "0"}, {UUID: "1"}, {UUID: "2"}, {UUID: "3"}}
	isOverdue := func(n *conductor.Node) bool { return n.UUID == "1" || n.UUID == "3" }
	all := func(*conductor.Node, bool) bool { return true }
	for _, test := range []struct {
		position
		want []string
	}{
		{position{"0", true}, []string{"1", "3", "0", "2"}},
		{position{"1", true}, []string{"3", "0", "2"}},
		{position{"2", true}, []string{"3", "0", "2"}},
		{position{"1", false}, []string{"2"}},
		{position{"2", false}, nil},
		{position{"nobody", false}, nil},
	} {
		page, more := pageOf(nodes, test.position, isOverdue, all)
		var got []string
		for _, n := range page {
			got = append(got, n.UUID)
		}
		require.True(t, slices.Equal(test.want, got), "%v: %v", test.position, got)
		require.False(t, more)
	}
}
