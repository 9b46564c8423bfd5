// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// The colours of requests and of the conductor, without and with a dark background.
var causeColours = map[bool]struct{ request, conductor, words string }{
	false: {"#0b63c4", "#8c959f", "#59636e"},
	true:  {"#5aaeff", "#7d8793", "#a5afba"},
}

// transitionsOf returns the transitions that an edge draws, by their words in its label.
func transitionsOf(table *states.Table, edge item) map[string]states.Transition {
	rows := make(map[string]states.Transition)
	for row := range table.Transitions() {
		if edge.id != "edge-"+slugOf(row.From)+"-"+slugOf(row.To) {
			continue
		}
		word := row.Event.String()
		if accepts(table, row) {
			word = row.Event.Verb()
		}
		rows[word] = row
	}
	return rows
}

func slugOf(s states.State) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(s.String())
}

// accepts reports whether the API accepts a request for a transition.
func accepts(table *states.Table, row states.Transition) bool {
	_, err := table.Request(row.From, row.Event.Verb(), table.Series().MaxAPIVersion())
	return err == nil
}

// In a picture, colours and dashes say who moves a node, and the legend explains them once.
func TestPicturesSayByColourAndDashWhoMovesTheNode(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for _, dark := range []bool{false, true} {
			drawn, err := draw(t.Context(), graph.Diagram{Table: table, Dark: dark})
			require.NoError(t, err)
			colours := causeColours[dark]
			also := false
			for _, edge := range drawn.items {
				if !strings.HasPrefix(edge.id, "edge-") {
					continue
				}
				rows := transitionsOf(table, edge)
				requested, words := false, 0
				for _, row := range rows {
					requested = requested || table.IsRequest(row)
					also = also || accepts(table, row) && !table.IsRequest(row)
				}
				for _, m := range edge.shapes {
					if m.XMLName.Local != "text" {
						continue
					}
					words++
					want := colours.words
					require.Contains(t, rows, m.Text, edge.id)
					if accepts(table, rows[m.Text]) {
						want = colours.request
					}
					require.Equal(t, want, m.get("fill"), "%v: %s of %s", series, m.Text, edge.id)
				}
				require.Len(t, rows, words, edge.id)
				if requested {
					require.Equal(t, colours.request, edge.shapes[0].get("stroke"), edge.id)
					require.Empty(t, edge.shapes[0].get("stroke-dasharray"), edge.id)
				} else {
					require.Equal(t, colours.conductor, edge.shapes[0].get("stroke"), edge.id)
					require.NotEmpty(t, edge.shapes[0].get("stroke-dasharray"), edge.id)
				}
			}
			legend := make(map[string]string)
			for _, m := range drawn.heading {
				if m.Text != "" {
					require.NotContains(t, legend, m.Text)
					legend[m.Text] = m.get("fill")
				}
			}
			require.Equal(t, colours.request, legend["request (via API)"])
			require.Equal(t, colours.words, legend["conductor"])
			if also {
				require.Equal(t, colours.request, legend["conductor, also via API"])
			} else {
				require.NotContains(t, legend, "conductor, also via API")
			}
		}
	}
}

// A dashed line keeps its dashes in a comparison and on a path.
func TestDashesAreTheConductorsWhateverTheOptions(t *testing.T) {
	table := states.Latest().Table()
	path, err := graph.Through(table, states.Enroll, states.Verifying, states.Manageable, states.Cleaning, states.CleanFail)
	require.NoError(t, err)
	for name, d := range map[string]graph.Diagram{
		"since":         {Table: table, Since: states.Kilo.Table()},
		"path":          {Table: table, Path: path},
		"left to right": {Table: table, LeftToRight: true},
		"dark":          {Table: table, Dark: true},
	} {
		drawn, err := draw(t.Context(), d)
		require.NoError(t, err)
		for _, edge := range drawn.items {
			if strings.HasPrefix(edge.id, "edge-") {
				dashed := edge.shapes[0].get("stroke-dasharray") != ""
				require.Equal(t, strings.Contains(edge.class, "conductor"), dashed, "%s: %s", name, edge.id)
			}
		}
	}
}

// The pixels of a PNG along a dashed line have the page's colour in the gaps.
func TestPNGsHaveGapsInTheConductorsLines(t *testing.T) {
	table := states.Latest().Table()
	drawn, err := draw(t.Context(), graph.Diagram{Table: table, NoLegend: true})
	require.NoError(t, err)
	p, err := drawn.paint()
	require.NoError(t, err)
	for _, edge := range drawn.items {
		if !strings.HasPrefix(edge.id, "edge-") {
			continue
		}
		line, err := edge.line()
		require.NoError(t, err)
		painted := 0
		want := edge.shapes[0].get("stroke")
		for _, at := range line {
			x, y := p.TransformPoint(at.x, at.y)
			r, g, b, _ := p.Image().At(int(x), int(y)).RGBA()
			if near(want, r>>8, g>>8, b>>8) {
				painted++
			}
		}
		share := float64(painted) / float64(len(line))
		if strings.Contains(edge.class, "conductor") {
			require.Less(t, share, 0.9, edge.id)
		} else {
			require.Greater(t, share, 0.9, edge.id)
		}
	}
}

// near reports whether a colour is close to one in hexadecimal, as pixels at the edge of a line are.
func near(hex string, r, g, b uint32) bool {
	want, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil {
		return false
	}
	off := func(a, b uint32) uint32 { return max(a, b) - min(a, b) }
	const most = 70
	return off(uint32(want>>16), r) < most && off(uint32(want>>8)&0xff, g) < most && off(uint32(want)&0xff, b) < most
}
