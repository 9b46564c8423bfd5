// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/goccy/go-graphviz"

	"github.com/ironstate/ironstate/graph"
)

// ErrLayout is matched by errors of Graphviz.
var ErrLayout = errors.New("graphviz failed")

var (
	errNoContext = errors.New("nil context")
	errNoWriter  = errors.New("nil writer")
)

// checkWrite returns an error for an argument of a function of this package that is nil.
func checkWrite(ctx context.Context, w io.Writer) error {
	switch {
	case ctx == nil:
		return errNoContext
	case w == nil:
		return errNoWriter
	default:
		return nil
	}
}

// write writes a diagram in a format. It calls w.Write once.
func write(ctx context.Context, w io.Writer, d graph.Diagram, format func(*drawing) ([]byte, error)) error {
	if err := checkWrite(ctx, w); err != nil {
		return err
	}
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

// A hint is a replacement in the layout hints of DOT, whose values suit the whole machine:
// another one may suit a part of the machine better.
type hint struct{ old, new string }

var (
	reorder = []hint{{}, {`remincross="false"`, `remincross="true"`}}
	rerank  = []hint{{}, {`constraint="false"`, `constraint="true"`}}
	loosen  = []hint{{}, {`weight="100"`, `weight="1"`}}
	widen   = []hint{{}, {`nodesep="0.`, `nodesep="0.3`}, {`ranksep="0.`, `ranksep="0.4`}, {`nodesep="0.`, `nodesep="0.4`}}
)

// variants ranges over a graph with all combinations of the hints, as it is first.
func variants(dot string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := range len(loosen) * len(rerank) * len(reorder) * len(widen) {
			changed := dot
			for _, hints := range [][]hint{widen, reorder, rerank, loosen} {
				if h := hints[n%len(hints)]; h != (hint{}) {
					changed = strings.ReplaceAll(changed, h.old, h.new)
				}
				n /= len(hints)
			}
			if !yield(changed) {
				return
			}
		}
	}
}

// draw returns a diagram as Graphviz draws it in the variant with the fewest faults.
func draw(ctx context.Context, d graph.Diagram) (*drawing, error) {
	title, description, err := d.Caption()
	if err != nil {
		return nil, err
	}
	d.NoNotes = true
	var dot strings.Builder
	if err := d.WriteDOT(&dot); err != nil {
		return nil, err
	}
	// This build of Graphviz unescapes tooltips twice; others unescape them once.
	escaped := strings.ReplaceAll(dot.String(), `\\`, `\\\\`)
	var best *drawing
	fewest := 0
	for variant := range variants(escaped) {
		drawn, faults, err := layOut(ctx, variant)
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

// layOut returns the drawing of a graph, with its number of faults.
func layOut(ctx context.Context, dot string) (*drawing, int, error) {
	answer, err := runGraphviz(ctx, dot, graphviz.SVG)
	if err != nil {
		return nil, 0, err
	}
	drawn, err := readDrawing(answer)
	if err == nil {
		err = drawn.fit()
	}
	var p *plane
	if err == nil {
		p, err = newPlane(drawn.items)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: read its SVG: %w", ErrLayout, err)
	}
	p.placeTitles()
	return drawn, p.faults(), nil
}

// graphvizMu serializes calls into Graphviz. It is a channel so that a context can
// end the wait for it.
var graphvizMu = make(chan struct{}, 1)

var viz *graphviz.Graphviz // created on first use, guarded by graphvizMu

// runGraphviz lays a graph out and returns it in one of Graphviz's formats.
func runGraphviz(ctx context.Context, dot string, format graphviz.Format) (answer string, err error) {
	select {
	case graphvizMu <- struct{}{}:
		defer func() { <-graphvizMu }()
	case <-ctx.Done():
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
	var out strings.Builder
	err = viz.Render(ctx, g, format, &out)
	return out.String(), err
}
