// SPDX-License-Identifier: Apache-2.0

package graph

import (
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
				"graph/chapters.go: the chapters that have %v of %v", s, series)
			require.True(t, table.Stable().Has(s) || table.Work(s) != states.NoWork, "%v of %v is the state of no work", s, series)
			for _, l := range layouts() {
				require.Equal(t, 1, count(l.allParts(), func(p partLayout) bool { return slices.Contains(p.all(), s) }),
					"%v: the parts that have %v", series, s)
			}
		}
	}
}

func TestAChapterThatALayoutDoesNotListIsItsLastPart(t *testing.T) {
	topDown := layouts()["topDown"]
	first, others := topDown.Parts[0], topDown.Parts[1:]
	l := layout{Parts: others}
	parts := l.allParts()
	require.Len(t, parts, len(topDown.allParts()))
	require.Equal(t, others, parts[:len(others)])
	require.Contains(t, parts[len(others):], partLayout{Part: first.Part, Corner: "tl"})
	require.Equal(t, topDown.Parts, topDown.allParts()[:len(topDown.Parts)])
}

// TestALayoutHasNothingThatIsNeverDrawn fails for a row about a state or an edge that no series with the layout has.
func TestALayoutHasNothingThatIsNeverDrawn(t *testing.T) {
	drawn, edges := map[*layout]states.Set{}, map[*layout]map[[2]states.State]bool{}
	for series := range states.AllSeries() {
		for since := range states.AllSeries() {
			for _, d := range []Diagram{{Table: series.Table(), Since: since.Table()}, {Table: series.Table(), LeftToRight: true}} {
				if since > series {
					break
				}
				l := d.layout()
				if drawn[l] = drawn[l].Union(d.states()); edges[l] == nil {
					edges[l] = map[[2]states.State]bool{}
				}
				for _, r := range d.rows() {
					edges[l][[2]states.State{r.From, r.To}] = true
				}
			}
		}
	}
	for l := range drawn {
		for _, p := range l.Parts {
			require.Zero(t, states.SetOf(p.States...).Minus(drawn[l]), p.Part)
		}
		listed := map[states.State][]states.State{}
		for from := range l.MinLen {
			listed[from] = append(listed[from], spine[1+slices.Index(spine, from)])
		}
		for from, all := range l.Unranked {
			listed[from] = append(listed[from], all...)
		}
		for from, all := range listed {
			for _, to := range all {
				require.True(t, edges[l][[2]states.State{from, to}], "%v to %v", from, to)
			}
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
		for _, p := range layouts()["topDown"].Parts {
			p.States = slices.DeleteFunc(slices.Clone(p.States), func(other states.State) bool { return other == s })
			all := p.all()
			require.Equal(t, p.Part == part, slices.Contains(all, s), "%v in %q", s, p.Part)
			if i := slices.Index(all, s); i >= 0 {
				require.GreaterOrEqual(t, i, len(p.States), "%v follows the states that are listed", s)
			}
		}
		require.Equal(t, part, partOf(s))
	}
	require.Empty(t, partOf(states.Deleted))
}
