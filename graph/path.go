package graph

import (
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Through returns the path through the given states, for callers that know the
// states that a node was in but not the events: each step is every transition
// that may have been taken. A state that the table lacks is a [*machine.StateError], two
// states with no transition from the first to the second match
// [ErrNoTransition]. Fewer than two states make an empty path.
func Through(t *states.Table, way ...states.State) ([]states.Transition, error) {
	if t.States().Len() == 0 {
		return nil, machine.ErrNoTable
	}
	var path []states.Transition
	for i, s := range way {
		if !t.States().Has(s) {
			return nil, &machine.StateError{Series: t.Series(), State: s}
		}
		if i == 0 {
			continue
		}
		steps := between(t, way[i-1], s)
		if len(steps) == 0 {
			return nil, fmt.Errorf("%w: from %q to %q in %v", ErrNoTransition, way[i-1], s, t.Series())
		}
		path = append(path, steps...)
	}
	return path, nil
}

func between(t *states.Table, from, to states.State) []states.Transition {
	rows := slices.Collect(t.Transitions())
	return slices.DeleteFunc(rows, func(row states.Transition) bool { return row.From != from || row.To != to })
}
