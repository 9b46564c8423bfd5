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

// A variant is a choice of layout attributes that replace package graph's, whose values suit the whole machine: others
// may suit a part of it better. The zero variant replaces none.
type variant struct {
	nodesep, ranksep float64 // gaps, in inches; 0 for package graph's
	remincross       bool    // crossings are minimized a second time
	ranked           bool    // each edge ranks its second state below its first
	even             bool    // the spine weighs no more than other edges
}

// variants are tried in this order. The gaps are wider than package graph's. Of the 198 diagrams of
// TestSelectionsAreReadable, 13 have a fault in each variant, and 16 without the gaps. Other gaps that were tried,
// within 0.05 of these, give 13, too.
var variants = func() (all []variant) {
	for _, even := range []bool{false, true} {
		for _, ranked := range []bool{false, true} {
			for _, remincross := range []bool{false, true} {
				for _, gaps := range []struct{ node, rank float64 }{{0, 0}, {0.3, 0}, {0, 0.4}, {0.4, 0}} {
					all = append(all, variant{gaps.node, gaps.rank, remincross, ranked, even})
				}
			}
		}
	}
	return all
}()

// vary sets the attributes of a variant in a graph.
func (v variant) vary(g *graphviz.Graph) {
	if v.nodesep != 0 {
		g.SetNodeSeparator(v.nodesep)
	}
	if v.ranksep != 0 {
		g.SetRankSeparator(v.ranksep)
	}
	if v.remincross {
		g.SetReminCross(true)
	}
	eachEdge(g, func(e *graphviz.Edge) {
		if v.ranked {
			e.SetConstraint(true)
		}
		if v.even {
			e.SetWeight(1)
		}
	})
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
	for _, v := range variants {
		drawn, faults, err := layOut(ctx, dot.String(), v)
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
func layOut(ctx context.Context, dot string, v variant) (_ *drawing, faults int, err error) {
	answer, err := runGraphviz(ctx, dot, v)
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
func runGraphviz(ctx context.Context, dot string, v variant) (svg string, err error) {
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
	// Graphviz leaves the line breaks after a graph to its next parse, whose errors would count them.
	g, err := graphviz.ParseBytes([]byte(strings.TrimSpace(dot)))
	switch {
	case err != nil:
		return "", err
	case g == nil:
		return "", errors.New("no graph read")
	}
	defer g.Close() // its error may be a warning of an earlier drawing
	v.vary(g)
	// This build of Graphviz unescapes tooltips twice; others unescape them once. Only callers' texts have a backslash.
	eachNode(g, func(n *graphviz.Node) { n.SetTooltip(strings.ReplaceAll(n.GetStr("tooltip"), `\`, `\\`)) })
	var out strings.Builder
	err = viz.Render(ctx, g, graphviz.SVG, &out)
	return out.String(), err
}
