// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"cmp"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestTableIsAlwaysTheSame(t *testing.T) {
	for s := range states.AllSeries() {
		require.NotNil(t, s.Table())
		require.Same(t, s.Table(), s.Table())
	}
	require.Nil(t, states.NoSeries.Table())
	for n := int(states.Latest()) + 1; n <= 255; n++ {
		require.Nil(t, states.Series(n).Table())
	}
}

func TestTablesWithoutStatesAnswer(t *testing.T) {
	for name, table := range map[string]*states.Table{
		"nil": nil, "zero": {}, "no series": states.NoSeries.Table(), "no such series": states.Series(200).Table(),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, states.NoSeries, table.Series())
			require.Zero(t, table.States())
			require.Empty(t, states.VerbsOf(table))
			require.Empty(t, slices.Collect(table.Transitions()))
			for _, set := range sets {
				require.Zero(t, set(table))
			}
			require.Zero(t, table.Waiting())
			require.Zero(t, table.Hold())
			requireNoRows(t, table)

			_, err := table.Request(states.Available, "active", 1)
			require.ErrorIs(t, err, states.ErrNotAcceptable)
		})
	}
}

func requireNoRows(t *testing.T, table *states.Table) {
	t.Helper()
	for s := range 256 {
		require.Zero(t, table.Target(states.State(s)))
		require.Empty(t, slices.Collect(table.Events(states.State(s))))
		for e := range 256 {
			to, ok := table.Next(states.State(s), states.Event(e))
			require.False(t, ok)
			require.Equal(t, states.NoState, to)
		}
	}
}

func TestNumbersOutsideTheTableLeadNowhere(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range 256 {
			from := states.State(s)
			if table.States().Has(from) {
				continue
			}
			if events := slices.Collect(table.Events(from)); len(events) > 0 || table.Target(from) != states.NoState {
				t.Errorf("%v: %v has events %v and target %v", series, from, events, table.Target(from))
			}
			for e := range 256 {
				if to, ok := table.Next(from, states.Event(e)); ok || to != states.NoState {
					t.Errorf("%v: %v --%v--> %v", series, from, states.Event(e), to)
				}
			}
		}
		for s := range table.States().All() {
			for e := int(states.EventError) + 1; e <= 255; e++ {
				if to, ok := table.Next(s, states.Event(e)); ok || to != states.NoState {
					t.Errorf("%v: %v --%v--> %v", series, s, states.Event(e), to)
				}
			}
		}
	}
}

func TestEventsAreThoseWithARow(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for from := range table.States().All() {
			var want []states.Event
			for event := range states.AllEvents() {
				if _, ok := table.Next(from, event); ok {
					want = append(want, event)
				}
			}
			require.Equal(t, want, slices.Collect(table.Events(from)))
		}
	}
}

// chapter returns the part of a node's life that a transition belongs to, by its work: the works are in that order.
// From a stable state it is the work that begins.
func chapter(row states.Transition) states.Work {
	work := row.From.Work()
	switch {
	case row.From == states.Rescue || work == states.WorkUnrescue:
		return states.WorkRescue
	case work == states.NoWork && row.To.Work() != states.NoWork:
		return row.To.Work()
	case work == states.NoWork: // from available to manageable, back to the end of the enrolment
		return states.WorkVerify
	default:
		return work
	}
}

func TestTransitionsAreEveryRowInTheOrderOfANodesLife(t *testing.T) {
	place := make(map[states.Transition]int) // in the next series
	for _, series := range slices.Backward(slices.Collect(states.AllSeries())) {
		table := series.Table()
		rows := slices.Collect(table.Transitions())
		require.NotEmpty(t, rows, series)
		require.True(t, slices.IsSortedFunc(rows, func(a, b states.Transition) int { return cmp.Compare(chapter(a), chapter(b)) }),
			"%v: %v", series, rows)

		var ofTable []states.Transition
		for from := range table.States().All() {
			for event := range table.Events(from) {
				to, _ := table.Next(from, event)
				ofTable = append(ofTable, states.Transition{From: from, Event: event, To: to})
			}
		}
		require.ElementsMatch(t, ofTable, rows, series)

		common := slices.DeleteFunc(slices.Clone(rows), func(row states.Transition) bool { _, ok := place[row]; return !ok })
		require.True(t, slices.IsSortedFunc(common, func(a, b states.Transition) int { return cmp.Compare(place[a], place[b]) }),
			"%v has an order other than the series after it: %v", series, common)
		clear(place)
		for j, row := range rows {
			place[row] = j
		}
	}
}

func TestTransitionsPrintAsRows(t *testing.T) {
	row := states.Transition{From: states.DeployWait, Event: states.EventDelete, To: states.Deleting}
	require.Equal(t, "wait call-back --delete--> deleting", row.String())
}

func TestIterationStops(t *testing.T) {
	table := states.Latest().Table()
	require.Equal(t, 2, firstTwo(states.AllStates()))
	require.Equal(t, 2, firstTwo(states.AllEvents()))
	require.Equal(t, 2, firstTwo(states.AllPowers()))
	require.Equal(t, 2, firstTwo(states.AllSeries()))
	require.Equal(t, 2, firstTwo(table.Events(states.Active)))
	require.Equal(t, 2, firstTwo(table.Transitions()))
	require.Equal(t, 2, firstTwo(table.States().All()))
}

// firstTwo breaks out of a range after two steps; an iterator that did not stop would
// panic.
func firstTwo[T any](all iter.Seq[T]) int {
	n := 0
	for range all {
		n++
		if n == 2 {
			break
		}
	}
	return n
}

func TestEachSeriesHasItsAPIVersionAndItsTable(t *testing.T) {
	last := states.NoSeries
	for series := range states.AllSeries() {
		require.NotEqual(t, states.NoAPIVersion, series.MaxAPIVersion(), "the API version of %v in states/series.go", series)
		require.True(t, series.Table().States().Has(states.Active), series)
		last = series
	}
	require.Equal(t, states.Latest(), last)
}
