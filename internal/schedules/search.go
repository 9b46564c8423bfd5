// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package schedules

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Run is one execution of the code by one schedule. Its methods are called by the search alone, in the bubble.
type Run interface {
	// Choices returns the choices of the present state, always in the same order.
	Choices() []Choice
	// Apply carries a choice out, waits until all goroutines wait again, and returns what they have read and written.
	Apply(Choice) Access
	// Key returns a hash of the present state, by which the same state is recognized.
	Key() uint64
	// Over reports whether nothing is left that could happen.
	Over() bool
	// Fail and Failure are methods of [Failures].
	Fail(format string, args ...any)
	Failure() string
	// CheckEnd checks the last state of a schedule, and may record a failure.
	CheckEnd()
	// Ending describes the last state, for a comparison of searches.
	Ending() string
	// Close ends all goroutines of the run.
	Close()
}

// Search is a depth-first search through the schedules of a Run.
//
// Goroutines cannot be rolled back, so that the search begins each schedule anew: it repeats the choices that lead to
// the last state with a choice that was not tried, and goes on from there. A repeated state that does not offer the
// same choices as before, or is the end, ends the search with a failure.
//
// Two things spare schedules. Neither leaves out a state, provided that the Run's accesses and keys are complete:
//
//   - Sleep sets (Godefroid): two choices are independent if no object is written by one of them and read or written by
//     the other. The reads and writes of a choice are recorded while it is carried out, with the reads of its checks.
//     Of independent choices a and b the search tries a first, and then, after b, not a again: the state after b and a
//     is the state after a and b. The choice a sleeps until a choice that depends on it.
//   - States that were seen before are not entered again. Since a state is left with the choices that slept in it
//     untried, the search remembers them, and tries those that do not sleep when it meets the state again.
type Search struct {
	T         *testing.T
	Start     func(*testing.T) Run // begins a schedule, in the bubble
	Unreduced bool                 // try every order of all choices, for a comparison
	Limit     time.Duration        // of the search; 0 for none

	// The fields below are results.

	Schedules int
	Failure   string   // the first failure, which has ended the search
	Failed    []string // the schedule that failed
	Complete  bool     // every schedule was tried
	Took      time.Duration
	Seen      map[uint64]map[string]bool // the keys of the states, each with the choices that were not tried in it
	Endings   map[string]bool            // the last states of the schedules

	stack []*frame
}

// frame is a state on the way of the current schedule.
type frame struct {
	key     uint64
	choices []string
	sleep   map[string]Access
	todo    []string
	chosen  string
	access  Access // of the chosen one
}

// maxChoices bounds a schedule: a longer one has no end.
const maxChoices = 500

// Explore searches all schedules, until one fails.
func (s *Search) Explore() {
	s.Seen, s.Endings = map[uint64]map[string]bool{}, map[string]bool{}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the garbage of a schedule is short-lived
	begun := time.Now()
	defer func() { s.Took = time.Since(begun) }()
	for {
		synctest.Test(s.T, s.run)
		s.Schedules++
		if s.Failure != "" || s.T.Failed() || s.Limit > 0 && time.Since(begun) > s.Limit {
			return
		}
		if !s.backtrack() {
			s.Complete = true
			return
		}
	}
}

// String says how much of the bounds the search has seen.
func (s *Search) String() string {
	complete := map[bool]string{true: "complete", false: "not complete"}[s.Complete]
	figures := fmt.Sprintf("%d schedules, %d states, %d endings", s.Schedules, len(s.Seen), len(s.Endings))
	return fmt.Sprintf("%s, %s, in %v", figures, complete, s.Took.Round(time.Millisecond))
}

