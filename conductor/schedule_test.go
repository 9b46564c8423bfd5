// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/schedules"
)

var (
	scheduleFile   = flag.String("schedule", "", "run only the schedule of this file and print its choices")
	scheduleRecord = flag.Bool("schedule.record", false, "write the schedules that break a promise by a broken assumption to testdata")
	scheduleBounds = flag.String("schedule.bounds", "small", "small, medium or large: seconds, minutes or hours")
	scheduleLimit  = flag.Duration("schedule.limit", 0, "the time for the search within one bound; 0 for none")
)

// scheduleTests are the scenarios that the tests explore completely, by the size of their bounds.
var scheduleTests = map[string][]struct {
	conductors, faults int
	names              []string
}{
	"small": {
		{2, 1, []string{
			"verify", "verify by another", "clean", "clean by two requests", "deploy", "tear down", "power on",
			"power sync", "allocate", "verify with a restart", "power on with a restart",
		}},
		{2, 0, []string{
			"verify twice", "verify and change", "verify and delete", "verify by the owner", "clean, wait and abort",
			"clean, hold and unhold", "clean by the agent",
		}},
		{1, 1, []string{"verify", "clean", "power on"}},
	},
	"medium": {
		{
			2, 1,
			[]string{
				"verify twice", "verify and change", "verify and delete",
				"verify by the owner", "clean, hold and unhold", "clean with a restart",
			},
		},
		{2, 0, []string{"deploy by the agent"}},
		{3, 1, []string{"verify", "clean", "power on", "allocate"}},
		{1, 2, []string{"verify", "power on"}},
		{2, 2, []string{"verify"}},
	},
	"raced": { // what small bounds are with the race detector
		{2, 1, []string{"verify", "power on"}},
		{2, 0, []string{"verify twice", "verify and delete", "verify by the owner", "clean, wait and abort"}},
	},
	"large": {{2, 2, scenarioNames()}, {3, 2, scenarioNames()}},
}

// TestSchedules runs the conductors of each scenario in every schedule within its bounds, and checks the promises.
func TestSchedules(t *testing.T) {
	needs.Time(t)
	size := *scheduleBounds
	if raced && size == "small" {
		size = "raced"
	}
	for _, bounds := range scheduleTests[size] {
		for _, name := range bounds.names {
			sc := within(name, bounds.conductors, bounds.faults)
			t.Run(sc.String(), func(t *testing.T) {
				e := explore(t, sc, "none", func(s *schedules.Search) { s.Limit = *scheduleLimit })
				t.Log(e)
				e.requireNone()
			})
		}
	}
}

// TestABrokenAssumptionBreaksAPromise explores with an assumption of the conductors broken: a check that cannot fail
// is none.
func TestABrokenAssumptionBreaksAPromise(t *testing.T) {
	needs.Time(t)
	type broken struct {
		scenario scenario
		failure  string
	}
	tests := map[string]broken{
		"a store that does not check versions":        {within("verify twice", 2, 0), "has replaced version"},
		"a store that loses writes":                   {within("verify", 1, 1), "is accepted, and the record has no such transition"},
		"a watch that leaves changes out":             {within("verify by another", 2, 1), "waits for nobody"},
		"a watch that leaves a deletion out":          {within("verify and delete", 2, 1), "stays in the index of"},
		"a lease that ends before its holder knows":   {within("clean", 2, 1), "alpha does bios.factory_reset"},
		"a membership that takes the living for dead": {within("clean", 2, 1), "dropped the reservation of alpha, which is alive"},
		"hardware without a fence":                    {within("clean by two requests", 2, 1), "alpha does power on"},
	}
	if *scheduleBounds != "small" { // TestScheduleFiles repeats this one always
		tests["a store that returns the past"] = broken{within("clean", 1, 2), "was not done"}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := explore(t, test.scenario, name)
			require.Contains(t, e.Failure, test.failure, "%v", e)
			found := e.found()
			t.Log(found)
			if *scheduleRecord {
				file := filepath.Join("testdata", "schedules", strings.ReplaceAll(name, " ", "-")+".txt")
				require.NoError(t, os.WriteFile(file, []byte(found.String()), 0o644))
			}
		})
	}
}

