// Package draft hands a diagram from package graph to package render: what
// Graphviz is to draw, and what is said of it, apart from each other.
package draft

// A Draft is a diagram that waits for its layout.
type Draft struct {
	// DOT has the parts, states and edges by their IDs, with square corners and
	// without what Elements has.
	DOT                string
	Title, Description string
	// Elements has what is said of each part, state and edge, by ID.
	Elements map[string]Element
}

// An Element is a part, a state or an edge.
type Element struct {
	Class string
	Title string
	Link  string // empty for none
}

// Of returns the draft of a graph.Diagram. The errors are those of package graph,
// which sets it.
var Of func(diagram any) (Draft, error)
