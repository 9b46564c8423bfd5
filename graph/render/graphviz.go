// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-graphviz"

	"github.com/ironstate/ironstate/graph"
)

// ErrLayout is matched by errors of Graphviz.
var ErrLayout = errors.New("graphviz failed")

// write writes a diagram in a format. It calls w.Write once.
func write(ctx context.Context, w io.Writer, d graph.Diagram, format func(*drawing) ([]byte, error)) error {
	drawn, err := draw(ctx, d)
	if err != nil {
		return err
	}
	data, err := format(drawn)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// hints are layout attributes that replace package graph's, whose values suit the whole machine: others may suit a part
// of it better. A variant has one entry of each list; nil changes nothing.
//
// The gaps, in inches, are wider than package graph's. Of the 198 diagrams of TestSelectionsAreReadable, 13 have a
// fault in each variant, and 16 without the gaps. Other gaps that were tried, within 0.05 of these, give 13, too.
var hints = [...][]func(*graphviz.Graph){
	{
		nil, func(g *graphviz.Graph) { g.SetNodeSeparator(0.3) },
		func(g *graphviz.Graph) { g.SetRankSeparator(0.4) }, func(g *graphviz.Graph) { g.SetNodeSeparator(0.4) },
	},
	{nil, func(g *graphviz.Graph) { g.SetReminCross(true) }},
	{nil, func(g *graphviz.Graph) { eachEdge(g, func(e *graphviz.Edge) { e.SetConstraint(true) }) }},
	{nil, func(g *graphviz.Graph) { eachEdge(g, func(e *graphviz.Edge) { e.SetWeight(1) }) }},
}

// variants returns the number of combinations of the hints.
func variants() int {
	n := 1
	for _, values := range hints {
		n *= len(values)
	}
	return n
}

// vary sets the hints of a variant in a graph. The variant 0 is the graph as it is.
func vary(g *graphviz.Graph, variant int) {
	for _, values := range hints {
		if set := values[variant%len(values)]; set != nil {
			set(g)
		}
		variant /= len(values)
	}
}

// eachNode calls do with the nodes of a graph.
func eachNode(g *graphviz.Graph, do func(*graphviz.Node)) {
	for n, _ := g.FirstNode(); n != nil; n, _ = g.NextNode(n) {
		do(n)
	}
}

// eachEdge calls do with the edges of a graph.
func eachEdge(g *graphviz.Graph, do func(*graphviz.Edge)) {
	eachNode(g, func(n *graphviz.Node) {
		for e, _ := g.FirstOut(n); e != nil; e, _ = g.NextOut(e) {
			do(e)
		}
	})
}

// draw returns a diagram as Graphviz draws it in the variant with the fewest faults.
func draw(ctx context.Context, d graph.Diagram) (*drawing, error) {
	title, description, err := d.Caption()
	if err != nil {
		return nil, err
	}
	var dot strings.Builder
	if err := d.WriteDOT(&dot); err != nil {
		return nil, err
	}
	var best *drawing
	fewest := 0
	for variant := range variants() {
		drawn, faults, err := layOut(ctx, dot.String(), variant)
		if err != nil {
			return nil, err
		}
		if best == nil || faults < fewest {
			best, fewest = drawn, faults
		}
		if fewest == 0 {
			break
		}
	}
	best.title, best.description = title, description
	return best, nil
}

// layOut returns the drawing of a variant of a graph, with its number of faults.
func layOut(ctx context.Context, dot string, variant int) (_ *drawing, faults int, err error) {
	answer, err := runGraphviz(ctx, dot, variant)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: read its SVG: %w", ErrLayout, err)
		}
	}()
	drawn, err := readDrawing(answer)
	if err != nil {
		return nil, 0, err
	}
	if err := drawn.fit(); err != nil {
		return nil, 0, err
	}
	p, err := newPlane(drawn.items)
	if err != nil {
		return nil, 0, err
	}
	p.placeTitles()
	return drawn, p.faults(), nil
}

// graphvizMu serializes calls into Graphviz. It is a channel so that a context can end the wait for it.
var graphvizMu = make(chan struct{}, 1)

var viz *graphviz.Graphviz // created on first use, guarded by graphvizMu

// runGraphviz lays a variant of a graph out, and returns it as SVG.
func runGraphviz(ctx context.Context, dot string, variant int) (svg string, err error) {
	select {
	case graphvizMu <- struct{}{}:
		defer func() { <-graphvizMu }()
	case <-ctx.Done(): // ctx.Err below reports it, also when both cases were ready
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx = context.WithoutCancel(ctx)
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrLayout, err)
		}
	}()
	if viz == nil {
		if viz, err = graphviz.New(ctx); err != nil {
			return "", err
		}
	}
	g, err := graphviz.ParseBytes([]byte(dot))
	switch {
	case err != nil:
		return "", err
	case g == nil:
		return "", errors.New("no graph read")
	}
	defer g.Close() // its error may be a warning of an earlier drawing
	vary(g, variant)
	// This build of Graphviz unescapes tooltips twice; others unescape them once. Only callers' texts have a backslash.
	eachNode(g, func(n *graphviz.Node) { n.SetTooltip(strings.ReplaceAll(n.GetStr("tooltip"), `\`, `\\`)) })
	var out strings.Builder
	err = viz.Render(ctx, g, graphviz.SVG, &out)
	return out.String(), err
}
