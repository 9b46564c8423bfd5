// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// far is the distance, in points, at which a label no longer reads as its line's.
const far = 18

// straight is the width up to which a line is vertical, and the height up to which it is horizontal.
const straight = 1

// A plane holds the items of a drawing that a reader has to tell apart.
type plane struct {
	items    []item
	words    []box     // the texts
	outlines []box     // the shapes of parts and states, which an edge does not have
	lines    [][]point // of edges
}

func newPlane(items []item) (*plane, error) {
	p := &plane{items: items}
	for _, i := range items {
		words, err := i.words()
		if err != nil {
			return nil, err
		}
		p.words = append(p.words, words)
		outline, line := noBox(), []point(nil)
		if i.kind() == edgeKind {
			line, err = i.line()
		} else {
			outline, err = i.outline()
		}
		if err != nil {
			return nil, err
		}
		p.outlines, p.lines = append(p.outlines, outline), append(p.lines, line)
	}
	return p, nil
}

// A kind says what an item is. It is the first of the item's classes.
type kind string

const (
	partKind  kind = "part"
	stateKind kind = "state"
	edgeKind  kind = "edge"
)

func (i item) kind() kind {
	first, _, _ := strings.Cut(i.class, " ")
	return kind(first)
}

// has reports whether the item has a class.
func (i item) has(class string) bool { return slices.Contains(strings.Fields(i.class), class) }

// joins reports whether an edge begins or ends in a state.
func (i item) joins(state item) bool {
	from, to, _ := strings.Cut(strings.TrimPrefix(i.id, "edge-"), "-")
	return state.id == "state-"+from || state.id == "state-"+to
}

// The weights of faults.
const (
	badLabel = 1    // over another one, under a line, or far from its own
	badSpine = 100  // a line of the spine that is not straight
	badName  = 1000 // a state or a title with a line through it, or a label that is not drawn
)

// faults returns how hard the drawing is to read.
func (p *plane) faults() int {
	sum, spine := 0, noBox()
	for e, edge := range p.items {
		if p.lines[e] == nil {
			continue
		}
		extent := noBox()
		for _, at := range p.lines[e] {
			extent = extent.union(box{at.x, at.y, at.x, at.y})
		}
		if edge.has("spine") {
			spine = spine.union(extent)
			sum += crooked(extent)
		}
		sum += p.labelFault(e) + p.crossings(e)
	}
	return sum + crooked(spine)
}

// labelFault returns the fault of an edge whose label is far from its line or is not drawn.
func (p *plane) labelFault(e int) int {
	nearest := math.Inf(1)
	for _, at := range p.lines[e] {
		nearest = min(nearest, p.words[e].distance(at))
	}
	switch {
	case math.IsInf(nearest, 1):
		return badName
	case nearest >= far:
		return badLabel
	default:
		return 0
	}
}

// crossings returns the faults of an edge whose line or label is on the texts of other items.
func (p *plane) crossings(e int) (sum int) {
	for o, other := range p.items {
		if p.items[e].joins(other) {
			continue
		}
		if slices.ContainsFunc(p.lines[e], p.words[o].has) {
			if other.kind() == edgeKind {
				sum += badLabel
			} else {
				sum += badName
			}
		}
		if o != e && p.words[e].meets(p.words[o]) {
			sum += badLabel
		}
	}
	return sum
}

// crooked returns the fault of a line of the spine, or of all of them together, that is
// neither vertical nor horizontal.
func crooked(line box) int {
	if min(line.right-line.left, line.bottom-line.top) > straight {
		return badSpine
	}
	return 0
}

// placeTitles moves the title of each part along the part's border, from the corner that Graphviz gave it, to where no
// line runs through it and no state is under it: first inside, then outside.
func (p *plane) placeTitles() {
	for n, part := range p.items {
		if part.kind() != partKind {
			continue
		}
		at := p.words[n]
		for _, to := range p.places(n) {
			if p.free(n, to) {
				p.items[n] = part.shifted(to.left-at.left, to.bottom-at.bottom)
				p.words[n] = to
				break
			}
		}
	}
}

// places returns where the title of a part may be, the best place first.
func (p *plane) places(n int) []box {
	const margin, step = 8.0, 4.0
	at, around := p.words[n], p.outlines[n]
	places := []box{at}
	wide, high := at.right-at.left, at.bottom-at.top
	inTop, inBottom := around.top+margin+high, around.bottom-margin
	if at.bottom > (around.top+around.bottom)/2 {
		inTop, inBottom = inBottom, inTop
	}
	for _, bottom := range []float64{at.bottom, inTop, inBottom, around.top - margin/2, around.bottom + margin/2 + high} {
		row := []box{}
		for left := around.left + margin; left+wide <= around.right-margin; left += step {
			row = append(row, box{left, bottom - high, left + wide, bottom})
		}
		if len(row) == 0 {
			left := (around.left + around.right - wide) / 2
			row = append(row, box{left, bottom - high, left + wide, bottom})
		}
		slices.SortStableFunc(row, func(a, b box) int {
			return cmp.Compare(math.Abs(a.left-at.left), math.Abs(b.left-at.left))
		})
		places = append(places, row...)
	}
	return places
}

// free reports whether the title of a part can be read in a box.
func (p *plane) free(n int, at box) bool {
	const gap = 2
	wide := box{at.left - gap, at.top - gap, at.right + gap, at.bottom + gap}
	for o := range p.items {
		if o != n && (wide.meets(p.words[o]) || wide.meets(p.outlines[o]) || slices.ContainsFunc(p.lines[o], wide.has)) {
			return false
		}
	}
	return true
}
