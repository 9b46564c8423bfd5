// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"fmt"
	"maps"
)

// Choice is one step of a schedule.
type Choice struct {
	// Name identifies the choice in a state, and describes it to a person.
	Name string
	// Fault says that the choice is one of the faults that the bounds allow.
	Fault bool
	// Idle says that the choice may be taken later or never.
	Idle bool
	// Do carries the choice out; [Run.Apply] calls it.
	Do func()
}

// Passes is the name of the choice that time passes.
const Passes = "time passes"

// Everything is an object of which all others are parts.
const Everything = "everything"

// Access says which objects a choice has read (false) or written (true). The objects are a Run's own, such as
// "record" or "process alpha".
type Access map[string]bool

// Touch adds an object.
func (a Access) Touch(object string, write bool) { a[object] = a[object] || write }

// Clone returns a copy.
func (a Access) Clone() Access { return maps.Clone(a) }

// Independent reports whether two choices have the same result in either order.
func (a Access) Independent(b Access) bool {
	if _, all := a[Everything]; all {
		return false
	}
	if _, all := b[Everything]; all {
		return false
	}
	for object, written := range a {
		if other, has := b[object]; has && (written || other) {
			return false
		}
	}
	return true
}

// names returns the names of choices. The second choice of a name gets a number, and so on.
func names(choices []Choice) []string {
	names := make([]string, len(choices))
	seen := map[string]int{}
	for i, c := range choices {
		names[i] = c.Name
		if seen[c.Name]++; seen[c.Name] > 1 {
			names[i] += fmt.Sprintf(" (%d)", seen[c.Name])
		}
	}
	return names
}
