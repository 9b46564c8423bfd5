// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestWorksHaveTheirStates(t *testing.T) {
	const none = states.NoState
	tests := []struct {
		work                           states.Work
		word                           string
		working, waiting, held, failed states.State
	}{
		{states.WorkVerify, "verify", states.Verifying, none, none, none},
		{states.WorkInspect, "inspect", states.Inspecting, states.InspectWait, none, states.InspectFail},
		{states.WorkClean, "clean", states.Cleaning, states.CleanWait, states.CleanHold, states.CleanFail},
		{states.WorkDeploy, "deploy", states.Deploying, states.DeployWait, states.DeployHold, states.DeployFail},
		{states.WorkAdopt, "adopt", states.Adopting, none, none, states.AdoptFail},
		{states.WorkRescue, "rescue", states.Rescuing, states.RescueWait, none, states.RescueFail},
		{states.WorkUnrescue, "unrescue", states.Unrescuing, none, none, states.UnrescueFail},
		{states.WorkService, "service", states.Servicing, states.ServiceWait, states.ServiceHold, states.ServiceFail},
		{states.WorkDelete, "delete", states.Deleting, none, none, states.Error},
	}
	works := slices.Collect(states.AllWorks())
	require.Len(t, works, len(tests))
	for i, test := range tests {
		require.Equal(t, test.work, works[i])
		require.Equal(t, test.word, test.work.String())
		require.Equal(t, []states.State{test.working, test.waiting, test.held, test.failed},
			[]states.State{test.work.Working(), test.work.Waiting(), test.work.Held(), test.work.Failed()}, test.work)
	}
	for _, w := range []states.Work{states.NoWork, states.WorkDelete + 1, 200} {
		require.Equal(t, []states.State{none, none, none, none}, []states.State{w.Working(), w.Waiting(), w.Held(), w.Failed()}, w)
		require.Zero(t, w.InProgress())
		require.Zero(t, w.States())
	}
}

// TestAStateIsStableOrBelongsToAWork asks each table about each state: only a stable one may belong to no work, and a
// work has one state at most in each phase.
func TestAStateIsStableOrBelongsToAWork(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		for s := range table.States().All() {
			w, phase := table.Work(s), table.Phase(s)
			require.Equal(t, s.Work(), w, s)
			if phase == states.PhaseStable {
				require.Equal(t, states.NoWork, w, s)
				require.True(t, table.Stable().Has(s), s)
				continue
			}
			require.NotEqual(t, states.NoWork, w, s)
			require.Equal(t, s, map[states.Phase]states.State{
				states.PhaseWorking: w.Working(), states.PhaseWaiting: w.Waiting(), states.PhaseHold: w.Held(), states.PhaseFailed: w.Failed(),
			}[phase], "%v is not the state of %v in its phase", s, w)
			require.Equal(t, phase != states.PhaseFailed, w.InProgress().Has(s), s)
			require.Equal(t, phase != states.PhaseFailed, s.InProgress(), s)
			require.True(t, w.States().Has(s), s)
			require.True(t, table.States().Has(w.Working()), "%v: the series has no working state of %v", s, w)
		}
		for _, s := range []states.State{states.NoState, states.UnknownState, 63, 64, 200} {
			require.Equal(t, states.NoWork, table.Work(s), s)
		}
	})
	for s := range 256 {
		s, w := states.State(s), states.State(s).Work()
		require.Equal(t, states.Latest().Table().Work(s), w, "the newest series has all states")
		require.Equal(t, w != states.NoWork, w.States().Has(s), s)
	}
	require.Equal(t, states.NoWork, states.Antelope.Table().Work(states.Servicing), "the series has no service")
	require.Equal(t, states.NoWork, (*states.Table)(nil).Work(states.Cleaning))
}

// TestTheStatesOfAWorkAreOneWork follows the conductor's transitions: they stay within the work, and only a request,
// the end of the work or its failure leads out of it.
func TestTheStatesOfAWorkAreOneWork(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		for row := range table.Transitions() {
			from, to := table.Work(row.From), table.Work(row.To)
			switch row.Event {
			case states.EventWait:
				require.Equal(t, from.Waiting(), row.To, row)
			case states.EventResume:
				require.Equal(t, from.Working(), row.To, row)
			case states.EventHold:
				require.Equal(t, from.Held(), row.To, row)
			case states.EventUnhold:
				require.Equal(t, from.Waiting(), row.To, row)
			case states.EventFail, states.EventError:
				require.Equal(t, from.Failed(), to.Failed(), row)
			case states.EventDone:
				require.Equal(t, states.NoWork, to, row)
			}
			if from != to && to != states.NoWork {
				require.Equal(t, to.Working(), row.To, "%v: other work begins in its working state", row)
			}
		}
	})
}

func TestAWorkIsWrittenAsItsWord(t *testing.T) {
	require.Equal(t, `"clean"`, states.WorkClean.GoString())
	got, err := states.ParseWork("clean")
	require.NoError(t, err)
	require.Equal(t, states.WorkClean, got)
	got, err = states.ParseWork("")
	require.NoError(t, err)
	require.Equal(t, states.NoWork, got)
}
