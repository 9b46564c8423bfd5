package render

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-graphviz"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/internal/draft"
)

// ErrLayout is matched by errors that say that Graphviz failed.
var ErrLayout = errors.New("graphviz failed")

// turn is held by the one that uses Graphviz, which is what follows.
var turn = make(chan struct{}, 1)

var (
	viz   *graphviz.Graphviz // nil until it is needed
	rules *ruler             // likewise
)

// layOut returns a diagram as Graphviz has drawn it.
func layOut(ctx context.Context, d graph.Diagram) (*drawing, error) {
	diagram, err := draft.Of(d)
	if err != nil {
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
	ctx = context.WithoutCancel(ctx)
	if rules == nil {
		if rules, err = newRuler(ctx); err != nil {
			return nil, err
		}
	}
	answer, err := runGraphviz(ctx, diagram.DOT, graphviz.SVG)
	if err != nil {
		return nil, err
	}
	return readDrawing(answer, diagram, rules)
}

// runGraphviz returns a graph laid out, in one of Graphviz's formats. The caller
// has the turn.
func runGraphviz(ctx context.Context, dot string, format graphviz.Format) (answer string, err error) {
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
	defer g.Close() // what it returns may be a warning of long ago
	var out strings.Builder
	err = viz.Render(ctx, g, format, &out)
	return out.String(), err
}