// backtrack goes back to the last state with a choice that was not tried, and chooses it.
func (s *Search) backtrack() bool {
	for len(s.stack) > 0 {
		f := s.stack[len(s.stack)-1]
		if f.access != nil {
			f.sleep[f.chosen] = f.access
		}
		f.access = nil
		if len(f.todo) > 0 {
			f.chosen, f.todo = f.todo[0], f.todo[1:]
			return true
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return false
}

// run repeats the choices of the stack and goes on until nothing is left, or to a state that was seen before.
func (s *Search) run(t *testing.T) {
	r := s.Start(t)
	defer r.Close()
	for depth := 0; ; depth++ {
		if r.Failure() != "" || r.Over() {
			if depth < len(s.stack) {
				s.strays(depth, "ends earlier than before: "+r.Failure())
				return
			}
			s.end(r)
			return
		}
		choices := r.Choices()
		if depth == len(s.stack) && !s.enter(r, choices) {
			return
		}
		f := s.stack[depth]
		if offered := names(choices); !slices.Equal(offered, f.choices) {
			s.strays(depth, fmt.Sprintf("offers\n%s\nand has offered\n%s", strings.Join(offered, "\n"), strings.Join(f.choices, "\n")))
			return
		}
		if depth > maxChoices {
			r.Fail("the schedule has no end")
			s.end(r)
			return
		}
		f.access = r.Apply(choices[slices.Index(f.choices, f.chosen)]).Clone()
	}
}

// strays ends the search: after some choices of the stack the run is not as it was before.
func (s *Search) strays(depth int, how string) {
	s.Failure, s.Failed = "a repeated schedule "+how, s.way()[:depth]
}

// enter adds a new state to the stack, and reports whether a choice is left to try in it.
func (s *Search) enter(r Run, choices []Choice) bool {
	key := r.Key()
	if slices.ContainsFunc(s.stack, func(f *frame) bool { return f.key == key }) { // the schedule goes round in a circle
		if !slices.ContainsFunc(choices, func(c Choice) bool { return !c.Fault && !c.Idle && c.Name != Passes }) {
			s.end(r)
		}
		return false
	}
	f := &frame{key: key, choices: names(choices), sleep: map[string]Access{}}
	if last := len(s.stack) - 1; last >= 0 && !s.Unreduced {
		for name, access := range s.stack[last].sleep {
			if access.Independent(s.stack[last].access) {
				f.sleep[name] = access
			}
		}
	}
	untried, known := s.Seen[key]
	slept := map[string]bool{}
	for _, name := range f.choices {
		_, sleeps := f.sleep[name]
		switch {
		case known && !untried[name] && !s.Unreduced:
		case sleeps:
			slept[name] = true
		default:
			f.todo = append(f.todo, name)
		}
	}
	s.Seen[key] = slept
	if len(f.todo) == 0 {
		return false
	}
	f.chosen, f.todo = f.todo[0], f.todo[1:]
	s.stack = append(s.stack, f)
	return true
}

// end checks the last state of a schedule.
func (s *Search) end(r Run) {
	if r.Failure() == "" {
		r.CheckEnd()
	}
	if r.Failure() != "" {
		s.Failure, s.Failed = r.Failure(), s.way()
	}
	s.Endings[r.Ending()] = true
}

// way returns the current schedule.
func (s *Search) way() (names []string) {
	for _, f := range s.stack {
		names = append(names, f.chosen)
	}
	return names
}

// Repeat takes the choices of a schedule, and returns those that were taken until it failed, and the failure. Choices
// that are not possible are left out; after the last one the first free choice of each state is taken.
func Repeat(t *testing.T, start func(*testing.T) Run, schedule []string) (taken []string, failure string) {
	synctest.Test(t, func(t *testing.T) {
		run, left := start(t), schedule
		defer run.Close()
		for run.Failure() == "" && !run.Over() && len(taken) < maxChoices {
			choices := run.Choices()
			names, next := names(choices), -1
			for next < 0 && len(left) > 0 {
				next, left = slices.Index(names, left[0]), left[1:]
			}
			if next < 0 {
				next = slices.IndexFunc(choices, func(c Choice) bool { return !c.Fault && !c.Idle })
			}
			if next < 0 {
				next = slices.IndexFunc(choices, func(c Choice) bool { return !c.Fault })
			}
			taken = append(taken, names[next])
			run.Apply(choices[next])
		}
		if run.Failure() == "" {
			run.CheckEnd()
		}
		failure = run.Failure()
	})
	return taken, failure
}

// Shrink returns a schedule that fails, and its failure, without the choices that are not needed for that.
func Shrink(t *testing.T, start func(*testing.T) Run, schedule []string, failure string) ([]string, string) {
	for i := len(schedule) - 1; i >= 0; i-- {
		shorter, again := Repeat(t, start, slices.Delete(slices.Clone(schedule), i, i+1))
		if again != "" && len(shorter) < len(schedule) {
			schedule, failure, i = shorter, again, len(shorter)
		}
	}
	return schedule, failure
}
