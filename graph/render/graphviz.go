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

var (
	errNoContext = errors.New("nil context")
	errNoWriter  = errors.New("nil writer")
)

// write writes a diagram in a format. It calls w.Write once.
func write(ctx context.Context, w io.Writer, d graph.Diagram, format func(*drawing) ([]byte, error)) error {
	switch {
	case ctx == nil:
		return errNoContext
	case w == nil:
		return errNoWriter
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

// draw returns a diagram as Graphviz draws it.
func draw(ctx context.Context, d graph.Diagram) (*drawing, error) {
	title, description, err := d.Caption()
	if err != nil {
		return nil, err
	}
	var dot strings.Builder
	if err := d.WriteDOT(&dot); err != nil {
		return nil, err
	}
	// This build of Graphviz unescapes tooltips twice; others unescape them once.
	escaped := strings.ReplaceAll(dot.String(), `\\`, `\\\\`)
	answer, err := runGraphviz(ctx, escaped, graphviz.SVG)
	if err != nil {
		return nil, err
	}
	drawn, err := readDrawing(answer)
	if err != nil {
		return nil, fmt.Errorf("%w: read its SVG: %w", ErrLayout, err)
	}
	drawn.title, drawn.description = title, description
	return drawn, nil
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
