// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// faultsOf returns the faults that make a drawing hard to read: a line through a part's title, a
// label or a state, labels over each other, and a label far from its own line.
func faultsOf(t *testing.T, drawn *drawing) (faults []string) {
	t.Helper()
	words := make([]box, len(drawn.items))
	for n, i := range drawn.items {
		var err error
		words[n], err = i.words()
		require.NoError(t, err)
	}
	for n, edge := range drawn.items {
		from, to, ok := strings.Cut(strings.TrimPrefix(edge.id, "edge-"), "-")
		if !ok || !strings.HasPrefix(edge.id, "edge-") {
			continue
		}
		line, err := edge.line()
		require.NoError(t, err)
		require.NotEmpty(t, line)
		nearest := math.Inf(1)
		for _, p := range line {
			nearest = min(nearest, words[n].distance(p))
		}
		if nearest >= 18 {
			faults = append(faults, fmt.Sprintf("%.0f points between %s and its words", nearest, edge.id))
		}
		for m, other := range drawn.items {
			if other.id == "state-"+from || other.id == "state-"+to {
				continue
			}
			if slices.ContainsFunc(line, words[m].has) {
				faults = append(faults, fmt.Sprintf("the line of %s through the words of %s", edge.id, other.id))
			}
			if n != m && words[n].meets(words[m]) {
				faults = append(faults, fmt.Sprintf("the words of %s over the words of %s", edge.id, other.id))
			}
		}
	}
	return faults
}

// distinct ranges over the tables of the series that differ from the one before.
func distinct(yield func(*states.Table) bool) {
	var before []states.Transition
	for series := range states.AllSeries() {
		rows := slices.Collect(series.Table().Transitions())
		if !slices.Equal(rows, before) && !yield(series.Table()) {
			return
		}
		before = rows
	}
}

func TestPicturesAreReadable(t *testing.T) {
	latest := states.Latest().Table()
	diagrams := []graph.Diagram{
		{Table: latest, Since: states.Kilo.Table()},
		{Table: latest, LeftToRight: true},
		{Table: latest, LeftToRight: true, RequestsOnly: true},
	}
	for table := range distinct {
		diagrams = append(diagrams, graph.Diagram{Table: table}, graph.Diagram{Table: table, RequestsOnly: true})
	}
	for _, d := range diagrams {
		drawn, err := draw(t.Context(), d)
		require.NoError(t, err)
		require.Empty(t, faultsOf(t, drawn), "%v since %v, requests only: %v, left to right: %v",
			d.Table.Series(), d.Since.Series(), d.RequestsOnly, d.LeftToRight)
	}
}

// A picture of a part or of any other selection has no line through a name.
func TestSelectionsAreReadable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for table := range distinct {
		var diagrams []graph.Diagram
		for part := range graph.AllParts() {
			diagrams = append(diagrams, graph.Diagram{Table: table, Part: part})
		}
		all := slices.Collect(table.States().All())
		for range 10 {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			diagrams = append(diagrams, graph.Diagram{Table: table, Only: states.SetOf(all[:2+random.IntN(9)]...), LeftToRight: random.IntN(2) == 0})
		}
		for _, d := range diagrams {
			drawn, err := draw(t.Context(), d)
			require.NoError(t, err)
			for _, fault := range faultsOf(t, drawn) {
				require.NotRegexp(t, "through .* of (part|state)-", fault, "%v: part %q, only %v, left to right: %v",
					table.Series(), d.Part, d.Only, d.LeftToRight)
			}
		}
	}
}

// The way from enroll to active is one straight line, in each direction.
func TestTheSpineIsStraight(t *testing.T) {
	for table := range distinct {
		requireSpine(t, graph.Diagram{Table: table})
		requireSpine(t, graph.Diagram{Table: table, RequestsOnly: true})
	}
	latest := states.Latest().Table()
	requireSpine(t, graph.Diagram{Table: latest, Since: states.Kilo.Table()})
	requireSpine(t, graph.Diagram{Table: latest, LeftToRight: true})
	requireSpine(t, graph.Diagram{Table: latest, LeftToRight: true, RequestsOnly: true})
}

// requireSpine fails unless the spine of a diagram is straight.
func requireSpine(t *testing.T, d graph.Diagram) {
	t.Helper()
	name := fmt.Sprintf("%v, requests only: %v, left to right: %v", d.Table.Series(), d.RequestsOnly, d.LeftToRight)
	drawn, err := draw(t.Context(), d)
	require.NoError(t, err)
	// turn returns a point's place across the spine and along it.
	turn := func(p point) (across, along float64) {
		if d.LeftToRight {
			return p.y, p.x
		}
		return p.x, p.y
	}
	way := []states.State{
		states.Enroll, states.Verifying, states.Manageable, states.Cleaning, states.Available, states.Deploying, states.Active,
	}
	way = slices.DeleteFunc(way, func(s states.State) bool { return !d.Table.States().Has(s) })
	var axis, last float64
	for n, s := range way {
		for _, i := range drawn.items {
			switch {
			case i.id == "state-"+slugOf(s):
				b, err := i.outline()
				require.NoError(t, err)
				across, along := turn(point{(b.left + b.right) / 2, (b.top + b.bottom) / 2})
				if n == 0 {
					axis = across
				} else {
					require.Greater(t, along, last, "%s: the place of %v", name, s)
				}
				last = along
				require.InDelta(t, axis, across, 1, "%s: the place of %v", name, s)
			case n > 0 && i.id == "edge-"+slugOf(way[n-1])+"-"+slugOf(s):
				line, err := i.line()
				require.NoError(t, err)
				for _, p := range line {
					across, _ := turn(p)
					require.InDelta(t, axis, across, 2, "%s: the line of %s", name, i.id)
				}
				require.Contains(t, i.class, "spine")
				require.Equal(t, "2", i.shapes[0].get("stroke-width"), i.id)
			}
		}
	}
}
