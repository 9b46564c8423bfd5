// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"strings"

	"github.com/ironstate/ironstate/states"
)

// legible is the number of states up to which Mermaid's layout can be read on a page that is 1000 pixels wide.
const legible = 10

// Split returns the diagrams that a page shows in place of one, whose layout by Mermaid is too wide to be read. The
// first one is a node's way from enroll to active; the others are each a part of its life, in the order of [AllParts].
// A diagram with Part or with ten states at most is not split, and neither is one with an error.
func (d Diagram) Split() []Diagram {
	m, err := d.model()
	if err != nil || d.Part != "" || len(m.nodes()) <= legible {
		return []Diagram{d}
	}
	shown := m.states()
	var all []Diagram
	if way := shown.Intersect(states.SetOf(spine...)); way.Len() > 0 {
		first := d
		first.Only = way
		first.Title = m.title + ", from enroll to active"
		all = append(all, first)
	}
	for part := range AllParts() {
		if around(part, nil).Intersect(shown).Len() == 0 {
			continue
		}
		next := d
		next.Part = part
		next.Title = m.title + ", " + strings.ToLower(string(part))
		next.Description = ""
		if m, err := next.model(); err == nil && len(m.nodes()) > legible {
			next.LeftToRight = true // the states that lead to deleting stand below each other
		}
		all = append(all, next)
	}
	return all
}
