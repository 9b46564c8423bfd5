// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Through returns the path through a sequence of states, for callers that do not
// have the events: if several transitions lead from one state to the next, the path
// has all of them. The path through fewer than two states is empty.
//
// A state that the table lacks is a [*machine.StateError]; in a nil table that is any
// state. Two neighbouring states without a transition are an error too.
func Through(t *states.Table, sequence ...states.State) ([]states.Transition, error) {
	var path []states.Transition
	for i, s := range sequence {
		if !t.States().Has(s) {
			return nil, &machine.StateError{Series: t.Series(), State: s}
		}
		if i == 0 {
			continue
		}
		steps := slices.DeleteFunc(slices.Collect(t.Transitions()), func(row states.Transition) bool {
			return row.From != sequence[i-1] || row.To != s
		})
		if len(steps) == 0 {
			return nil, fmt.Errorf("no such transition: from %q to %q in %v", sequence[i-1], s, t.Series())
		}
		path = append(path, steps...)
	}
	return path, nil
}
