// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/states"
)

// In every series, the phase of a state agrees with the sets that have the state.
func TestPhasesAreTheSets(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		for s := range states.AllStates() {
			var want states.Phase
			switch {
			case !table.States().Has(s):
				want = ""
			case s == states.Error, table.Failed().Has(s):
				want = states.PhaseFailed
			case table.Stable().Has(s):
				want = states.PhaseStable
			case table.Hold().Has(s):
				want = states.PhaseHold
			case table.Waiting().Has(s):
				want = states.PhaseWaiting
			case table.Unstable().Has(s):
				want = states.PhaseWorking
			}
			require.Equal(t, want, table.Phase(s), s)
		}
		for _, s := range []states.State{states.NoState, states.UnknownState, 63, 200} {
			require.Empty(t, table.Phase(s), s)
		}
	})
}

// In every series, only requests move a node out of a stable state, and the API of
// the series accepts each of them.
func TestTransitionsOutOfStableStatesAreRequests(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		for row := range table.Transitions() {
			if table.Stable().Has(row.From) {
				require.True(t, table.IsRequest(row), row)
			}
			taken := slices.Contains(slices.Collect(table.Requests(row.From, table.Series().MaxAPIVersion())), row.Event.Verb())
			conductors := row.From == states.Deleting || row.From == states.Cleaning
			require.Equal(t, taken && !conductors, table.IsRequest(row), row)
		}
	})
}

func TestTransitionsThatTheTableLacksAreNoRequests(t *testing.T) {
	table := states.Antelope.Table()
	for _, row := range []states.Transition{
		{},
		{From: states.Enroll, Event: states.EventManage, To: states.Manageable},
		{From: states.ServiceFail, Event: states.EventAbort, To: states.Active},
		{From: 200, Event: 200, To: 200},
	} {
		require.False(t, table.IsRequest(row), row)
	}
	require.False(t, (*states.Table)(nil).IsRequest(states.Transition{}))
}

// From any state, clients and the conductor together can bring a node to any
// stable state but enroll and error, which only failures lead to.
func TestStableStatesAreReachableFromAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := states.Series(rapid.IntRange(int(states.Kilo), int(states.Latest())).Draw(t, "series")).Table()
		from := rapid.SampledFrom(slices.Collect(table.States().All())).Draw(t, "from")
		reached := states.SetOf(from)
		for grown := true; grown; {
			before := reached
			for row := range table.Transitions() {
				if reached.Has(row.From) {
					reached = reached.Union(states.SetOf(row.To))
				}
			}
			grown = reached != before
		}
		onlyByFailure := states.SetOf(states.Enroll, states.Error)
		if missing := table.Stable().Minus(onlyByFailure).Minus(reached); missing.Len() > 0 {
			t.Fatalf("%v: nothing leads from %v to %v", table.Series(), from, missing)
		}
	})
}
