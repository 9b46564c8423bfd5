package main

import (
	"io"
	"maps"
	"slices"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

// drawings has the diagrams by the name of their format. Package graph distinguishes
// requests from the conductor's transitions and highlights the node's path; looplab's
// own visualizer highlights the node's state.
var drawings = map[string]func(*looplab.FSM, io.Writer) error{
	"":            drawPath,
	"mermaid":     func(node *looplab.FSM, out io.Writer) error { return diagramOf(node).WriteMermaid(out) },
	"dot":         func(node *looplab.FSM, out io.Writer) error { return diagramOf(node).WriteDOT(out) },
	"looplab":     visualize(fsm.MermaidFlowChart),
	"looplab-dot": visualize(fsm.GRAPHVIZ),
}

var formats = slices.Sorted(maps.Keys(drawings))[1:]

// drawPath draws only the states that a node has been in.
func drawPath(node *looplab.FSM, out io.Writer) error {
	d := diagramOf(node)
	for _, step := range d.Path {
		d.Only = d.Only.Union(states.SetOf(step.From, step.To))
	}
	return d.WriteMermaid(out)
}

// diagramOf returns the diagram of a node, with its current state and its path.
func diagramOf(node *looplab.FSM) graph.Diagram {
	m := node.Machine()
	d := graph.Diagram{Table: m.Table(), Title: m.Name(), Current: m.Node().State}
	for _, t := range m.History() {
		d.Path = append(d.Path, states.Transition{From: t.From.State, Event: t.Event, To: t.To.State})
	}
	return d
}

// visualize draws a node's machine with looplab's visualizer. Of looplab's two Mermaid
// forms only the flow chart supports states of several words.
func visualize(form fsm.VisualizeType) func(*looplab.FSM, io.Writer) error {
	return func(node *looplab.FSM, out io.Writer) error {
		text, err := fsm.VisualizeWithType(node.Looplab(), form)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, text)
		return err
	}
}