// TestTheReductionLeavesOutNoState compares the search with one that tries every order of all choices.
func TestTheReductionLeavesOutNoState(t *testing.T) {
	needs.Time(t)
	for _, sc := range []scenario{within("verify", 1, 1), within("verify twice", 2, 0), within("verify", 2, 1)} {
		reduced := explore(t, sc, "none")
		if raced && reduced.Schedules > 200 {
			continue
		}
		all := explore(t, sc, "none", unreduced)
		t.Logf("%v\nwithout reduction: %v", reduced, all)
		require.Equal(t, all.Endings, reduced.Endings)
		require.ElementsMatch(t, slices.Collect(maps.Keys(all.Seen)), slices.Collect(maps.Keys(reduced.Seen)))
		require.Less(t, reduced.Schedules, all.Schedules)
	}
}

// TestScheduleFiles repeats schedules that once broke a promise, or do so with a broken assumption.
func TestScheduleFiles(t *testing.T) {
	files := []string{*scheduleFile}
	if *scheduleFile == "" {
		var err error
		files, err = filepath.Glob("testdata/schedules/*.txt")
		require.NoError(t, err)
		require.NotEmpty(t, files)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := parseSchedule(string(text))
			require.NoError(t, err)
			again := s.repeat(t)
			if *scheduleFile != "" {
				t.Log(again)
			}
			require.Equal(t, s.failure == "", again.failure == "", "%v", again)
			require.Contains(t, again.failure, s.failure, "%v", again)
		})
	}
}

// TestTheSpecificationHasTheSchedules compares the schedules in SPEC.md with their files.
func TestTheSpecificationHasTheSchedules(t *testing.T) {
	text, err := os.ReadFile("SPEC.md")
	require.NoError(t, err)
	for name := range broken {
		if name != "none" {
			file, err := os.ReadFile(filepath.Join("testdata", "schedules", strings.ReplaceAll(name, " ", "-")+".txt"))
			require.NoError(t, err)
			require.Contains(t, string(text), "```\n"+string(file)+"```\n")
		}
	}
}

func TestAFileOfAScheduleNeedsItsHead(t *testing.T) {
	for _, text := range []string{
		"", "scenario: verify: 2 conductors, 1 faults\n", "scenario: verify: 2 conductors\nbroken assumption: none\nbroken promise:\n",
		"scenario: none: 2 conductors, 1 faults\nbroken assumption: none\nbroken promise:\n",
		"scenario: verify: 2 conductors, 1 faults\nbroken assumption: another\nbroken promise:\n",
	} {
		_, err := parseSchedule(text)
		require.Error(t, err, "%q", text)
	}
	s := schedule{within("verify", 2, 1), "none", "", []string{"alpha: dies"}}
	parsed, err := parseSchedule(s.String())
	require.NoError(t, err)
	require.Equal(t, s.String(), parsed.String())
}

// BenchmarkSchedules reports the states and the schedules that a search visits a second.
func BenchmarkSchedules(b *testing.B) {
	var states, tried int
	begun := time.Now()
	for b.Loop() {
		verify := func(t *testing.T) {
			e := explore(t, within("verify", 2, 1), "none")
			states, tried = states+len(e.Seen), tried+e.Schedules
		}
		all := func(string, string) (bool, error) { return true, nil }
		require.True(b, testing.RunTests(all, []testing.InternalTest{{Name: "verify", F: verify}}))
	}
	b.ReportMetric(float64(states)/time.Since(begun).Seconds(), "states/s")
	b.ReportMetric(float64(tried)/time.Since(begun).Seconds(), "schedules/s")
}
