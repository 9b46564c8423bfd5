// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// Each text has the width that Graphviz left for it, in any font of SVG, and about that width in
// the font of PNG.
func TestTextsFitTheirBoxes(t *testing.T) {
	const margin = 7.2 // of a state's box, in points
	for series := range states.AllSeries() {
		drawn, err := draw(t.Context(), graph.Diagram{Table: series.Table(), Title: "Bold Wide & @ Title ~"})
		require.NoError(t, err)
		p := newPainter(1, 1)
		groups := append([]item{{id: "heading", shapes: drawn.heading}}, drawn.items...)
		for _, i := range groups {
			for _, m := range i.shapes {
				if m.XMLName.Local != "text" {
					continue
				}
				numbers, err := m.floats("textLength", "font-size", "x")
				require.NoError(t, err)
				length, size, x := numbers[0], numbers[1], numbers[2]
				require.Positive(t, length, "%s: %s", i.id, m.Text)
				require.Equal(t, "spacingAndGlyphs", m.get("lengthAdjust"))
				require.NoError(t, p.setFont(faceKey{size * narrower * pixels, m.get("font-weight") == "bold"}))
				painted, _ := p.MeasureString(m.Text)
				require.InDelta(t, length, painted/pixels, 5, "%v: %s of %s in PNG", series, m.Text, i.id)
				if strings.HasPrefix(i.id, "state-") {
					outline, err := i.outline()
					require.NoError(t, err)
					require.InDelta(t, outline.right-outline.left, length+2*margin, 0.1, "%v: %s", series, i.id)
					require.Equal(t, "middle", m.get("text-anchor"))
					require.InDelta(t, (outline.left+outline.right)/2, x, 1, "%v: %s", series, i.id)
				}
			}
		}
	}
}

func TestTheWidthOfATextIsHelveticas(t *testing.T) {
	for text, want := range map[string][2]float64{
		"":            {0, 0},
		" ":           {0.278, 0.278},
		"~":           {0.584, 0.584},
		"wait":        {1.778, 1.945},
		"Tear-down":   {4.779, 5.056},
		"(via API) @": {5.127, 5.254},
	} {
		for n, bold := range []bool{false, true} {
			width, ok := helveticaWidth(text, bold)
			require.True(t, ok, text)
			require.InDelta(t, want[n], width, 1e-9, "%q, bold: %v", text, bold)
		}
	}
	for _, text := range []string{"é", "a\x1f", "\x7f", "漢字"} {
		_, ok := helveticaWidth(text, false)
		require.False(t, ok, text)
	}
}

// A text with characters whose width in Helvetica is not known keeps the width of its font.
func TestATextOfOtherCharactersHasNoLength(t *testing.T) {
	drawn, err := draw(t.Context(), graph.Diagram{Table: states.Kilo.Table(), Title: "Zustände"})
	require.NoError(t, err)
	require.Equal(t, "Zustände", drawn.heading[0].Text)
	require.Empty(t, drawn.heading[0].get("textLength"))

	shapes := []element{{XMLName: xml.Name{Local: "text"}, Attrs: []xml.Attr{{Name: xml.Name{Local: "font-size"}, Value: "big"}}}}
	require.Error(t, fit(shapes))
}
