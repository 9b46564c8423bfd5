// Package graph draws Ironic's provisioning state machine: as DOT for Graphviz,
// as a Mermaid state diagram, which GitHub renders by itself, and as JSON for
// other tools. Package graph/render makes SVG, PNG and HTML of the same diagrams,
// with no Graphviz installed.
//
// A [Diagram] says what to draw. Its table is all that it needs:
//
//	graph.Diagram{Table: states.Latest().Table()}.WriteDOT(os.Stdout)
//
// Stable states have a thicker border, failed states and error are red. An edge
// that a request of the API causes says "(via API)" with the API's word for it;
// what the conductor does of itself is gray. All transitions from one state to
// another share an edge.
//
// Which edges are requests is asked of [states.Table.Request], at the highest API
// version of the series. Two transitions are both: the API takes clean in
// deleting and manage in cleaning, where the conductor fires them itself. They
// are drawn as the conductor's, since that is how they come about, and say
// "(also via API)".
//
// What is written is the same, byte for byte, on every run and machine.
package graph

//go:generate go run ./cmd/stategraph -o testdata/provisioning-light.svg
//go:generate go run ./cmd/stategraph -theme dark -o testdata/provisioning-dark.svg
