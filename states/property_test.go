// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// eachTable runs a test on every series' table.
func eachTable(t *testing.T, test func(*testing.T, *states.Table)) {
	t.Helper()
	for s := range states.AllSeries() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			test(t, s.Table())
		})
	}
}

// reachable returns the states that can be reached from a state by rows that follow
// selects, the state itself included.
func reachable(table *states.Table, from states.State, follow func(states.Transition) bool) states.Set {
	reached := states.SetOf(from)
	for before := (states.Set{}); before != reached; {
		before = reached
		for row := range table.Transitions() {
			if reached.Has(row.From) && follow(row) {
				reached = reached.Union(states.SetOf(row.To))
			}
		}
	}
	return reached
}

// byConductor reports whether the conductor fires a row by itself: its reports, and
// the ends of a tear-down and of manual cleaning.
func byConductor(row states.Transition) bool {
	switch row.Event {
	case states.EventClean:
		return row.From == states.Deleting
	case states.EventManage:
		return row.From == states.Cleaning
	default:
		return row.Event.Verb() == ""
	}
}

func TestEveryStateIsReachable(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		first := states.Enroll
		if table.Series() == states.Kilo {
			first = states.Available
		}
		reached := reachable(table, first, func(states.Transition) bool { return true })
		require.Equal(t, table.States().String(), reached.String())
	})
}

func TestStableStatesAreReachable(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		settles := func(from states.State) bool {
			return reachable(table, from, byConductor).Intersect(table.Stable()) != states.Set{}
		}
		mayNeedARequest := table.Failed().Union(table.Hold()).Union(table.Waiting())
		for s := range table.States().All() {
			if settles(s) {
				continue
			}
			require.True(t, mayNeedARequest.Has(s), "%v waits for a request", s)
			require.True(t, slices.ContainsFunc(slices.Collect(table.Transitions()), func(row states.Transition) bool {
				return row.From == s && !byConductor(row) && settles(row.To)
			}), "%v does not settle with one request", s)
		}
	})
}

func TestStatesThatAreNotStableHaveAStableTarget(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		for s := range table.States().Minus(table.Stable()).All() {
			require.True(t, table.Stable().Has(table.Target(s)), "%v is headed for %v", s, table.Target(s))
		}
		for s := range table.Stable().All() {
			require.Equal(t, states.NoState, table.Target(s), s)
		}
	})
}

func TestEventsStayAmongTheSeriesStates(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		for row := range table.Transitions() {
			require.True(t, table.States().Has(row.From), row)
			require.True(t, table.States().Has(row.To), row)
			require.NotEqual(t, row.From, row.To, row)
		}
	})
}

func TestOneRowAtMostForAnEventInAState(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		seen := make(map[[2]string]states.Transition)
		for row := range table.Transitions() {
			key := [2]string{row.From.String(), row.Event.String()}
			require.NotContains(t, seen, key, row)
			seen[key] = row
		}
	})
}

// A client of the series' API can move a node out of every failed and held state.
func TestFailedAndHeldStatesOfferAWayOut(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		newest := table.Series().MaxAPIVersion()
		for s := range table.Failed().Union(table.Hold()).All() {
			var accepted []string
			for _, word := range requestWords() {
				if _, err := table.Request(s, word, newest); err == nil {
					accepted = append(accepted, word)
				}
			}
			require.NotEmpty(t, accepted, s)
		}
	})
}

func TestRequestAcceptsOnlyWhatHasARow(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		for n := range table.Series().MaxAPIVersion() + 1 {
			for s := range states.AllStates() {
				for word := range actions {
					event, err := table.Request(s, word, n)
					if _, ok := table.Next(s, event); err == nil && !ok {
						t.Fatalf("%v: %q at %v fires %v", s, word, n, event)
					}
				}
			}
		}
	})
}

// A state is exactly one of stable, unstable, failed and held.
func TestKindsOfStatesArePartitions(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		kinds := []states.Set{table.Stable(), table.Unstable(), table.Failed(), table.Hold()}
		total := 0
		var union states.Set
		for _, kind := range kinds {
			total += kind.Len()
			union = union.Union(kind)
		}
		require.Equal(t, table.States(), union)
		require.Equal(t, table.States().Len(), total)
		require.Zero(t, table.Waiting().Minus(table.Unstable()), "waiting and not unstable")
		require.Zero(t, table.Stuck().Minus(table.Unstable()), "stuck and not unstable")
		for s := range table.Stuck().All() {
			_, ok := table.Next(s, states.EventFail)
			require.True(t, ok, "%v is stuck and cannot fail", s)
		}
	})
}
