// SPDX-License-Identifier: Apache-2.0

// Package render draws the diagrams of package graph as SVG and PNG, and makes an HTML page of them in which a reader
// explores the machine, with no Graphviz installed: Graphviz runs in the process, as WebAssembly.
//
//	err := render.SVG(ctx, file, graph.Diagram{Table: states.Latest().Table()})
//
// [SVG] and [PNG] draw one diagram. [HTML] writes a page that opens with one diagram and has the data of all series.
//
// The drawing is Graphviz's, with IDs, classes, tooltips and labels for screen readers on each part, state and edge.
// The titles of parts are moved to where no line runs through them. The drawing is the same on every machine, byte for
// byte. In SVG and HTML each text has the width that it has in Helvetica, which Graphviz uses to compute the layout, in
// any font; PNG uses the Go fonts, which are compiled in.
//
// [PNG] paints the SVG itself. The WebAssembly build of Graphviz v0.2.9 has a PNG renderer too, but it fills the area
// under each curved edge, draws no border of a state and no bold text.
//
// Importing the package compiles Graphviz to machine code. This takes half a second the first time and less from then
// on: the compiled code is cached in the folder for temporary files. A program that writes DOT, Mermaid or JSON alone
// should import package graph only.
//
// All functions are safe for concurrent use. Calls into Graphviz are serialized; a context that ends cancels the wait
// for them. A layout that has begun is finished, in some tens of milliseconds. No function leaves a goroutine running.
//
// Each layout leaks about 0.2 MB: go-graphviz v0.2.9 copies texts into the memory of its WebAssembly module and does
// not free them, and a process has one such module. Most diagrams need one layout; one that cannot be drawn without a
// fault takes all 32. This does not matter to a docs pipeline. A service that draws for requests should keep each
// drawing by the fields of its Diagram that requests set, such as Table and Current, and limit their number, or run the
// command stategraph.
package render
