package plan

import (
	"sync"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Explain returns what most likely happened to a node whose provision states
// were seen by polling, with gaps: for each observation after the first, the
// transitions since the one before, none where nothing need have happened.
// [slices.Concat] makes one history of them.
//
// The likeliest history is the one with the fewest transitions; of those, the one
// in which the fewest end in failure or abort; of those, the one with the fewest
// requests; of those, the one whose transitions come first in the table. So the
// answer is always the same. Stored targets are not among what is seen: a cleaning
// may have ended in available or in manageable.
//
// The error is an [*ImpossibleError] for the first observation that cannot come
// after those before it or that the table does not have, and
// [machine.ErrNoTable].
func Explain(t *states.Table, seen []states.State) ([][]states.Transition, error) {
	if t == nil {
		return nil, machine.ErrNoTable
	}
	paths := likelyPathsOf(t)
	var gaps [][]states.Transition
	for i, to := range seen {
		if !t.States().Has(to) || i > 0 && paths[to].weight[seen[i-1]] == unreachable {
			return nil, impossible(t, seen, i)
		}
		if i > 0 {
			gaps = append(gaps, paths[to].path(position(seen[i-1])))
		}
	}
	return gaps, nil
}

// likelyPaths has, for each state of a series, the likeliest paths to it.
type likelyPaths [maxStates]*shortestPaths

var allLikelyPaths = make([]struct {
	once  sync.Once
	paths likelyPaths
}, states.Latest()+1)

func likelyPathsOf(t *states.Table) *likelyPaths {
	of := &allLikelyPaths[t.Series()]
	of.once.Do(func() {
		edges := edges(t)
		for s := range t.States().All() {
			of.paths[s] = newShortestPaths(edges, likelihood(t), position(s))
		}
	})
	return &of.paths
}

// impossible says why an observation is.
func impossible(t *states.Table, seen []states.State, index int) error {
	e := &ImpossibleError{Series: t.Series(), Index: index, To: seen[index]}
	if index > 0 {
		e.From = seen[index-1]
	}
	if !t.States().Has(e.To) {
		return e
	}
	for from := range t.States().All() {
		if likelyPathsOf(t)[e.To].weight[from] != unreachable {
			e.Before = e.Before.Union(states.SetOf(from))
		}
	}
	return e
}
