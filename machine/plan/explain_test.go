// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

func rows(all []states.Transition) []string {
	var words []string
	for _, row := range all {
		words = append(words, row.String())
	}
	return words
}

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		seen []states.State
		want [][]string
	}{
		"nothing":          {nil, nil},
		"one observation":  {[]states.State{states.Active}, nil},
		"nothing happened": {[]states.State{states.Active, states.Active}, [][]string{nil}},
		"a gap": {[]states.State{states.Available, states.Active, states.Active}, [][]string{
			{"available --deploy--> deploying", "deploying --done--> active"}, nil,
		}},
		"success is likelier than failure": {[]states.State{states.InspectWait, states.Manageable}, [][]string{
			{"inspect wait --done--> manageable"},
		}},
		"abort counts as failure, and a timeout needs no request": {[]states.State{states.CleanWait, states.CleanFail}, [][]string{
			{"clean wait --fail--> clean failed"},
		}},
		"a failed verification": {[]states.State{states.Verifying, states.Enroll, states.Manageable}, [][]string{
			{"verifying --fail--> enroll"},
			{"enroll --manage--> verifying", "verifying --done--> manageable"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gaps, err := plan.Explain(latest, test.seen)
			require.NoError(t, err)
			var got [][]string
			for _, gap := range gaps {
				got = append(got, rows(gap))
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestTheFirstImpossibleObservationIsReported(t *testing.T) {
	gaps, err := plan.Explain(latest, []states.State{states.Verifying, states.Manageable, states.Enroll, states.Error})
	require.Len(t, gaps, 1, "those before the impossible observation")
	require.EqualError(t, err,
		`observation 2: "enroll" cannot come after "manageable" in 2026.2; it can come after {enroll, verifying}`)

	_, err = plan.Explain(states.Kilo.Table(), []states.State{states.Available, states.Rescue})
	require.ErrorContains(t, err, `observation 1: state "rescue" is not one of kilo's`)
	require.ErrorAs(t, err, new(*machine.StateError))
	_, err = plan.Explain(latest, []states.State{200})
	require.ErrorContains(t, err, `observation 0: state "State(200)" is not one of 2026.2's`)
	_, err = plan.Explain(nil, []states.State{states.Enroll})
	require.EqualError(t, err, `observation 0: no table for state "enroll": take one from states.Series.Table`)
}

// checkHistory fails the test unless the gaps lead from each known observed state to
// the next by transitions of the table.
func checkHistory(t require.TestingT, table *states.Table, seen []states.State, gaps [][]states.Transition) {
	require.Len(t, gaps, max(0, len(seen)-1))
	at := states.NoState
	for i, observed := range seen {
		if i > 0 && at != states.NoState {
			for _, row := range gaps[i-1] {
				require.Equal(t, at, row.From)
				to, ok := table.Next(row.From, row.Event)
				require.True(t, ok)
				require.Equal(t, to, row.To)
				at = row.To
			}
		}
		if observed == states.UnknownState {
			require.True(t, i == 0 || len(gaps[i-1]) == 0)
			continue
		}
		if at == states.NoState {
			at = observed
		}
		require.Equal(t, observed, at)
	}
}

func TestUnknownStatesBreakNoHistory(t *testing.T) {
	const unknown = states.UnknownState
	gaps, err := plan.Explain(latest, []states.State{unknown, states.Enroll, unknown, unknown, states.Manageable, unknown})
	require.NoError(t, err)
	require.Equal(t, [][]states.Transition{nil, nil, nil, {
		{From: states.Enroll, Event: states.EventManage, To: states.Verifying},
		{From: states.Verifying, Event: states.EventDone, To: states.Manageable},
	}, nil}, gaps)
	_, err = plan.Explain(latest, []states.State{states.Manageable, unknown, states.Enroll})
	require.EqualError(t, err,
		`observation 2: "enroll" cannot come after "manageable" in 2026.2; it can come after {enroll, verifying}`)
}

func TestEveryWalkObservedWithGapsIsExplained(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		series := rapid.SampledFrom(slices.Collect(states.AllSeries())).Draw(rt, "series")
		table := series.Table()
		walk := rapidstates.Walk(table).Draw(rt, "walk")
		seen := []states.State{walk[0].From}
		for _, row := range walk {
			for range rapid.IntRange(0, 2).Draw(rt, "observations") {
				seen = append(seen, row.To)
			}
		}
		gaps, err := plan.Explain(table, seen)
		require.NoError(rt, err)
		checkHistory(rt, table, seen, gaps)
		require.LessOrEqual(rt, len(slices.Concat(gaps...)), len(walk), "no longer than what happened")
	})
}

// TestEveryPairIsExplainedOrImpossible compares with a breadth-first search.
func TestEveryPairIsExplainedOrImpossible(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for from := range table.States().All() {
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
			for to := range table.States().All() {
				seen := []states.State{from, to}
				gaps, err := plan.Explain(table, seen)
				want, ok := steps[to]
				require.Equal(t, ok, err == nil, "%v: %v", series, seen)
				if ok {
					require.Len(t, gaps[0], want, "%v: %v", series, seen)
					checkHistory(t, table, seen, gaps)
				}
			}
		}
	}
}
