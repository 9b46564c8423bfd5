// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// A layout holds the order of the states and Graphviz's other layout hints.
type layout struct {
	nodesep, ranksep float64 // gaps, in inches
	// parts holds the parts in the order in which they are written for Graphviz and Mermaid, see allParts.
	parts []partLayout
	// unranked holds the edges that do not rank one state below the other, by the first state.
	unranked map[states.State]states.Set
	// minlen holds the ranks that an edge of the spine spans at least, where that is more than one: an edge that begins in
	// a part has to pass the other states of the part, unless they are left out.
	minlen map[pair]int
}

// spine is a node's way to a workload, which drawings have in a straight line.
var spine = []states.State{
	states.Enroll, states.Verifying, states.Manageable, states.Cleaning, states.Available, states.Deploying, states.Active,
}

// onSpine reports whether an edge is a step of the spine.
func (e edge) onSpine() bool {
	i := slices.Index(spine, e.from)
	return i >= 0 && i+1 < len(spine) && spine[i+1] == e.to
}

// A partLayout says how a layout draws a part: the corner of its title ("tl" is top left), and the order of the
// states of its chapter. The states between parts have a partLayout without a part and a corner.
type partLayout struct {
	part   Part
	corner string
	states []states.State
}

// A pair is the two states of an edge.
type pair struct{ from, to states.State }

// allParts returns the parts that the layout lists, and then the parts of the other chapters.
func (l *layout) allParts() []partLayout {
	all := l.parts
	for _, c := range chapters {
		if !slices.ContainsFunc(all, func(p partLayout) bool { return p.part == c.part }) {
			all = append(slices.Clip(all), partLayout{part: c.part, corner: "tl"})
		}
	}
	return all
}

// all returns the states of a part, those first that the layout lists.
func (p partLayout) all() []states.State {
	all := slices.Clone(p.states)
	for s := range states.AllStates() {
		if partOf(s) == p.part && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
