// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/emicklei/dot"

	"github.com/ironstate/ironstate/states"
)

// WriteDOT writes the diagram in DOT, Graphviz's language. The label of a state is its word. Parts, states and edges
// have the attributes id ("state-enroll", "edge-enroll-verifying"), class and tooltip. If RequestsOnly is set,
// invisible edges without these attributes keep the layout of the whole diagram.
//
// It returns a [*machine.StateError], the errors of the Diagram's Since, Path and Link, and the writer's.
func (d Diagram) WriteDOT(w io.Writer) error {
	return d.write(func(m *model) error {
		_, err := io.WriteString(w, m.dot())
		return err
	})
}

// A dotWriter builds the graph of a model.
type dotWriter struct {
	*model
	colours palette
	graph   *dot.Graph
	nodes   map[states.State]dot.Node
}

// Fonts, with sizes in points.
const (
	font      = "Helvetica" // Graphviz has its widths built in
	titleSize = 15
	stateSize = 13
	partSize  = 12
	labelSize = 11
)

// dot returns the diagram in DOT.
func (m *model) dot() string {
	w := &dotWriter{
		model:   m,
		colours: m.diagram.palette(),
		graph:   dot.NewGraph(dot.Directed),
		nodes:   make(map[states.State]dot.Node),
	}
	w.graph.ID("provisioning")
	w.graph.Attrs(
		"bgcolor", w.colours.page,
		"description", quoteDOT(w.description),
		"fontname", font,
		"fontcolor", w.colours.text,
		"fontsize", partSize,
		"label", dot.HTML(w.header()),
		"labelloc", "t",
		"newrank", true,
		"nodesep", w.diagram.layout().NodeSep,
		"outputorder", "edgesfirst",
		"pad", 0.15,
		"rankdir", w.diagram.direction(),
		"ranksep", w.diagram.layout().RankSep,
		"remincross", false,
		"tooltip", quoteDOT(w.title),
	)
	for i, g := range m.groups {
		w.addGroup(i, g)
	}
	for _, e := range m.edges {
		w.addEdge(e)
	}
	for _, e := range m.hidden {
		w.rank(w.graph.Edge(w.nodes[e.from], w.nodes[e.to]), e).Attr("style", "invis")
	}
	// The library cannot write the default attributes of nodes and edges.
	defaults := fmt.Sprintf(`
	node [fontname=%[1]s, fontsize=%[2]d, height=0.3, margin="0.1,0.05", shape=box, style="rounded,filled", width=0.5];
	edge [arrowsize=0.6, fontcolor="%[3]s", fontname=%[1]s, fontsize=%[4]d];`, font, stateSize, w.colours.muted, labelSize)
	opening, rest, _ := strings.Cut(w.graph.String(), "{")
	return opening + "{" + defaults + rest
}

// addDescription adds the attributes that identify and describe an element.
func addDescription(of dot.AttributesMap, class, tooltip, link string) {
	of.Attrs("class", class, "tooltip", quoteDOT(tooltip))
	if link != "" {
		of.Attr("URL", quoteDOT(link))
	}
}

// addGroup adds a group in the box of its part, and one without a box as a subgraph that
// is not drawn. The library writes subgraphs, nodes and edges sorted by key, and
// Graphviz's layout depends on the order of its input: the keys hold that order.
func (w *dotWriter) addGroup(i int, g group) {
	key := fmt.Sprintf("%02d", i)
	sub := w.graph
	if g.part == "" {
		sub = sub.Subgraph(key)
	} else {
		sub = sub.Subgraph(key, dot.ClusterOption{})
		sub.Attrs(
			"color", w.colours.partBorder,
			"fillcolor", w.colours.part,
			"fontcolor", w.colours.muted,
			"fontname", font,
			"fontsize", partSize,
			"id", "part-"+slug(string(g.part)),
			"label", string(g.part),
			"labeljust", g.corner[1:],
			"labelloc", g.corner[:1],
			"margin", 10,
			"style", "rounded,filled",
		)
		addDescription(sub.AttributesMap, "part", string(g.part), "")
	}
	for j, n := range g.nodes {
		w.nodes[n.state] = w.addNode(sub, fmt.Sprintf("%s%02d", key, j), n)
	}
}

