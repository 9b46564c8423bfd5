// Package render draws the diagrams of package graph as SVG and PNG, and makes an
// HTML page of them in which a reader explores the machine, with no Graphviz
// installed: Graphviz runs in the process, as WebAssembly.
//
//	err := render.SVG(ctx, file, graph.Diagram{Table: states.Latest().Table()})
//
// [SVG] and [PNG] draw one diagram, and the page is written from one by [HTML], which
// adds all others to it.
//
// The drawing is Graphviz's, with IDs, classes, tooltips and labels for screen
// readers on each part, state and edge. It is the same on every machine, byte for
// byte. SVG and HTML name fonts that are as wide as Helvetica, for which Graphviz
// lays out; PNG comes with a font.
//
// Importing the package compiles Graphviz, which takes half a second once and a
// moment afterwards: the compiled code is kept in the folder for temporary files.
// A program that writes DOT, Mermaid or JSON alone should import graph only.
//
// All functions may be called from many goroutines. They share one Graphviz and wait
// for each other; a context that ends meanwhile ends the wait. A layout that has
// begun is finished, in some tens of milliseconds. No goroutine is left running.
//
// Graphviz does not give back the memory of a diagram, about 0.2 MB. A docs pipeline
// does not notice; a service should keep the drawings that it has made, or run the
// command stategraph.
package render
