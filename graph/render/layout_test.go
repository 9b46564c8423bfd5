// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-graphviz"
	"github.com/stretchr/testify/require"
)

func attributes(pairs ...string) []xml.Attr {
	var all []xml.Attr
	for n := 0; n < len(pairs); n += 2 {
		all = append(all, xml.Attr{Name: xml.Name{Local: pairs[n]}, Value: pairs[n+1]})
	}
	return all
}

func markOf(name string, pairs ...string) element {
	return element{XMLName: xml.Name{Local: name}, Attrs: attributes(pairs...)}
}

// label returns a text of 20 by 5 points, whose left end is at x.
func label(x, y float64) element {
	m := markOf("text", "x", fmt.Sprint(x), "y", fmt.Sprint(y), "font-size", "10", "textLength", "20")
	m.Text = "text"
	return m
}

// edgeFrom returns an edge along a straight line, with its words.
func edgeFrom(id, class string, from, to point, words ...element) item {
	path := fmt.Sprintf("M%v,%vC%v,%v %v,%v %v,%v", from.x, from.y, from.x, from.y, to.x, to.y, to.x, to.y)
	return item{id: "edge-" + id, class: "edge " + class, shapes: append([]element{markOf("path", "d", path)}, words...)}
}

// boxed returns a state or a part with an outline and its name.
func boxed(id, class string, b box, name element) item {
	points := fmt.Sprintf("%v,%v %v,%v %v,%v %v,%v", b.left, b.top, b.right, b.top, b.right, b.bottom, b.left, b.bottom)
	return item{id: id, class: class, shapes: []element{markOf("polygon", "points", points), name}}
}

func faults(t *testing.T, items ...item) int {
	t.Helper()
	p, err := newPlane(items)
	require.NoError(t, err)
	return p.faults()
}

func TestFaultsAreCounted(t *testing.T) {
	line := edgeFrom("a-b", "request", point{0, 0}, point{0, 100}, label(2, 50))
	a, b := boxed("state-a", "state", box{-10, -10, 10, 0}, label(-10, 0)), boxed("state-b", "state", box{-10, 100, 10, 110}, label(-10, 105))
	for name, c := range map[string]struct {
		items []item
		want  int
	}{
		"none":                    {[]item{line, a, b}, 0},
		"through its own states":  {[]item{edgeFrom("a-b", "", point{0, -5}, point{0, 110}, label(2, 50)), a, b}, 0},
		"through a state's name":  {[]item{line, boxed("state-c", "state", box{-20, 60, 20, 80}, label(-10, 72))}, badName},
		"beside a state's name":   {[]item{line, boxed("state-c", "state", box{-20, 60, 20, 80}, label(1, 72))}, 0},
		"through a title":         {[]item{line, boxed("part-c", "part", box{-20, 60, 20, 80}, label(-10, 72))}, badName},
		"a label on its own line": {[]item{edgeFrom("a-b", "", point{0, 0}, point{0, 100}, label(-5, 50))}, badLabel},
		"near":                    {[]item{edgeFrom("a-b", "", point{0, 0}, point{0, 100}, label(17.9, 50))}, 0},
		"far":                     {[]item{edgeFrom("a-b", "", point{0, 0}, point{0, 100}, label(18, 50))}, badLabel},
		"no label":                {[]item{edgeFrom("a-b", "", point{0, 0}, point{0, 100})}, badName},
		"through another label":   {[]item{line, edgeFrom("c-d", "", point{-4, 0}, point{-4, 100}, label(-3, 90))}, badLabel},
		"a label over another":    {[]item{line, edgeFrom("c-d", "", point{30, 0}, point{30, 100}, label(8, 52))}, 2 * badLabel},
		"a label over a state":    {[]item{line, boxed("state-c", "state", box{10, 40, 60, 60}, label(15, 51))}, badLabel},
		"a straight spine":        {[]item{edgeFrom("a-b", "spine", point{0, 0}, point{1, 100}, label(4, 50))}, 0},
		"a crooked spine":         {[]item{edgeFrom("a-b", "spine", point{0, 0}, point{1.1, 100}, label(4, 50))}, 2 * badSpine},
		"a spine from left":       {[]item{edgeFrom("a-b", "spine", point{0, 0}, point{100, 0}, label(50, 10))}, 0},
		"a spine beside the other": {[]item{
			edgeFrom("a-b", "spine", point{0, 0}, point{0, 50}, label(2, 30)),
			edgeFrom("b-c", "spine", point{5, 60}, point{5, 100}, label(7, 80)),
		}, badSpine},
	} {
		require.Equal(t, c.want, faults(t, c.items...), name)
	}
}