// look returns the colours of a state and the width of its border. The colours of the path override the change's, and
// a change's colours override the phase's.
func (w *dotWriter) look(n node) (border, fill, text string, width float64) {
	c := w.colours
	border, fill, text, width = c.border, c.node, c.text, 1.0
	switch n.phase {
	case states.PhaseFailed:
		border, fill, text = c.bad, c.badNode, c.bad
	case states.PhaseStable:
		border = c.text
	}
	if n.stable {
		width = 2.2
	}
	switch n.change {
	case added:
		border, fill = c.added, c.addedNode
	case removed:
		border = c.removed
	}
	if n.taken {
		border = c.path
	}
	if n.current {
		fill = c.currentNode
		border, width = c.path, max(width, 2.2)
	}
	return border, fill, text, width
}

// addNode adds a state to the subgraph of its group.
func (w *dotWriter) addNode(sub *dot.Graph, key string, n node) dot.Node {
	border, fill, text, width := w.look(n)
	node := sub.Node(key)
	node.Attrs(
		"color", border,
		"fillcolor", fill,
		"fontcolor", text,
		"id", n.id(),
		"label", n.state.String(),
	)
	addDescription(node.AttributesMap, n.class(), n.tooltip, n.link)
	if width != 1 {
		node.Attr("penwidth", width)
	}
	if slices.Contains(spine, n.state) {
		node.Attr("group", "spine")
	}
	if n.change == removed {
		node.Attr("style", "rounded,filled,dashed")
	}
	return node
}

// addEdge adds an edge between two states that were added.
func (w *dotWriter) addEdge(e edge) {
	edge := w.graph.Edge(w.nodes[e.from], w.nodes[e.to])
	edge.AttributesMap.Attrs(
		"color", w.colours.edge(e),
		"id", "edge-"+slug(e.from.String())+"-"+slug(e.to.String()),
		"label", dot.HTML(w.label(e)),
	)
	addDescription(edge.AttributesMap, e.class(), e.text(), "")
	switch {
	case e.taken():
		edge.Attr("penwidth", 2.4)
	case e.onSpine():
		edge.Attr("penwidth", 2)
	case e.change() != kept:
		edge.Attr("penwidth", 1.6)
	}
	if !e.requested() {
		edge.Attr("style", "dashed")
	}
	w.rank(edge, e)
}

// rank sets whether an edge ranks its second state below the first.
func (w *dotWriter) rank(edge dot.Edge, e edge) dot.Edge {
	l := w.diagram.layout()
	switch {
	case e.onSpine():
		edge.Attr("weight", 100)
		// An edge that begins in a part has the states of its box to pass, and none if the box is not drawn.
		unboxed := partOf(e.from) != "" && !w.boxed(e.from)
		if n := l.MinLen[e.from]; n > 1 && !unboxed {
			edge.Attr("minlen", n)
		}
	case slices.Contains(l.Unranked[e.from], e.to):
		edge.Attr("constraint", false)
	}
	return edge
}

// edge returns the colour of an edge.
func (c palette) edge(e edge) string {
	change := e.change()
	switch {
	case e.taken():
		return c.path
	case change == added:
		return c.added
	case change == removed:
		return c.removed
	case e.requested():
		return c.request
	default:
		return c.conductor
	}
}

// label returns an edge's words, one per line, requests first. A word that the API accepts has the colour of requests.
// The words are in an HTML table whose spacing keeps the edges' lines off the text.
func (w *dotWriter) label(e edge) string {
	var lines []string
	for _, c := range causes {
		for _, r := range e.with(c) {
			word, colour := r.word(), w.colours.muted
			switch {
			case r.change == added:
				word, colour = "<b>"+word+"</b>", w.colours.added
			case r.change == removed:
				word, colour = "<s>"+word+"</s>", w.colours.removed
			case c != conductor:
				colour = w.colours.request
			}
			if colour != w.colours.muted { // the label's default
				word = `<font color="` + colour + `">` + word + "</font>"
			}
			lines = append(lines, word)
		}
	}
	return `<table border="0" cellborder="0" cellpadding="0" cellspacing="3"><tr><td>` + strings.Join(lines, "<br/>") + "</td></tr></table>"
}
