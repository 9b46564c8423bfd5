// SPDX-License-Identifier: Apache-2.0

// Package graph draws Ironic's provisioning state machine: as DOT for Graphviz, as a Mermaid state diagram, which
// GitHub renders, as JSON for other tools, as a machine for XState, and as a Markdown page that explains every state.
// Package graph/render draws the same diagrams as SVG and PNG, with no Graphviz installed, and makes a page in which a
// reader explores the machine of every series.
//
// A [Diagram] describes a drawing. It needs a table and nothing else:
//
//	d := graph.Diagram{Table: states.Latest().Table()}
//	err := d.WriteDOT(os.Stdout)
//
// The other fields of a Diagram select the states and transitions to draw, and those to
// highlight, such as a node's state and the path that led to it:
//
//	d.Current = states.Enroll
//	d.Path, err = graph.Through(d.Table, states.Enroll, states.Verifying, states.Enroll)
//	err = d.WriteMermaid(os.Stdout)
//
// Stable states have a thick border; failed states and error are red. A blue edge is a request: its label is the API's
// word, in blue. A gray and dashed edge is a transition of the conductor alone. In DOT and in pictures the legend and
// the edges' tooltips say so; Mermaid, which has no legend, has "(via API)" behind the API's words. All transitions
// from one state to another share an edge. The edges from enroll by way of manageable and available to active are thick
// and in a straight line.
//
// [states.Table.IsRequest] decides which transitions are requests. The API also accepts words for two transitions that
// the conductor fires by itself, clean in deleting and manage in cleaning: these are drawn as the conductor's, with a
// blue word or the label "(also via API)".
//
// The output is byte for byte the same on every run and every machine.
package graph

//go:generate go run ../cmd/stategraph -o testdata/provisioning-light.svg
//go:generate go run ../cmd/stategraph -theme dark -o testdata/provisioning-dark.svg
