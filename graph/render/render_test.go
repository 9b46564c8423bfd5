// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/render"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func latest() graph.Diagram { return graph.Diagram{Table: states.Latest().Table()} }

func write(t testing.TB, to func(context.Context, io.Writer, graph.Diagram) error, d graph.Diagram) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, to(context.Background(), &out, d))
	return out.String()
}

// A group is a g element of an SVG.
type group struct {
	ID    string   `xml:"id,attr"`
	Class string   `xml:"class,attr"`
	Role  string   `xml:"role,attr"`
	Label string   `xml:"aria-label,attr"`
	Title string   `xml:"title"`
	Texts []string `xml:"text"`
	Link  struct {
		Address string   `xml:"href,attr"`
		Texts   []string `xml:"text"`
	} `xml:"a"`
}

type image struct {
	Label       string  `xml:"aria-label,attr"`
	Title       string  `xml:"title"`
	Description string  `xml:"desc"`
	Groups      []group `xml:"g>g"`
}

func parse(t testing.TB, svg string) image {
	t.Helper()
	var i image
	require.NoError(t, xml.Unmarshal([]byte(svg), &i))
	return i
}

// texts holds the texts in a diagram's JSON.
type texts struct {
	Title, Description string
	States             []struct {
		State         states.State
		Tooltip, Link string
	}
}

func textsOf(t testing.TB, d graph.Diagram) (doc texts, err error) {
	t.Helper()
	var out bytes.Buffer
	if err := d.WriteJSON(&out); err != nil {
		return doc, err
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
	return doc, nil
}

func (i image) find(class string) []group {
	return slices.DeleteFunc(slices.Clone(i.Groups), func(g group) bool {
		return !slices.Contains(strings.Fields(g.Class), class)
	})
}

func (i image) get(t *testing.T, id string) group {
	t.Helper()
	at := slices.IndexFunc(i.Groups, func(g group) bool { return g.ID == id })
	require.NotEqual(t, -1, at, "no group %q", id)
	return i.Groups[at]
}

func id(s states.State) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(s.String())
}

func TestSVGSaysWhatTheTableSays(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		i := parse(t, write(t, render.SVG, graph.Diagram{Table: table}))

		require.Len(t, i.find("state"), table.States().Len(), series)
		for s := range table.States().All() {
			g := i.get(t, "state-"+id(s))
			require.Equal(t, []string{s.String()}, g.Texts, series)
			require.Equal(t, table.Stable().Has(s), slices.Contains(strings.Fields(g.Class), "stable"), s)
		}

		words := 0
		for row := range table.Transitions() {
			g := i.get(t, "edge-"+id(row.From)+"-"+id(row.To))
			word := row.Event.String()
			if _, err := table.Request(row.From, row.Event.Verb(), series.MaxAPIVersion()); err == nil {
				word = row.Event.Verb()
			}
			require.Contains(t, g.Texts, word, "%v: %v", series, row)
			words++
		}
		for _, g := range i.find("edge") {
			words -= len(g.Texts)
		}
		require.Zero(t, words, "%v: words that no transition has", series)
	}
}

