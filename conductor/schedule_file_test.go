// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ironstate/ironstate/internal/schedules"
)

// schedule is a schedule in the form that a person reads and a file has: lines with the scenario, the broken
// assumption and the promise that is broken, and a line for each choice.
type schedule struct {
	scenario scenario
	broken   string // a key of broken
	failure  string // "" if no promise is broken
	choices  []string
}

func (s schedule) String() string {
	head := fmt.Sprintf("scenario: %v\nbroken assumption: %s\nbroken promise: %s\n", s.scenario, s.broken, s.failure)
	return head + strings.Join(s.choices, "\n") + "\n"
}

// parseSchedule returns the schedule of a file.
func parseSchedule(text string) (s schedule, err error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, head := range []string{"scenario: ", "broken assumption: ", "broken promise:"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], head) {
			return s, fmt.Errorf("line %d must begin with %q", i+1, head)
		}
		lines[i] = strings.TrimSpace(strings.TrimPrefix(lines[i], head))
	}
	known := slices.ContainsFunc(scenarios, func(sc scenario) bool {
		s.scenario = sc
		_, err := fmt.Sscanf(strings.TrimPrefix(lines[0], sc.name), ": %d conductors, %d faults", &s.scenario.conductors, &s.scenario.faults)
		return strings.HasPrefix(lines[0], sc.name+":") && err == nil
	})
	if _, has := broken[lines[1]]; !known || !has {
		return s, fmt.Errorf("no such scenario or assumption: %q, %q", lines[0], lines[1])
	}
	s.broken, s.failure, s.choices = lines[1], lines[2], lines[3:]
	return s, nil
}

// start starts the conductors of the schedule.
func (s schedule) start(t *testing.T) schedules.Run {
	return startSchedule(t, s.scenario, broken[s.broken])
}

// repeat runs a schedule, and returns it with the promise that it breaks, and the choices until then. Choices that
// are not possible are left out; after the last one the first free choice of each state is taken.
func (s schedule) repeat(t *testing.T) (repeated schedule) {
	repeated = s
	repeated.choices, repeated.failure = schedules.Repeat(t, s.start, s.choices)
	return repeated
}

// shrunk returns a schedule that breaks a promise, without the choices that are not needed for that.
func (s schedule) shrunk(t *testing.T) schedule {
	s.choices, s.failure = schedules.Shrink(t, s.start, s.choices, s.failure)
	return s
}
