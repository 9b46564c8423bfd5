package render

import (
	"context"
	"encoding/json"
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/internal/draft"
	"github.com/ironstate/ironstate/states"
)

// said returns what a diagram's DOT says of its parts, states and edges, by ID, as
// Graphviz has read it.
func said(t *testing.T, d graph.Diagram) map[string]draft.Element {
	t.Helper()
	var dot strings.Builder
	require.NoError(t, d.WriteDOT(&dot))
	turn <- struct{}{}
	defer func() { <-turn }()
	answer, err := runGraphviz(context.Background(), dot.String(), "json0")
	require.NoError(t, err)
	type object struct{ ID, Class, Tooltip, URL string }
	var read struct{ Objects, Edges []object }
	require.NoError(t, json.Unmarshal([]byte(answer), &read))

	all := make(map[string]draft.Element)
	for _, o := range append(read.Objects, read.Edges...) {
		if o.ID != "" {
			all[o.ID] = draft.Element{Class: o.Class, Title: unquoteDOT(o.Tooltip), Link: unquoteDOT(o.URL)}
		}
	}
	return all
}

func unquoteDOT(text string) string {
	return html.UnescapeString(strings.ReplaceAll(text, `\\`, `\`))
}

// FuzzDOT has Graphviz read the DOT that a caller's texts are in: they say what
// they say in an SVG, and nothing else changes.
func FuzzDOT(f *testing.F) {
	for _, text := range []string{
		"plain", `"]; n1 -> n2 [label="out`, `\`, `\"`, `\N\G`, `ends in \`, "a\nb\x00c\x1b", "\xff\xfe",
		"&amp;&lt;&#1;&bogus;", "</b></font>", "/path?a=1&b='2'", "?\x80", "Ωμέγα → 漢字 🙂",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := graph.Diagram{Table: states.Kilo.Table(), Title: text, Description: text}
		d.Describe = func(states.State) string { return text }
		d.Link = func(states.State) string { return text }
		want, err := draft.Of(d)
		if err != nil {
			require.ErrorIs(t, err, graph.ErrLink)
			d.Link = nil
			want, err = draft.Of(d)
			require.NoError(t, err)
		}
		require.Equal(t, want.Elements, said(t, d))
	})
}
