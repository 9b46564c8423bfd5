package render

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/internal/draft"
	"github.com/ironstate/ironstate/states"
)

const page = `<polygon fill="#ffffff" stroke="none" points="-4,4 -4,-40 50,-40 50,4 -4,4"/>`

func TestReaderTakesWhatGraphvizWrites(t *testing.T) {
	about := draft.Element{Class: "state stable", Title: "is <a>", Link: "/a"}
	d, err := readDrawing(`<?xml version="1.0"?><!DOCTYPE svg><svg><g id="graph0" class="graph">`+page+`
		<text x="1" y="-2.5" font-size="12.00" font-weight="bold" text-decoration="line-through" fill="#111111">a &amp; b</text>
		<g id="state&#45;a" class="node"><title>n1</title>
		<polygon fill="#eeeeee" stroke="#222222" points="30,0 10,0 10,-15.5 30,-15.5 30,0"/>
		<path fill="none" stroke="#222222" stroke-width="2.2" stroke-dasharray="5,2" d="M1,2C3,4 5,6 7,8"/>
		<polygon fill="none" stroke="none" points="1,2 3,4 5,6 7,8 1,2"/>
		</g></g></svg>`, draft.Draft{
		Title: "title", Description: "description",
		Elements: map[string]draft.Element{"state-a": about},
	}, new(ruler))
	require.NoError(t, err)
	require.Equal(t, &drawing{
		title: "title", description: "description",
		heading: item{marks: []mark{text{words: "a & b", x: 1, y: -2.5, size: 12, bold: true, struck: true, colour: "#111111"}}},
		states: []*item{{
			id: "state-a", Element: about,
			marks: []mark{
				box{rectangle{10, -15.5, 20, 15.5}, pen{fill: "#eeeeee", stroke: "#222222"}},
				shape{"path", "M1,2C3,4 5,6 7,8", pen{"none", "#222222", "2.2", "5,2"}},
				shape{"polygon", "1,2 3,4 5,6 7,8 1,2", pen{fill: "none", stroke: "none"}},
			},
		}},
		colour: "#ffffff", page: rectangle{-4, -40, 54, 44},
	}, d)
}

func TestReaderRefusesWhatGraphvizDoesNotWrite(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":           "",
		"no page":           "<svg></svg>",
		"half a page":       `<svg><polygon points="1,2 3,4"/></svg>`,
		"a page of words":   `<svg><polygon points="a,b c,d e,f g,h i,j"/></svg>`,
		"a round page":      `<svg><path d="M1,2C3,4 5,6 7,8"/></svg>`,
		"an end in a tag":   "<svg>" + page + "<text ",
		"an end in between": "<svg>" + page + "<g>",
		"a text nowhere":    "<svg>" + page + "<text>a</text></svg>",
		"a text too large":  "<svg>" + page + `<text x="1" y="2" font-size="large">a</text></svg>`,
	} {
		_, err := readDrawing(answer, draft.Draft{}, new(ruler))
		require.ErrorIs(t, err, ErrLayout, name)
	}
}

// textsIn returns each text of a diagram with the width that Graphviz says it has.
func textsIn(t *testing.T, dot string) map[text]float64 {
	t.Helper()
	turn <- struct{}{}
	defer func() { <-turn }()
	answer, err := runGraphviz(context.Background(), dot, "json")
	require.NoError(t, err)
	type labelled struct {
		Label []struct {
			Op       string
			Size     float64
			FontChar int
			Text     string
			Width    float64
		} `json:"_ldraw_"`
	}
	var drawn struct {
		labelled
		Objects, Edges []labelled
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &drawn))
	widths := make(map[text]float64)
	for _, l := range append(append(drawn.Objects, drawn.Edges...), drawn.labelled) {
		var next text
		for _, op := range l.Label {
			switch op.Op {
			case "F":
				next.size = op.Size
			case "t":
				next.bold = op.FontChar&1 != 0
			case "T":
				next.words = op.Text
				widths[next] = op.Width
			}
		}
	}
	return widths
}

func TestRulerMeasuresAsGraphvizDoes(t *testing.T) {
	d := graph.Diagram{
		Table: states.Latest().Table(), Since: states.Kilo.Table(),
		Title: `The quick brown fox jumps over the lazy dog, 0123456789 <([{&"|'}])> ~!@#$%^*-_=+;:,.?/`,
	}
	var dot strings.Builder
	require.NoError(t, d.WriteDOT(&dot))
	widths := textsIn(t, dot.String())
	require.Greater(t, len(widths), 50)
	_, err := layOut(context.Background(), d)
	require.NoError(t, err)
	for each, width := range widths {
		rules.measure(&each)
		require.InDelta(t, width, each.width, 0.01, "%+v", each)
	}
}

func TestRulerNeedsAnAnswer(t *testing.T) {
	for _, answer := range []string{"", "{}", `{"objects":[{"_ldraw_":[{"text":"a","width":1}]}]}`} {
		_, err := readRuler(answer)
		require.ErrorIs(t, err, ErrLayout, answer)
	}
}
