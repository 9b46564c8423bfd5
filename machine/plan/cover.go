package plan

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// CoverStates returns walks that together come to every state of a table. Each
// begins where a new node does, in enroll or, in Kilo, in available, and each step
// is a transition of the table. The walks are the same on each call; they go
// from what is covered to the nearest that is not, which makes them few and
// short, not the shortest.
//
// The errors are [machine.ErrNoTable] and [*machine.StateError], the latter for a
// table without states.
func CoverStates(t *states.Table) ([][]states.Transition, error) {
	start, err := begin(t)
	if err != nil {
		return nil, err
	}
	been := states.SetOf(start)
	fresh := func(row states.Transition) bool { return !been.Has(row.To) }
	visit := func(row states.Transition) { been = been.Union(states.SetOf(row.To)) }
	return cover(t, start, fresh, visit), nil
}

// CoverTransitions is [CoverStates] for transitions: the walks together take each
// of them.
func CoverTransitions(t *states.Table) ([][]states.Transition, error) {
	start, err := begin(t)
	if err != nil {
		return nil, err
	}
	taken := make(map[states.Transition]bool)
	fresh := func(row states.Transition) bool { return !taken[row] }
	take := func(row states.Transition) { taken[row] = true }
	return cover(t, start, fresh, take), nil
}

// begin returns the state that a new node of the series is in.
func begin(t *states.Table) (states.State, error) {
	start := t.Series().MaxAPIVersion().InitialState()
	return start, checkStates(t, start)
}

// cover makes walks until no fresh transition can be reached. It tells take of
// each transition of a walk.
func cover(
	t *states.Table, start states.State, fresh func(states.Transition) bool, take func(states.Transition),
) [][]states.Transition {
	rows := slices.Collect(t.Transitions())
	var walks [][]states.Transition
	for {
		var walk []states.Transition
		for at := start; ; at = walk[len(walk)-1].To {
			leg := nearest(rows, at, fresh)
			if leg == nil {
				break
			}
			for _, row := range leg {
				take(row)
			}
			walk = append(walk, leg...)
		}
		if walk == nil {
			return walks
		}
		walks = append(walks, walk)
	}
}

// nearest returns the way with the fewest transitions from a state to a fresh one,
// that included; nil where there is none.
func nearest(rows []states.Transition, from states.State, fresh func(states.Transition) bool) []states.Transition {
	type edge struct {
		at  states.State
		way []states.Transition
	}
	been := states.SetOf(from)
	for todo := []edge{{at: from}}; len(todo) > 0; todo = todo[1:] {
		here := todo[0]
		for _, row := range rows {
			if row.From != here.at {
				continue
			}
			way := append(slices.Clip(here.way), row)
			if fresh(row) {
				return way
			}
			if !been.Has(row.To) {
				been = been.Union(states.SetOf(row.To))
				todo = append(todo, edge{row.To, way})
			}
		}
	}
	return nil
}
