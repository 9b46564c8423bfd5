// Package render draws the diagrams of package graph as SVG, PNG and HTML, with
// no Graphviz installed: Graphviz runs inside of the process, as WebAssembly.
//
// Graphviz lays the diagram out; what it answers is drawn here. Nothing depends
// on the fonts of the machine: text is measured with Graphviz's own tables, SVG
// keeps it to that width, and PNG comes with a font. So SVG and HTML are the same
// bytes everywhere.
//
// Importing the package compiles Graphviz, which takes half a second once and a
// moment afterwards: the compiled code is kept in the folder for temporary files.
// A program that writes DOT, Mermaid or JSON alone should import graph only.
//
// All functions may be called from many goroutines. Graphviz is one for the whole
// process, so they take turns; a context that ends while waiting for the turn ends
// the call. A layout that has begun is finished: it takes some tens of
// milliseconds. Nothing is left running.
//
// Graphviz keeps about 0.13 MB of memory for each diagram that it has laid out, as
// the WebAssembly build frees neither what it read nor what it answered, and
// moves all of it each time that it has grown by a quarter. That is nothing to a
// docs pipeline; a service that draws without end should keep the drawings it has
// made, or run the command stategraph.
package render
