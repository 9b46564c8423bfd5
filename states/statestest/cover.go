// SPDX-License-Identifier: Apache-2.0

package statestest

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Path returns the shortest path from one state to another; of several, the one whose
// transitions come first in the table. The path is empty if from equals to, and ok is
// false if there is none. Tests use it to bring a machine or a simulated node into a
// state.
//
// The path follows the table alone. In Ironic itself a cleaning that was started by
// provide or deleted does not end in manageable, and a manual cleaning does not end in
// available.
func Path(t *states.Table, from, to states.State) (path []states.Transition, ok bool) {
	if from == to {
		return nil, t.States().Has(from)
	}
	path = nearest(slices.Collect(t.Transitions()), from, func(row states.Transition) bool { return row.To == to })
	return path, path != nil
}

// Cover returns walks that together contain every transition of a table, and so visit
// every state. Each walk begins in the state of a new node: enroll or, in Kilo,
// available. Each step of a walk is a transition of the table that begins where the
// previous step ended. The search is greedy, each time for the nearest transition that
// is not covered: the walks are few and short, but not always the shortest possible.
// They are the same on each call. A table without states has none.
func Cover(t *states.Table) (walks [][]states.Transition) {
	rows := slices.Collect(t.Transitions())
	covered := make(map[states.Transition]bool)
	needed := func(row states.Transition) bool { return !covered[row] }
	for {
		var walk []states.Transition
		for at := t.Series().MaxAPIVersion().InitialState(); ; at = walk[len(walk)-1].To {
			path := nearest(rows, at, needed)
			if path == nil {
				break
			}
			for _, row := range path {
				covered[row] = true
			}
			walk = append(walk, path...)
		}
		if walk == nil {
			return walks
		}
		walks = append(walks, walk)
	}
}

// nearest returns the shortest path from a state whose last transition is wanted, nil
// if there is none, by breadth-first search.
func nearest(rows []states.Transition, from states.State, wanted func(states.Transition) bool) []states.Transition {
	visited := states.SetOf(from)
	for queue := [][]states.Transition{nil}; len(queue) > 0; queue = queue[1:] {
		path, at := queue[0], from
		if len(path) > 0 {
			at = path[len(path)-1].To
		}
		for _, row := range rows {
			if row.From != at {
				continue
			}
			longer := append(slices.Clip(path), row)
			if wanted(row) {
				return longer
			}
			if !visited.Has(row.To) {
				visited = visited.Union(states.SetOf(row.To))
				queue = append(queue, longer)
			}
		}
	}
	return nil
}
