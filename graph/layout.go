// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/states"
)

// A layout holds the order of the states and Graphviz's other layout hints.
type layout struct {
	// NodeSep and RankSep are gaps, in inches.
	NodeSep, RankSep float64
	// Parts holds the parts in the order in which they are written for Graphviz and Mermaid, see allParts.
	Parts []partLayout
	// Unranked holds the edges that do not rank one state below the other, by the first state.
	Unranked map[states.State][]states.State
	// MinLen holds the ranks that an edge of the spine spans at least, by its first state, where that is more than one: an
	// edge that begins in a part has to pass the other states of the part, unless they are left out.
	MinLen map[states.State]int
}

//go:embed layouts.json
var layoutsJSON []byte

// layouts returns the layouts by their names. They are the result of a search over the machines of all series, each
// whole, with its requests alone and, for the newest, in comparison with Kilo. The search kept the spine straight and
// minimized the lines through titles, labels and states, the labels over other labels, the crossings, the length of the
// lines and the size of the drawing. A layout affects looks alone: every layout draws the same graph. BenchmarkLayouts
// of package graph/render is such a search.
var layouts = sync.OnceValue(func() (all map[string]*layout) {
	file := json.NewDecoder(bytes.NewReader(layoutsJSON))
	file.DisallowUnknownFields()
	if err := file.Decode(&all); err != nil {
		panic(err) // the file is a part of the program
	}
	return all
})

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
	Part   Part
	Corner string
	States []states.State
}

// allParts returns the parts that the layout lists, and then the parts of the other chapters.
func (l *layout) allParts() []partLayout {
	all := l.Parts
	for _, c := range chapters {
		if !slices.ContainsFunc(all, func(p partLayout) bool { return p.Part == c.part }) {
			all = append(slices.Clip(all), partLayout{Part: c.part, Corner: "tl"})
		}
	}
	return all
}

// all returns the states of a part, those first that the layout lists.
func (p partLayout) all() []states.State {
	all := slices.Clone(p.States)
	for s := range states.AllStates() {
		if partOf(s) == p.Part && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
