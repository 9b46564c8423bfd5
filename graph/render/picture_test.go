// SPDX-License-Identifier: Apache-2.0

package render

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

type point struct{ x, y float64 }

type box struct{ left, top, right, bottom float64 }

func (b box) union(o box) box {
	return box{min(b.left, o.left), min(b.top, o.top), max(b.right, o.right), max(b.bottom, o.bottom)}
}

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

func (b box) distance(p point) float64 {
	return math.Hypot(max(b.left-p.x, 0, p.x-b.right), max(b.top-p.y, 0, p.y-b.bottom))
}

func (b box) has(p point) bool { return b.meets(box{p.x, p.y, p.x, p.y}) }

// line returns points along the line of an edge, less than three points apart.
func (i item) line(t *testing.T) []point {
	t.Helper()
	require.Equal(t, "path", i.marks[0].XMLName.Local, i.id)
	p, err := numbers(strings.ReplaceAll(strings.TrimPrefix(i.marks[0].get("d"), "M"), "C", " "))
	require.NoError(t, err)
	var line []point
	for ; len(p) >= 8; p = p[6:] {
		length := math.Hypot(p[6]-p[0], p[7]-p[1]) + math.Hypot(p[2]-p[0], p[3]-p[1]) + math.Hypot(p[6]-p[4], p[7]-p[5])
		steps := math.Ceil(length)
		for s := range int(steps) + 1 {
			f := float64(s) / steps
			g := 1 - f
			a, b, c, d := g*g*g, 3*g*g*f, 3*g*f*f, f*f*f
			line = append(line, point{a*p[0] + b*p[2] + c*p[4] + d*p[6], a*p[1] + b*p[3] + c*p[5] + d*p[7]})
		}
	}
	return line
}

// words returns the box around an item's texts; its height is that of their lower-case
// letters.
func (i item) words(t *testing.T, p *painter) box {
	t.Helper()
	all := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, m := range i.marks {
		if m.XMLName.Local != "text" {
			continue
		}
		x, err := number(m, "x", 0)
		require.NoError(t, err)
		y, err := number(m, "y", 0)
		require.NoError(t, err)
		size, err := number(m, "font-size", 0)
		require.NoError(t, err)
		require.NoError(t, p.setFont(faceKey{size * narrower * pixels, m.get("font-weight") == "bold"}))
		wide, _ := p.MeasureString(m.Text)
		wide /= pixels
		if m.get("text-anchor") == "middle" {
			x -= wide / 2
		}
		all = all.union(box{x, y - size*0.5, x + wide, y})
	}
	return all
}

// No line runs through a part's title, a label or a state, no labels overlap, and each
// label is close to its own line.
func TestPicturesAreReadable(t *testing.T) {
	latest := states.Latest().Table()
	for name, d := range map[string]graph.Diagram{
		"top down":                {Table: latest},
		"since kilo":              {Table: latest, Since: states.Kilo.Table()},
		"left to right":           {Table: latest, LeftToRight: true},
		"requests":                {Table: latest, RequestsOnly: true},
		"requests, left to right": {Table: latest, RequestsOnly: true, LeftToRight: true},
	} {
		t.Run(name, func(t *testing.T) {
			drawn, err := draw(t.Context(), d)
			require.NoError(t, err)
			p, err := drawn.paint()
			require.NoError(t, err)
			words := make([]box, len(drawn.items))
			for n, i := range drawn.items {
				words[n] = i.words(t, p)
			}
			for n, edge := range drawn.items {
				from, to, ok := strings.Cut(strings.TrimPrefix(edge.id, "edge-"), "-")
				if !ok || !strings.HasPrefix(edge.id, "edge-") {
					continue
				}
				line := edge.line(t)
				nearest := math.Inf(1)
				for _, p := range line {
					nearest = min(nearest, words[n].distance(p))
				}
				require.Less(t, nearest, 18.0, "points between %s and its words", edge.id)
				for m, other := range drawn.items {
					if other.id == "state-"+from || other.id == "state-"+to {
						continue
					}
					require.False(t, slices.ContainsFunc(line, words[m].has), "the line of %s through the words of %s", edge.id, other.id)
					require.False(t, n != m && words[n].meets(words[m]), "the words of %s over those of %s", edge.id, other.id)
				}
			}
		})
	}
}
