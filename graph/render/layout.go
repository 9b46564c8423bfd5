package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/goccy/go-graphviz"

	"github.com/ironstate/ironstate/graph"
)

// ErrLayout is matched by errors that say that Graphviz failed.
var ErrLayout = errors.New("graphviz failed")

// turn is held by the one that uses Graphviz.
var turn = make(chan struct{}, 1)

// layOut returns a diagram as Graphviz has laid it out.
func layOut(ctx context.Context, d graph.Diagram) (*drawing, error) {
	var dot bytes.Buffer
	if err := d.WriteDOT(&dot); err != nil {
		return nil, err
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer, err := runGraphviz(context.WithoutCancel(ctx), dot.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLayout, err)
	}
	return parseDrawing(answer)
}

// runGraphviz returns Graphviz's JSON for a graph: its attributes, and what to
// draw as the operations of xdot. The caller has the turn. What closing returns is
// left alone: the answer is whole by then, and it may be a warning of long ago.
func runGraphviz(ctx context.Context, dot []byte) ([]byte, error) {
	gv, err := graphviz.New(ctx)
	if err != nil {
		return nil, err
	}
	defer gv.Close()
	g, err := graphviz.ParseBytes(dot)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, errors.New("no graph read")
	}
	defer g.Close()
	var out bytes.Buffer
	err = gv.Render(ctx, g, "json", &out)
	return out.Bytes(), err
}
