// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"
	"sync"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Explain returns the most likely history of a node whose provision states were
// observed by polling, with gaps: for each observation after the first, the
// transitions since the previous one. [slices.Concat] joins them to one history.
//
// It is a guess, for the nodes of an Ironic that does not tell. The record of a node of package
// conductor has its last transitions.
//
// The most likely history has the fewest transitions; among equals, the fewest
// that end in failure or abort; then the fewest requests; then the transitions that
// come first in the table. The answer is therefore always the same. Stored targets
// are not observed: a cleaning may have ended in available or in manageable.
//
// For an observation of [states.UnknownState], from a server newer than the table,
// there are no transitions. The next known state is explained from the last known
// one.
//
// The error names the first observation that cannot follow the earlier ones or that
// the table lacks, for which it wraps a [*machine.StateError]; a nil table lacks all. The transitions
// up to the observation before it are returned with the error.
func Explain(t *states.Table, seen []states.State) ([][]states.Transition, error) {
	of := &allLikelyPaths[t.Series()]
	of.once.Do(func() {
		for s := range t.States().All() {
			of.paths[s] = newShortestPaths(t, s)
		}
	})
	paths := &of.paths
	var gaps [][]states.Transition
	from := states.NoState
	for i, to := range seen {
		var path []states.Transition
		if to != states.UnknownState {
			if !paths.possible(t, from, to) {
				return gaps, paths.impossible(t, i, from, to)
			}
			if from != states.NoState {
				path = paths[to].from(from)
			}
			from = to
		}
		if i > 0 {
			gaps = append(gaps, path)
		}
	}
	return gaps, nil
}

// likelyPaths holds, for each state of a series, the most likely paths to it.
type likelyPaths [maxStates]*shortestPaths

var allLikelyPaths = make([]struct {
	once  sync.Once
	paths likelyPaths
}, states.Latest()+1)

// possible reports whether a node can be observed in a state after another, which
// is NoState if there is none.
func (p *likelyPaths) possible(t *states.Table, from, to states.State) bool {
	return t.States().Has(to) && (from == states.NoState || p[to].weight[from] != unreachable)
}

// impossible returns the error for an observation that is not possible.
func (p *likelyPaths) impossible(t *states.Table, index int, from, to states.State) error {
	if !t.States().Has(to) {
		return fmt.Errorf("observation %d: %w", index, &machine.StateError{Series: t.Series(), State: to})
	}
	var before states.Set
	for s := range t.States().All() {
		if p.possible(t, s, to) {
			before = before.Union(states.SetOf(s))
		}
	}
	return fmt.Errorf("observation %d: %q cannot come after %q in %v; it can come after %v", index, to, from, t.Series(), before)
}

// shortestPaths holds the path of least weight from every state to a fixed one.
type shortestPaths struct {
	weight [maxStates]int64
	next   [maxStates]states.Transition
}

// unreachable is the weight of a missing path.
const unreachable int64 = math.MaxInt64

// newShortestPaths computes the paths of least weight to a state with the Bellman-Ford
// algorithm. Of two paths with equal weight, the one with the earlier transition wins.
func newShortestPaths(t *states.Table, to states.State) *shortestPaths {
	p := new(shortestPaths)
	for s := range p.weight {
		p.weight[s] = unreachable
	}
	p.weight[to] = 0
	for changed := true; changed; {
		changed = false
		for row := range t.Transitions() {
			after := p.weight[row.To]
			if after != unreachable && after+weigh(t, row) < p.weight[row.From] {
				p.weight[row.From], p.next[row.From] = after+weigh(t, row), row
				changed = true
			}
		}
	}
	return p
}

// from returns the path of least weight from a state, which must have one.
func (p *shortestPaths) from(s states.State) []states.Transition {
	var path []states.Transition
	for p.weight[s] > 0 {
		path = append(path, p.next[s])
		s = p.next[s].To
	}
	return path
}

// weigh returns the weight of a transition: counts in higher bits decide first.
func weigh(t *states.Table, row states.Transition) int64 {
	weight := int64(1) << 40
	switch row.Event {
	case states.EventFail, states.EventError, states.EventAbort:
		weight += 1 << 20
	}
	if t.IsRequest(row) {
		weight++
	}
	return weight
}
