// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// WriteMermaid writes the diagram as a Mermaid stateDiagram-v2, which GitHub renders in a fenced code block of the
// language mermaid. Mermaid's layout of the whole machine is unreadable on a page 1000 pixels wide: use [Diagram.Split]
// there, or Part. Lines have the same colours as in DOT; the lines of the conductor's transitions are dashed. Labels
// mark transitions that were added, removed or taken. It returns the errors of [Diagram.WriteDOT].
func (d Diagram) WriteMermaid(w io.Writer) error {
	return d.write(func(m *model) error {
		_, err := io.WriteString(w, m.mermaid())
		return err
	})
}

const indent = "    "

// mermaid returns the diagram in Mermaid.
func (m *model) mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %s\n", quoteYAML(m.title))
	if css := m.mermaidLines(); css != "" {
		fmt.Fprintf(&b, "config:\n  themeCSS: %q\n", css)
	}
	b.WriteString("---\nstateDiagram-v2\n")
	fmt.Fprintf(&b, indent+"accTitle: %s\n", entities(m.title))
	fmt.Fprintf(&b, indent+"accDescr: %s\n", entities(m.description))
	fmt.Fprintf(&b, indent+"direction %s\n", m.diagram.direction())
	for _, g := range m.groups {
		g.mermaid(&b)
	}
	for _, e := range m.edges {
		fmt.Fprintf(&b, indent+"%s --> %s : %s\n", slug(e.from.String()), slug(e.to.String()), e.mermaid())
	}
	m.mermaidClasses(&b)
	return b.String()
}

// mermaidLines returns the style sheet of the edges, a rule for each style. Mermaid 11 numbers edges in the order of
// its source. A version without these numbers draws all lines alike; the labels still mark the requests.
func (m *model) mermaidLines() string {
	colours := m.diagram.palette()
	selectors := make(map[string][]string)
	for i, e := range m.edges {
		style := "stroke:" + colours.edge(e)
		if !e.requested() {
			style += ";stroke-dasharray:4 3"
		}
		selectors[style] = append(selectors[style], fmt.Sprintf("path[data-id=edge%d]", i))
	}
	var rules []string
	for _, style := range slices.Sorted(maps.Keys(selectors)) {
		rules = append(rules, strings.Join(selectors[style], ",")+"{"+style+"}")
	}
	return strings.Join(rules, " ")
}

// mermaid writes the states of a group in Ironic's order, in a box if it has a part.
func (g group) mermaid(b *strings.Builder) {
	in := indent
	if g.part != "" {
		fmt.Fprintf(b, indent+"state %q as part_%s {\n", g.part, slug(string(g.part)))
		in += indent
	}
	for _, n := range slices.SortedFunc(slices.Values(g.nodes), func(a, b node) int { return int(a.state) - int(b.state) }) {
		fmt.Fprintf(b, in+"state %q as %s\n", n.state, slug(n.state.String()))
	}
	if g.part != "" {
		b.WriteString(indent + "}\n")
	}
}

// mermaid returns the edge's label: a line for each cause.
func (e edge) mermaid() string {
	var lines []string
	for _, c := range causes {
		var words []string
		for _, r := range e.with(c) {
			word := r.word()
			if r.change != kept {
				word = string(r.change) + " " + word
			}
			if r.taken {
				word = "taken " + word
			}
			words = append(words, word)
		}
		if len(words) > 0 {
			lines = append(lines, strings.TrimSpace(strings.Join(words, ", ")+" "+c.note()))
		}
	}
	return strings.Join(lines, "<br/>")
}

// mermaidClasses writes the style of each class and the states in the class.
func (m *model) mermaidClasses(b *strings.Builder) {
	c := m.diagram.palette()
	for _, class := range []struct {
		name, style string
		has         func(node) bool
	}{
		{"stable", "stroke-width:3px", func(n node) bool { return n.stable }},
		{"failed", "stroke:" + c.bad + ",color:" + c.bad + ",fill:" + c.badNode, func(n node) bool { return n.phase == states.PhaseFailed }},
		{"added", "stroke:" + c.added, func(n node) bool { return n.change == added }},
		{"removed", "stroke:" + c.removed + ",stroke-dasharray:5 2", func(n node) bool { return n.change == removed }},
		{"taken", "stroke:" + c.path, func(n node) bool { return n.taken }},
		{"current", "fill:" + c.currentNode + ",stroke-width:3px", func(n node) bool { return n.current }},
	} {
		var names []string
		for _, n := range m.nodes() {
			if class.has(n) {
				names = append(names, slug(n.state.String()))
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(b, indent+"classDef %s %s\n", class.name, class.style)
			fmt.Fprintf(b, indent+"class %s %s\n", strings.Join(names, ", "), class.name)
		}
	}
}
