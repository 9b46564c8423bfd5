// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// TestEveryStateHasItsPlace fails for a state that no chapter has: it would be missing from the page of states.
func TestEveryStateHasItsPlace(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range table.States().All() {
			require.Equal(t, 1, count(chapters, func(c chapter) bool { return slices.Contains(c.states, s) || c.then == s }),
				"%v: the chapters that have %v", series, s)
			require.True(t, table.Stable().Has(s) || table.Work(s) != states.NoWork, "%v of %v is the state of no work", s, series)
			for _, l := range []*layout{&topDown, &middle, &early, &leftToRight} {
				require.Equal(t, 1, count(l.allParts(), func(p partLayout) bool { return slices.Contains(p.all(), s) }),
					"%v: the parts that have %v", series, s)
			}
		}
	}
}

func TestAChapterThatALayoutDoesNotListIsItsLastPart(t *testing.T) {
	first, others := topDown.parts[0], topDown.parts[1:]
	l := layout{parts: others}
	parts := l.allParts()
	require.Len(t, parts, len(topDown.allParts()))
	require.Equal(t, others, parts[:len(others)])
	require.Contains(t, parts[len(others):], partLayout{part: first.part, corner: "tl"})
	require.Equal(t, topDown.parts, topDown.allParts()[:len(topDown.parts)])
}

// TestALayoutHasNothingThatIsNeverDrawn fails for a row about a state or an edge that no series with the layout has.
func TestALayoutHasNothingThatIsNeverDrawn(t *testing.T) {
	drawn, edges := map[*layout]states.Set{}, map[*layout]map[pair]bool{}
	for series := range states.AllSeries() {
		for since := range states.AllSeries() {
			for _, d := range []Diagram{{Table: series.Table(), Since: since.Table()}, {Table: series.Table(), LeftToRight: true}} {
				if since > series {
					break
				}
				l := d.layout()
				if drawn[l] = drawn[l].Union(d.states()); edges[l] == nil {
					edges[l] = map[pair]bool{}
				}
				for _, r := range d.rows() {
					edges[l][pair{r.From, r.To}] = true
				}
			}
		}
	}
	for l := range drawn {
		for _, p := range l.parts {
			require.Zero(t, states.SetOf(p.states...).Minus(drawn[l]), p.part)
		}
		listed := slices.Collect(maps.Keys(l.minlen))
		for from, all := range l.unranked {
			for to := range all.All() {
				listed = append(listed, pair{from, to})
			}
		}
		for _, edge := range listed {
			require.True(t, edges[l][edge], "%v to %v", edge.from, edge.to)
		}
	}
}

func count[T any](all []T, has func(T) bool) (n int) {
	for _, one := range all {
		if has(one) {
			n++
		}
	}
	return n
}

func TestAStateThatALayoutDoesNotListIsDrawnInItsPart(t *testing.T) {
	for s, part := range map[states.State]Part{
		states.CleanHold: PartCleaning, states.Deleting: PartTearDown, states.Available: "", states.Enroll: PartEnrolment,
	} {
		for _, p := range topDown.parts {
			p.states = slices.DeleteFunc(slices.Clone(p.states), func(other states.State) bool { return other == s })
			all := p.all()
			require.Equal(t, p.part == part, slices.Contains(all, s), "%v in %q", s, p.part)
			if i := slices.Index(all, s); i >= 0 {
				require.GreaterOrEqual(t, i, len(p.states), "%v follows the states that are listed", s)
			}
		}
		require.Equal(t, part, partOf(s))
	}
	require.Empty(t, partOf(states.Deleted))
}
