package plan_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestPath(t *testing.T) {
	tests := map[string]struct {
		from, to states.State
		avoid    []states.Event
		want     []string
	}{
		"nowhere": {states.Active, states.Active, nil, nil},
		"by adoption": {states.Enroll, states.Active, nil, []string{
			"enroll --manage--> verifying", "verifying --done--> manageable",
			"manageable --adopt--> adopting", "adopting --done--> active",
		}},
		"by deployment": {states.Enroll, states.Active, []states.Event{states.EventAdopt}, []string{
			"enroll --manage--> verifying", "verifying --done--> manageable",
			"manageable --provide--> cleaning", "cleaning --done--> available",
			"available --deploy--> deploying", "deploying --done--> active",
		}},
		"automated cleaning does not end in manageable": {states.Active, states.Manageable, nil, []string{
			"active --delete--> deleting", "deleting --clean--> cleaning", "cleaning --done--> available",
			"available --manage--> manageable",
		}},
		"out of a manual cleaning": {states.CleanHold, states.Manageable, nil, []string{
			"clean hold --unhold--> clean wait", "clean wait --resume--> cleaning", "cleaning --manage--> manageable",
		}},
		"to a failure": {states.Active, states.Error, nil, []string{
			"active --delete--> deleting", "deleting --fail--> error",
		}},
		"a timeout rather than an abort": {states.CleanWait, states.CleanFail, nil, []string{
			"clean wait --fail--> clean failed",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := plan.Path(latest, test.from, test.to, test.avoid...)
			require.NoError(t, err)
			require.Equal(t, test.want, rows(path))
		})
	}

	_, err := plan.Path(latest, states.Available, states.Enroll)
	require.ErrorIs(t, err, plan.ErrNoPath)
	require.EqualError(t, err, `nothing leads from "available" to "enroll" in 2026.2`)
	_, err = plan.Path(nil, states.Available, states.Enroll)
	require.ErrorIs(t, err, machine.ErrNoTable)
	_, err = plan.Path(states.Kilo.Table(), states.Available, states.Enroll)
	require.ErrorIs(t, err, machine.ErrNoSuchState)
}

// follows fails the test unless a walk follows the table.
func follows(t *testing.T, table *states.Table, from states.State, walk []states.Transition) states.State {
	t.Helper()
	for _, row := range walk {
		to, ok := table.Next(from, row.Event)
		require.True(t, ok && row.From == from && row.To == to, "%v: %v", table.Series(), rows(walk))
		from = to
	}
	return from
}

func countRequests(walk []states.Transition) int {
	count := 0
	for _, row := range walk {
		if row.Event.Verb() != "" && row.From != states.Deleting && row.From != states.Cleaning {
			count++
		}
	}
	return count
}

// cleansAsAsked reports whether only a cleaning that began as a manual one ends
// in manageable, and only an automated one in available.
func cleansAsAsked(walk []states.Transition) bool {
	known, manual := false, false
	for _, row := range walk {
		switch {
		case row.To == states.Cleaning && row.Event != states.EventResume:
			known, manual = true, row.From == states.Manageable && row.Event == states.EventClean
		case row.From == states.Cleaning && row.Event == states.EventDone && known && manual,
			row.From == states.Cleaning && row.Event == states.EventManage && known && !manual:
			return false
		}
	}
	return true
}

// TestNoSimplePathIsShorterThanPath compares with the first twenty of all.
func TestNoSimplePathIsShorterThanPath(t *testing.T) {
	for _, series := range []states.Series{states.Kilo, states.Queens, states.Hibiscus} {
		table := series.Table()
		for from := range table.States().All() {
			for to := range table.States().All() {
				shortest, err := plan.Path(table, from, to)
				paths, pathsErr := plan.AllPaths(table, from, to)
				require.NoError(t, pathsErr)
				seen := 0
				for path := range paths {
					require.NoError(t, err)
					require.Equal(t, to, follows(t, table, from, path))
					if cleansAsAsked(path) {
						require.LessOrEqual(t, countRequests(shortest), countRequests(path))
					}
					if seen++; seen == 20 {
						break
					}
				}
				require.Equal(t, err == nil, seen > 0)
				if err == nil {
					require.Equal(t, to, follows(t, table, from, shortest))
				}
			}
		}
	}
}

func TestAllPaths(t *testing.T) {
	paths, err := plan.AllPaths(latest, states.Verifying, states.Enroll)
	require.NoError(t, err)
	var got [][]string
	for path := range paths {
		got = append(got, rows(path))
	}
	require.Equal(t, [][]string{{"verifying --fail--> enroll"}}, got)

	paths, err = plan.AllPaths(states.Kilo.Table(), states.Available, states.Active)
	require.NoError(t, err)
	seen := make(map[string]bool)
	for path := range paths {
		been := map[states.State]bool{states.Available: true}
		text := ""
		for _, row := range path {
			require.False(t, been[row.To], "comes to no state twice")
			been[row.To] = true
			text += row.String() + "\n"
		}
		require.False(t, seen[text], "comes once")
		seen[text] = true
	}
	require.Equal(t, simplePaths(states.Kilo.Table(), states.Available, states.Active, nil), len(seen))

	_, err = plan.AllPaths(latest, 200, states.Active)
	require.ErrorIs(t, err, machine.ErrNoSuchState)
}

// simplePaths counts by trying everything.
func simplePaths(table *states.Table, from, to states.State, been []states.State) int {
	if from == to {
		return 1
	}
	count := 0
	been = append(slices.Clip(been), from)
	for event := range table.Events(from) {
		if next, _ := table.Next(from, event); !slices.Contains(been, next) {
			count += simplePaths(table, next, to, been)
		}
	}
	return count
}

func TestWalksCover(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		start := series.MaxAPIVersion().InitialState()

		walks, err := plan.CoverStates(table)
		require.NoError(t, err)
		been := states.SetOf(start)
		stateSteps := 0
		for _, walk := range walks {
			follows(t, table, start, walk)
			stateSteps += len(walk)
			for _, row := range walk {
				been = been.Union(states.SetOf(row.To))
			}
		}
		require.Equal(t, table.States(), been)

		walks, err = plan.CoverTransitions(table)
		require.NoError(t, err)
		taken := make(map[states.Transition]bool)
		steps := 0
		for _, walk := range walks {
			follows(t, table, start, walk)
			steps += len(walk)
			for _, row := range walk {
				taken[row] = true
			}
		}
		all := slices.Collect(table.Transitions())
		require.ElementsMatch(t, all, slices.Collect(maps.Keys(taken)))
		t.Logf("%v: %d states in %d steps, %d transitions in %d steps, %d walks",
			series, table.States().Len(), stateSteps, len(all), steps, len(walks))
	}

	_, err := plan.CoverStates(nil)
	require.ErrorIs(t, err, machine.ErrNoTable)
	_, err = plan.CoverTransitions(new(states.Table))
	require.ErrorIs(t, err, machine.ErrNoSuchState)
}
