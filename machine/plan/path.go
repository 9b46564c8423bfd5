package plan

import (
	"cmp"
	"iter"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Path returns the shortest way from one state to another: the one with the
// fewest requests; of those, the one in which the fewest end in failure or
// abort; of those, the one with the fewest transitions; of those, the one whose
// transitions come first in the table. It is empty where from is to.
//
// The way does without the events to avoid. From enroll to active the shortest
// way is an adoption; that of a deployment avoids [states.EventAdopt].
//
// Automated cleaning ends in available and manual cleaning in manageable, as the
// conductor has it; a way from or to a state of cleaning may take it for either.
// What to do with a node, [Next] answers.
//
// The errors are [*PathError], [machine.ErrNoTable] and [*machine.StateError].
func Path(t *states.Table, from, to states.State, avoid ...states.Event) ([]states.Transition, error) {
	if err := checkStates(t, from, to); err != nil {
		return nil, err
	}
	x := indexOf(t)
	edges := slices.DeleteFunc(x.conductorEdges(), func(l edge) bool { return slices.Contains(avoid, l.row.Event) })
	c := newShortestPaths(edges, brevity(t), x.positions(to)...)
	begin := slices.MinFunc(x.positions(from), func(x, y position) int { return cmp.Compare(c.weight[x], c.weight[y]) })
	if c.weight[begin] == unreachable {
		return nil, &PathError{Series: t.Series(), From: from, To: to}
	}
	return c.path(begin), nil
}

// positions returns the positions of a state.
func (x *index) positions(s states.State) []position {
	all := []position{position(s)}
	if at, ok := x.manualPosition(s); ok {
		all = append(all, at)
	}
	return all
}

// AllPaths ranges over every way from one state to another that comes to no state
// twice, by the table alone and in the order of its transitions. There are many thousands between
// some states; the next is looked for when it is asked for. Each is the caller's
// own. Where from is to, there is the empty way alone.
//
// The errors are [machine.ErrNoTable] and [*machine.StateError]. Where nothing
// leads from one to the other, there is nothing to range over.
func AllPaths(t *states.Table, from, to states.State) (iter.Seq[[]states.Transition], error) {
	if err := checkStates(t, from, to); err != nil {
		return nil, err
	}
	rows := make(map[states.State][]states.Transition)
	for row := range t.Transitions() {
		rows[row.From] = append(rows[row.From], row)
	}
	return func(yield func([]states.Transition) bool) {
		s := pathSearch{rows: rows, to: to, yield: yield}
		s.visit(from, states.SetOf(from))
	}, nil
}

// A pathSearch looks for ways, depth first.
type pathSearch struct {
	rows  map[states.State][]states.Transition
	to    states.State
	path  []states.Transition
	yield func([]states.Transition) bool
}

// visit goes on from a state and reports whether to look for more.
func (s *pathSearch) visit(at states.State, been states.Set) bool {
	if at == s.to {
		return s.yield(slices.Clone(s.path))
	}
	for _, row := range s.rows[at] {
		if been.Has(row.To) || !s.leads(row.To, been) {
			continue
		}
		s.path = append(s.path, row)
		more := s.visit(row.To, been.Union(states.SetOf(row.To)))
		s.path = s.path[:len(s.path)-1]
		if !more {
			return false
		}
	}
	return true
}

// leads reports whether there is a way from a state that avoids those where the
// path has been, so that no search is in vain.
func (s *pathSearch) leads(from states.State, been states.Set) bool {
	been = been.Union(states.SetOf(from))
	for todo := []states.State{from}; len(todo) > 0; todo = todo[1:] {
		if todo[0] == s.to {
			return true
		}
		for _, row := range s.rows[todo[0]] {
			if !been.Has(row.To) {
				been = been.Union(states.SetOf(row.To))
				todo = append(todo, row.To)
			}
		}
	}
	return false
}
