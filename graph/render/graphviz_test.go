// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

func TestAContextEndsTheWaitForGraphviz(t *testing.T) {
	graphvizMu <- struct{}{} // as another drawing holds it
	defer func() { <-graphvizMu }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- SVG(ctx, io.Discard, graph.Diagram{Table: states.Latest().Table()}) }()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestAnErrorOfTheLayoutSaysWhereItIs(t *testing.T) {
	for _, c := range []struct{ dot, want string }{
		{"digraph { a [", "graphviz failed: syntax error in line 1"},
		{"digraph { a }\n\n", "graphviz failed: read its SVG: it has no page"},
		{"digraph { a [", "graphviz failed: syntax error in line 1"},
		{"digraph { a\n[", "graphviz failed: syntax error in line 2"},
		{"digraph { a [", "graphviz failed: syntax error in line 1"},
	} {
		_, _, err := layOut(t.Context(), c.dot, variant{})
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, c.want)
	}
}