func TestTooltipsLabelsAndLinks(t *testing.T) {
	d := latest()
	d.Title, d.Description = `Title & "more"`, `<all> \ of it`
	d.Describe = func(s states.State) string { return `about "` + s.String() + `" & <co> \` }
	d.Link = func(s states.State) string {
		if s == states.Enroll {
			return ""
		}
		return "/states/" + id(s) + "?a=1&b='2'"
	}
	i := parse(t, write(t, render.SVG, d))

	require.Equal(t, d.Title, i.Title)
	require.Equal(t, d.Title, i.Label)
	require.Equal(t, d.Description, i.Description)
	for s := range d.Table.States().All() {
		g := i.get(t, "state-"+id(s))
		require.Equal(t, d.Describe(s), g.Title)
		require.Equal(t, d.Describe(s), g.Label)
		require.Equal(t, d.Link(s), g.Link.Address)
	}
	require.Equal(t, []string{"verifying"}, i.get(t, "state-verifying").Link.Texts, "the link is around the state")
	require.Equal(t, "group", i.get(t, "state-verifying").Role, "a screen reader does not find a link in an image")
	require.Equal(t, "img", i.get(t, "state-enroll").Role)
	require.Equal(t, "enroll to verifying: manage (via API)", i.get(t, "edge-enroll-verifying").Title)
}

func TestSVGIsTheSameEachTime(t *testing.T) {
	first := write(t, render.SVG, latest())
	other := latest()
	other.LeftToRight = true
	for range 5 {
		write(t, render.SVG, other)
		require.Equal(t, first, write(t, render.SVG, latest()))
	}
}

func TestPNGHasTheColoursOfTheDiagram(t *testing.T) {
	needs.Time(t)
	for dark, page := range map[bool]uint32{false: 0xffff, true: 0x0d0d} {
		d := latest()
		d.Dark = dark
		picture, err := png.Decode(strings.NewReader(write(t, render.PNG, d)))
		require.NoError(t, err)

		size := picture.Bounds().Size()
		require.Greater(t, size.X, 1000)
		require.Greater(t, size.Y, 1000)
		red, _, _, _ := picture.At(1, 1).RGBA()
		require.Equal(t, page, red, "the page, dark: %v", dark)
		red, _, _, _ = picture.At(size.X-1, size.Y-1).RGBA()
		require.Equal(t, page, red, "the last pixel, dark: %v", dark)
		colours := make(map[[3]uint32]int)
		for x := range size.X {
			for y := range size.Y {
				r, g, b, _ := picture.At(x, y).RGBA()
				colours[[3]uint32{r >> 8, g >> 8, b >> 8}]++
			}
		}
		require.Greater(t, len(colours), 50, "text and lines are drawn smoothly")
		if !dark {
			require.Greater(t, colours[[3]uint32{0xc2, 0x1c, 0x2b}], 100, "failed states are red")
			require.Greater(t, colours[[3]uint32{0x0b, 0x63, 0xc4}], 100, "requests are blue")
		}
	}
}

func TestAWarningOfGraphvizIsNoError(t *testing.T) {
	d := latest()
	d.Title, d.RequestsOnly = "é", true // Graphviz does not know how wide an é is
	for range 2 {
		require.Contains(t, write(t, render.SVG, d), ">é</text>")
	}
}

func TestPNGDrawsEveryOption(t *testing.T) {
	d := graph.Diagram{Table: states.Stein.Table(), Since: states.Rocky.Table(), Current: states.Active, Title: "Ω"}
	_, err := png.Decode(strings.NewReader(write(t, render.PNG, d)))
	require.NoError(t, err)
}

func TestErrorsOfDiagramAndWriter(t *testing.T) {
	full := errors.New("disk full")
	for name, to := range map[string]func(context.Context, io.Writer, graph.Diagram) error{
		"SVG": render.SVG, "PNG": render.PNG, "HTML": render.HTML,
	} {
		require.ErrorAs(t, to(context.Background(), io.Discard, graph.Diagram{}), new(*machine.StateError), name)
		require.ErrorIs(t, to(context.Background(), failing{full}, latest()), full, name)

		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, to(cancelled, io.Discard, latest()), context.Canceled, name)
	}
	require.NoError(t, render.SVG(context.Background(), io.Discard, latest()), "Graphviz is fit for use after all this")
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestManyAtOnce(t *testing.T) {
	want := write(t, render.SVG, latest())
	var all sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		all.Go(func() {
			var out bytes.Buffer
			if err := render.SVG(context.Background(), &out, latest()); err == nil {
				answers[i] = out.String()
			}
		})
	}
	all.Wait()
	for _, answer := range answers {
		require.True(t, want == answer, "drawn alone and among others")
	}
}

func FuzzTexts(f *testing.F) {
	for _, text := range []string{
		`"]; n1 -> n2 [label="out`, `\`, `\"`, `\N\G`, `ends in \`, "a\nb\x00c\x1b", "two  spaces", "\u00a0", "\xff\xfe",
		"&amp;&lt;&#1;&bogus;", "&",
		"<script>alert(1)</script>", "</title></svg>", "<![CDATA[", "]]>", "-->", "<br/>", "' onload='x", "\ufffe\u202e",
		"Ωμέγα → 漢字 🙂",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := graph.Diagram{Table: states.Kilo.Table(), Title: text, Description: text}
		d.Describe = func(states.State) string { return text }
		d.Link = func(states.State) string { return text }
		want, err := textsOf(t, d)
		if err != nil {
			require.ErrorContains(t, err, "invalid link")
			require.ErrorContains(t, render.SVG(context.Background(), io.Discard, d), "invalid link")
			d.Link = nil
			want, err = textsOf(t, d)
			require.NoError(t, err)
		}

		i := parse(t, write(t, render.SVG, d))
		require.Equal(t, []string{want.Title, want.Title, want.Description}, []string{i.Title, i.Label, i.Description})
		require.Len(t, i.find("heading"), 1)
		require.Len(t, i.find("state"), len(want.States))
		for _, s := range want.States {
			g := i.get(t, "state-"+id(s.State))
			require.Equal(t, []string{s.Tooltip, s.Tooltip, s.Link}, []string{g.Title, g.Label, g.Link.Address})
			require.Equal(t, []string{s.State.String()}, append(g.Texts, g.Link.Texts...))
			require.NotRegexp(t, `(?i)^\s*(javascript|data|vbscript):`, g.Link.Address)
		}
	})
}

func BenchmarkSVG(b *testing.B) {
	for b.Loop() {
		if err := render.SVG(context.Background(), io.Discard, latest()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDebianSVG is the baseline for BenchmarkSVG: the installed dot command draws
// the same DOT.
func BenchmarkDebianSVG(b *testing.B) {
	needs.Programs(b, "dot")
	var dot bytes.Buffer
	require.NoError(b, latest().WriteDOT(&dot))
	for b.Loop() {
		command := exec.Command("dot", "-Tsvg")
		command.Stdin = bytes.NewReader(dot.Bytes())
		require.NoError(b, command.Run())
	}
}

func BenchmarkPNG(b *testing.B) {
	for b.Loop() {
		if err := render.PNG(context.Background(), io.Discard, latest()); err != nil {
			b.Fatal(err)
		}
	}
}
