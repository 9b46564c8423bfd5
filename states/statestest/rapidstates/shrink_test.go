// SPDX-License-Identifier: Apache-2.0

package rapidstates_test

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

// A recorder is a test that rapid may fail without failing the real one. It keeps the
// log.
type recorder struct {
	*testing.T
	log    string
	failed bool
}

func (r *recorder) Logf(format string, args ...any)   { r.log += fmt.Sprintf(format, args...) + "\n" }
func (r *recorder) Log(args ...any)                   { r.log += fmt.Sprintln(args...) }
func (r *recorder) Errorf(format string, args ...any) { r.Logf(format, args...); r.Fail() }
func (r *recorder) Error(args ...any)                 { r.Log(args...); r.Fail() }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...) }
func (r *recorder) FailNow()                          { r.Fail() }
func (r *recorder) Fail()                             { r.failed = true }
func (r *recorder) Failed() bool                      { return r.failed }

var draw = regexp.MustCompile(`draw value: (.*)`)

// printed runs rapid with a seed on a property that is false for some values, and
// returns the value that rapid prints after shrinking.
func printed[V any](t *testing.T, seed int, values *rapid.Generator[V], bad func(V) bool) string {
	t.Helper()
	set := func(name, value string) {
		before := flag.Lookup(name).Value.String()
		require.NoError(t, flag.Set(name, value))
		t.Cleanup(func() { require.NoError(t, flag.Set(name, before)) })
	}
	set("rapid.seed", strconv.Itoa(seed))
	set("rapid.nofailfile", "true")
	set("rapid.checks", "1000")
	r := &recorder{T: t}
	rapid.Check(r, func(rt *rapid.T) {
		if bad(values.Draw(rt, "value")) {
			rt.Fatalf("found")
		}
	})
	require.True(t, r.failed, "rapid finds no such value")
	found := draw.FindStringSubmatch(r.log)
	require.NotNil(t, found, r.log)
	return found[1]
}

func TestFailuresPrintWordsAndShrink(t *testing.T) {
	is := func(want states.State) func(states.State) bool {
		return func(s states.State) bool { return s >= want }
	}
	for seed := 1; seed <= 5; seed++ {
		require.Equal(t, `"available"`, printed(t, seed, rapid.SampledFrom(slices.Collect(states.Latest().Table().States().All())),
			is(states.Available)))
		require.Equal(t, `"active"`, printed(t, seed, rapid.SampledFrom(slices.Collect(states.Latest().Table().Stable().All())),
			is(states.Active)))
		require.Equal(t, `"rebuild"`, printed(t, seed, rapid.SampledFrom(slices.Collect(states.AllEvents())),
			func(e states.Event) bool { return e >= states.EventRebuild }))
		require.Equal(t, `"queens"`, printed(t, seed, rapid.SampledFrom(slices.Collect(states.AllSeries())),
			func(s states.Series) bool { return s >= states.Queens }))
	}
}

// TestWalksShrinkToTheStepsThatMatter checks three mistakes. The walks that show them
// have up to 32 steps before they shrink.
func TestWalksShrinkToTheStepsThatMatter(t *testing.T) {
	table := states.Latest().Table()
	aborted := func(walk []states.Transition) bool {
		for _, step := range walk {
			if step.Event == states.EventAbort {
				return true
			}
		}
		return false
	}
	failedTwice := func(walk []states.Transition) bool {
		count := 0
		for _, step := range walk {
			if step.Event == states.EventFail && step.From != step.To {
				count++
			}
		}
		return count == 2
	}
	refusedInActive := func(walk []states.Transition) bool {
		count := 0
		for _, step := range walk {
			if step.From == states.Active && step.To == states.Active {
				count++
			}
		}
		return count == 2
	}
	oneAbort := `^\[\]states\.Transition\{"[a-z -]+ --abort--> [a-z -]+"\}$`
	step := `"[a-z -]+ --[a-z]+--> [a-z -]+"`
	fewSteps := `^\[\]states\.Transition\{` + step + `(, ` + step + `){2,3}\}$`
	for seed := 1; seed <= 5; seed++ {
		require.Regexp(t, oneAbort, printed(t, seed, rapidstates.Walk(table), aborted))
		require.Regexp(t, oneAbort, printed(t, seed, rapidstates.MixedWalk(table), aborted))
		require.Regexp(t, fewSteps, printed(t, seed, rapidstates.Walk(table), failedTwice))
		require.Regexp(t, fewSteps, printed(t, seed, rapidstates.MixedWalk(table), failedTwice))
		require.Equal(t, `[]states.Transition{"active --manage--> active", "active --manage--> active"}`,
			printed(t, seed, rapidstates.MixedWalk(table), refusedInActive))
	}
}
