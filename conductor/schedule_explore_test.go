// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"fmt"
	"testing"

	"github.com/ironstate/ironstate/internal/schedules"
)

// exploration is a search through the schedules of a scenario. Choices are independent if they belong to different
// processes and no kind of record, the membership or the machine is written by one of them and read or written by the
// other. A state is the records, the members, the calls that wait with their arguments, what each process was not told
// yet, and for each process that is in the middle of something a hash of all that it has seen since it was idle.
type exploration struct {
	*schedules.Search
	scenario scenario
	broken   string // a key of broken
}

// explore searches all schedules of a scenario.
func explore(t *testing.T, sc scenario, brokenAssumption string, options ...func(*schedules.Search)) *exploration {
	e := &exploration{&schedules.Search{T: t, Start: schedule{scenario: sc, broken: brokenAssumption}.start}, sc, brokenAssumption}
	for _, option := range options {
		option(e.Search)
	}
	e.Explore()
	return e
}

// unreduced makes a search try every order of all choices.
func unreduced(s *schedules.Search) { s.Unreduced = true }

// String says how much of the bounds the search has seen.
func (e *exploration) String() string { return fmt.Sprintf("%v: %v", e.scenario, e.Search) }

// found returns the schedule that failed, without the choices that are not needed for that.
func (e *exploration) found() schedule {
	return schedule{e.scenario, e.broken, e.Failure, e.Failed}.shrunk(e.T)
}

// requireNone fails the test if a schedule has broken a promise, and prints it.
func (e *exploration) requireNone() {
	if e.Failure != "" {
		e.T.Errorf("repeat it by its file and -schedule FILE\n%v", e.found())
	}
}