func TestAPlaneOfNumbersThatAreNoneIsAnError(t *testing.T) {
	for name, i := range map[string]item{
		"text":    {class: "state", shapes: []element{markOf("text", "x", "left")}},
		"outline": {class: "state", shapes: []element{markOf("polygon", "points", "1,two")}},
		"line":    {class: "edge", shapes: []element{markOf("path", "d", "M1,two")}},
	} {
		_, err := newPlane([]item{i})
		require.Error(t, err, name)
	}
}

// titleOf returns where the title of a part is drawn, beside other items.
func titleOf(t *testing.T, part item, others ...item) box {
	t.Helper()
	items := append([]item{part}, others...)
	p, err := newPlane(items)
	require.NoError(t, err)
	before := slices.Clone(part.shapes[1].Attrs)
	p.placeTitles()
	require.Equal(t, before, part.shapes[1].Attrs, "the drawing that was given is not changed in part")
	words, err := items[0].words()
	require.NoError(t, err)
	require.Equal(t, words, p.words[0])
	return words
}

func TestATitleStandsWhereNoLineIs(t *testing.T) {
	around := box{0, 0, 100, 100}
	part := boxed("part-a", "part", around, label(8, 13)) // top left
	down := func(x float64) item { return edgeFrom("a-b", "", point{x, -50}, point{x, 150}, label(x+300, 0)) }
	across := func(y float64) item { return edgeFrom("c-d", "", point{-50, y}, point{150, y}, label(300, y)) }
	require.Equal(t, box{8, 8, 28, 13}, titleOf(t, part), "it stays")
	require.Equal(t, box{8, 8, 28, 13}, titleOf(t, part, down(5.9), down(30.1)), "it stays beside lines")
	require.Equal(t, box{20, 8, 40, 13}, titleOf(t, part, down(17)), "it moves to the right")
	require.Equal(t, box{32, 8, 52, 13}, titleOf(t, part, boxed("state-a", "state", box{4, 4, 28, 20}, label(5, 15))), "beside a state")
	require.Equal(t, box{8, 87, 28, 92}, titleOf(t, part, across(10), across(12)), "it moves to the bottom")
	between := boxed("part-a", "part", around, label(22.2, 13)) // of the places 20 and 24 of another row
	require.Equal(t, box{24, 87, 44, 92}, titleOf(t, between, across(10), across(12)), "it moves to the nearest place")
	bottom := boxed("part-a", "part", around, label(70, 92))
	require.Equal(t, box{68, 8, 88, 13}, titleOf(t, bottom, across(90)), "it moves to the top")
	require.Equal(t, box{8, -9, 28, -4}, titleOf(t, part, across(10), across(90)), "it moves above the part")
	require.Equal(t, box{8, 104, 28, 109}, titleOf(t, part, across(10), across(90), across(-7)), "it moves below the part")
	require.Equal(t, box{8, 8, 28, 13}, titleOf(t, part, across(10), across(90), across(-7), across(107)), "there is no place")

	narrow := boxed("part-a", "part", box{0, 0, 24, 100}, label(2, 13))
	require.Equal(t, box{2, 87, 22, 92}, titleOf(t, narrow, across(10)), "the middle of a part that is as narrow as its title")
}

func TestATitleIsNotInAnotherPart(t *testing.T) {
	part := boxed("part-a", "part", box{0, 0, 24, 100}, label(2, 13))
	other := boxed("part-b", "part", box{-10, -60, 60, -2}, label(20, -50))
	down := edgeFrom("a-b", "", point{12, -50}, point{12, 102}, label(300, 0))
	require.Equal(t, box{2, 104, 22, 109}, titleOf(t, part, other, down))
}

func TestVariantsBeginWithTheGraphItself(t *testing.T) {
	var all []string
	for _, v := range variants {
		g, err := graphviz.ParseBytes([]byte(`digraph { nodesep=0.2; ranksep=0.35; remincross=false
			subgraph cluster_x { a -> b [weight=100] }; b -> c [constraint=false] }`))
		require.NoError(t, err)
		v.vary(g)
		text := strings.Join([]string{g.GetStr("nodesep"), g.GetStr("ranksep"), g.GetStr("remincross")}, " ")
		eachEdge(g, func(e *graphviz.Edge) { text += fmt.Sprintf(" %q %q", e.GetStr("weight"), e.GetStr("constraint")) })
		require.NoError(t, g.Close())
		all = append(all, text)
	}
	require.Equal(t, `0.2 0.35 false "100" "" "" "false"`, all[0])
	require.Equal(t, `0.3 0.35 false "100" "" "" "false"`, all[1])
	require.Equal(t, `0.2 0.4 false "100" "" "" "false"`, all[2])
	require.Equal(t, `0.4 0.35 true "1" "true" "1" "true"`, all[31])
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(all))), 32)
}
