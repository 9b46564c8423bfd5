// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// requests and reports return callers of which a success has one transition.
func requests(word string) scheduleCaller {
	return scheduleCaller{"requests " + word, 1, func(ctx context.Context, m mover) error {
		return m.Request(ctx, word, states.Latest().MaxAPIVersion())
	}}
}

func reports(event states.Event) scheduleCaller {
	return scheduleCaller{"reports " + event.String(), 1, func(ctx context.Context, m mover) error { return m.Report(ctx, event, "") }}
}

// abortsTwice is a request that has two transitions.
var abortsTwice = func() scheduleCaller { c := requests("abort"); c.wants = 2; return c }()

// scheduleScenarios are those that the tests explore completely.
var scheduleScenarios = []scheduleScenario{
	{"two requests", 2, node(states.Enroll), []scheduleCaller{requests("manage"), requests("manage")}},
	{"a request and its work", 2, node(states.Enroll), []scheduleCaller{requests("manage"), reports(states.EventDone)}},
	{"two results", 2, node(states.Verifying), []scheduleCaller{reports(states.EventDone), reports(states.EventFail)}},
	{"an abort of two transitions", 2, node(states.ServiceWait), []scheduleCaller{abortsTwice, reports(states.EventResume)}},
	{"an abort and a request", 1, node(states.ServiceWait), []scheduleCaller{abortsTwice, requests("service")}},
	{"three callers", 1, node(states.Verifying), []scheduleCaller{
		reports(states.EventDone), reports(states.EventFail), requests("manage"),
	}},
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

// TestSchedules runs the callers of each scenario in every schedule within its bounds, and checks the promises.
func TestSchedules(t *testing.T) {
	needs.Time(t)
	for _, sc := range scheduleScenarios {
		if schedules.Raced {
			sc.faults--
		}
		t.Run(sc.String(), func(t *testing.T) {
			s, found := explore(t, sc, "none")
			t.Log(s)
			require.Empty(t, found)
			require.True(t, s.Complete)
		})
	}
}

// TestADefectBreaksAPromise explores with a broken assumption or a broken machine: a check that cannot fail is none.
func TestADefectBreaksAPromise(t *testing.T) {
	for name, want := range map[string]string{
		"a machine without defects":                     "",
		"a save hook that stores and fails":             "is stored, and the node is in",
		"a machine without a lock":                      "sees a transition while",
		"a machine that moves too early":                "hooks have not agreed",
		"a machine that moves against its hooks":        "hooks have not agreed",
		"a machine that goes astray":                    "hooks have not agreed",
		"a machine that calls exit hooks too early":     "exit hooks have seen 1 transitions, and 0 have happened",
		"a machine that leaves hooks out":               "1 transitions have happened; exit hooks have seen 1, enter hooks 0",
		"a machine that repeats hooks":                  "enter hooks have seen 2 transitions",
		"a machine that keeps failures to itself":       "is told of a success",
		"a machine that does not say that it has moved": "is told that its change has happened: false, and 1 transitions have",
		"a machine that stays locked":                   "waits for ever",
		"a machine without a history":                   "and the history has 0",
	} {
		t.Run(name, func(t *testing.T) {
			sc := scheduleScenarios[1]
			if name == "a machine without a lock" {
				sc = scheduleScenarios[2]
			}
			sc.faults = 1
			s, found := explore(t, sc, name)
			t.Logf("%v\n%s", s, found)
			require.Contains(t, found, want)
			require.Equal(t, want == "", s.Complete)
		})
	}
}

// TestTheReductionLeavesOutNoState compares the search with one that tries every order of all choices.
func TestTheReductionLeavesOutNoState(t *testing.T) {
	needs.Time(t)
	sc := scheduleScenarios[1]
	if sc.faults = 1; schedules.Raced {
		sc.faults = 0
	}
	start := func(t *testing.T) schedules.Run { return startSchedule(t, sc, broken["none"]) }
	reduced, all := &schedules.Search{T: t, Start: start}, &schedules.Search{T: t, Start: start, Unreduced: true}
	reduced.Explore()
	all.Explore()
	t.Logf("%v\nwithout reduction: %v", reduced, all)
	require.Equal(t, all.Endings, reduced.Endings)
	require.ElementsMatch(t, slices.Collect(maps.Keys(all.Seen)), slices.Collect(maps.Keys(reduced.Seen)))
	require.Less(t, reduced.Schedules, all.Schedules)
}

var _ mover = (*machine.Machine)(nil)
