// SPDX-License-Identifier: Apache-2.0

package statestest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

// end returns the state in which a walk ends, and fails the test unless each of its
// steps is a transition of the table that begins where the previous step ended.
func end(t *testing.T, table *states.Table, from states.State, walk []states.Transition) states.State {
	t.Helper()
	for _, row := range walk {
		to, ok := table.Next(from, row.Event)
		require.True(t, ok && row.From == from && row.To == to, "%v: %v", table.Series(), walk)
		from = to
	}
	return from
}

// distances returns the number of transitions from a state to each reachable state.
func distances(table *states.Table, from states.State) map[states.State]int {
	steps := map[states.State]int{from: 0}
	for queue := []states.State{from}; len(queue) > 0; queue = queue[1:] {
		for event := range table.Events(queue[0]) {
			to, _ := table.Next(queue[0], event)
			if _, ok := steps[to]; !ok {
				steps[to] = steps[queue[0]] + 1
				queue = append(queue, to)
			}
		}
	}
	return steps
}

func TestPathIsTheShortest(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for from := range table.States().All() {
			steps := distances(table, from)
			for to := range table.States().All() {
				path, ok := statestest.Path(table, from, to)
				want, reachable := steps[to]
				require.Equal(t, reachable, ok, "%v: from %v to %v", series, from, to)
				if ok {
					require.Equal(t, to, end(t, table, from, path))
					require.Len(t, path, want, "%v: from %v to %v", series, from, to)
				}
			}
		}
	}
}

func TestThereIsNoPathOutsideOfTheTable(t *testing.T) {
	for _, table := range []*states.Table{nil, {}, states.Kilo.Table()} {
		for _, ends := range [][2]states.State{
			{states.Enroll, states.Active}, {states.Available, states.Rescue}, {states.Enroll, states.Enroll}, {200, 200},
		} {
			path, ok := statestest.Path(table, ends[0], ends[1])
			require.False(t, ok)
			require.Empty(t, path)
		}
	}
}

func TestWalksCover(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		start := series.MaxAPIVersion().InitialState()
		visited := states.SetOf(start)
		taken, steps := make(map[states.Transition]bool), 0
		for _, walk := range statestest.Cover(table) {
			end(t, table, start, walk)
			steps += len(walk)
			for _, row := range walk {
				taken[row] = true
				visited = visited.Union(states.SetOf(row.To))
			}
		}
		rows := slices.Collect(table.Transitions())
		require.Len(t, taken, len(rows))
		require.Equal(t, table.States(), visited)
		t.Logf("%v: %d transitions in %d steps", series, len(rows), steps)
	}
	require.Empty(t, statestest.Cover(nil))
	require.Empty(t, statestest.Cover(new(states.Table)))
}
