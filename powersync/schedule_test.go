// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/schedules"
)

var scheduleBounds = flag.String("schedule.bounds", "small", "small or medium: seconds or minutes")

// scheduleTests are the scenarios that the tests explore completely, by the size of their bounds and the number of
// faults.
var scheduleTests = map[string]map[int][]string{
	"small": {
		0: {"two rounds of two nodes"},
		1: {
			"two rounds", "a round and a change", "a round and a reservation", "a request and a round", "two requests",
			"a recovery and a round", "two recoveries", "a process that starts again",
			"a request and a round of one Syncer", "a recovery and a round of one Syncer",
		},
	},
	"medium": {
		1: {"a round while a process starts again", "two rounds of two nodes"},
		2: {
			"two rounds", "a round and a change", "a round and a reservation", "a request and a round", "two requests",
			"a recovery and a round", "two recoveries", "a process that starts again",
			"a request and a round of one Syncer", "a recovery and a round of one Syncer",
		},
	},
}

// explore searches all schedules of a scenario, and returns the search with the shortened schedule that fails, if any.
func explore(t *testing.T, sc scheduleScenario, assumption string) (search *schedules.Search, found string) {
	start := func(t *testing.T) schedules.Run { return startSchedule(t, sc, broken[assumption]) }
	s := &schedules.Search{T: t, Start: start}
	s.Explore()
	if s.Failure != "" {
		choices, failure := schedules.Shrink(t, start, s.Failed, s.Failure)
		found = failure + "\n" + strings.Join(choices, "\n")
	}
	return s, found
}

// TestSchedules runs the Syncers of each scenario in every schedule within its bounds, and checks the promises.
func TestSchedules(t *testing.T) {
	needs.Time(t)
	for faults, names := range scheduleTests[*scheduleBounds] {
		if schedules.Raced {
			faults = 0
		}
		for _, name := range names {
			sc := within(name, faults)
			t.Run(sc.String(), func(t *testing.T) {
				s, found := explore(t, sc, "none")
				t.Log(s)
				require.Empty(t, found)
				require.True(t, s.Complete)
			})
		}
	}
}

// TestABrokenAssumptionBreaksAPromise explores with an assumption of the Syncers broken: a check that cannot fail is
// none.
func TestABrokenAssumptionBreaksAPromise(t *testing.T) {
	for name, test := range map[string]struct {
		scenario scheduleScenario
		failure  string
	}{
		"a store that does not check versions":        {within("two rounds", 0), "was replaced, and version"},
		"a store that loses writes":                   {within("two requests", 1), "the record has not had"},
		"a store that leaves a node out":              {within("two rounds of two nodes", 0), "reports 1"},
		"a store that lists a node twice":             {within("a process that starts again", 1), "is asked again"},
		"a writer that does not respect reservations": {within("a round and a change", 0), "which is in enroll"},
		"two processes of one name":                   {within("two rounds", 0), "reserved by"},
		"a process that starts with another name":     {within("two rounds", 1), "is forgotten"},
		"a context that does not end":                 {within("two rounds", 1), "after the end of the context"},
	} {
		t.Run(name, func(t *testing.T) {
			s, found := explore(t, test.scenario, name)
			t.Logf("%v\n%s", s, found)
			require.Contains(t, found, test.failure)
		})
	}
}

// TestTheReductionLeavesOutNoState compares the search with one that tries every order of all choices.
func TestTheReductionLeavesOutNoState(t *testing.T) {
	needs.Time(t)
	scenarios := []scheduleScenario{within("two requests", 0), within("a recovery and a round", 1), within("a process that starts again", 1)}
	if schedules.Raced {
		scenarios = scenarios[:1]
	}
	for _, sc := range scenarios {
		start := func(t *testing.T) schedules.Run { return startSchedule(t, sc, broken["none"]) }
		reduced := &schedules.Search{T: t, Start: start}
		reduced.Explore()
		all := &schedules.Search{T: t, Start: start, Unreduced: true}
		all.Explore()
		t.Logf("%v: %v\nwithout reduction: %v", sc, reduced, all)
		require.Equal(t, all.Endings, reduced.Endings)
		require.ElementsMatch(t, slices.Collect(maps.Keys(all.Seen)), slices.Collect(maps.Keys(reduced.Seen)))
		require.Less(t, reduced.Schedules, all.Schedules)
	}
}
