// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package graph_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// An arrow is an edge as a reader of a drawing sees it.
type arrow struct {
	from, to string
	words    string // sorted
	viaAPI   bool
}

func newArrow(from, to string, words []string, viaAPI bool) arrow {
	slices.Sort(words)
	return arrow{from, to, strings.Join(words, ","), viaAPI}
}

// arrowsOf returns the edges that a diagram of a table should have.
func arrowsOf(table *states.Table) []arrow {
	var arrows []arrow
	for from := range table.States().All() {
		for to := range table.States().All() {
			var words []string
			viaAPI := false
			for row := range table.Transitions() {
				if row.From != from || row.To != to {
					continue
				}
				word := row.Event.String()
				if _, err := table.Request(from, row.Event.Verb(), table.Series().MaxAPIVersion()); err == nil {
					word, viaAPI = row.Event.Verb(), true
				}
				words = append(words, word)
			}
			if len(words) > 0 {
				arrows = append(arrows, newArrow(from.String(), to.String(), words, viaAPI))
			}
		}
	}
	return arrows
}

func wordsOf(set states.Set) []string {
	var words []string
	for s := range set.All() {
		words = append(words, s.String())
	}
	return words
}

// A laidOut graph is Graphviz's JSON output for a graph.
type laidOut struct {
	Objects []struct {
		ID    int `json:"_gvid"`
		Nodes []int
		Label string
		Class string
		Pos   string
		drawnText
	}
	Edges []struct {
		Tail, Head int
		Style      string
		Tooltip    string
		drawnText
	}
}

type drawnText struct {
	Operations []struct{ Op, Text string } `json:"_ldraw_"`
}

func (d drawnText) texts() []string {
	var texts []string
	for _, op := range d.Operations {
		if op.Op == "T" {
			texts = append(texts, op.Text)
		}
	}
	return texts
}

// debian lays a graph out with the installed dot command.
func debian(t *testing.T, dot string) laidOut {
	t.Helper()
	needs.Programs(t, "dot")
	command := exec.Command("dot", "-Tjson")
	command.Stdin = strings.NewReader(dot)
	var problems strings.Builder
	command.Stderr = &problems
	answer, err := command.Output()
	require.NoError(t, err, problems.String())
	require.Empty(t, problems.String())
	var g laidOut
	require.NoError(t, json.Unmarshal(answer, &g))
	return g
}

func (g laidOut) states() (words []string, byID map[int]string) {
	byID = make(map[int]string)
	for _, o := range g.Objects {
		if o.Pos != "" {
			words = append(words, strings.Join(o.texts(), " "))
			byID[o.ID] = words[len(words)-1]
		}
	}
	return words, byID
}

func (g laidOut) arrows() []arrow {
	_, names := g.states()
	var arrows []arrow
	for _, e := range g.Edges {
		if e.Style == "invis" {
			continue
		}
		arrows = append(arrows, newArrow(names[e.Tail], names[e.Head], e.texts(), strings.Contains(e.Tooltip, "via API)")))
	}
	return arrows
}

func TestGraphvizReadsTheTableOfEverySeries(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		g := debian(t, write(t, graph.Diagram{Table: table}.WriteDOT))
		found, _ := g.states()
		require.ElementsMatch(t, wordsOf(table.States()), found, series)
		require.ElementsMatch(t, arrowsOf(table), g.arrows(), series)
	}
}

func TestGraphvizReadsTheTableWhateverTheOptions(t *testing.T) {
	table := states.Latest().Table()
	for name, d := range cases(t) {
		if d.RequestsOnly || d.From != states.NoState || d.Since != nil || d.Only.Len() > 0 || d.Part != "" {
			continue // these options draw less or more than the table
		}
		g := debian(t, write(t, d.WriteDOT))
		found, _ := g.states()
		require.ElementsMatch(t, wordsOf(table.States()), found, name)
		require.ElementsMatch(t, arrowsOf(table), g.arrows(), name)
	}
}

func TestGraphvizDrawsRequestsOnly(t *testing.T) {
	table := states.Latest().Table()
	g := debian(t, write(t, graph.Diagram{Table: table, RequestsOnly: true}.WriteDOT))
	found, _ := g.states()
	require.ElementsMatch(t, wordsOf(table.States()), found)
	all := arrowsOf(table)
	require.Len(t, g.Edges, len(all), "the others keep the states in their places")
	var want []arrow
	for _, a := range all {
		words := slices.DeleteFunc(strings.Split(a.words, ","), func(word string) bool {
			from, err := states.Parse(a.from)
			require.NoError(t, err)
			_, err = table.Request(from, word, table.Series().MaxAPIVersion())
			return err != nil
		})
		if a.viaAPI {
			want = append(want, newArrow(a.from, a.to, words, true))
		}
	}
	require.ElementsMatch(t, want, g.arrows())
}

func TestGraphvizReadsTheTableWhateverTheTexts(t *testing.T) {
	for _, text := range nasty {
		d := graph.Diagram{Table: states.Kilo.Table(), Title: text, Description: text}
		d.Describe = func(states.State) string { return text }
		g := debian(t, write(t, d.WriteDOT))
		found, _ := g.states()
		require.ElementsMatch(t, wordsOf(d.Table.States()), found, "%q", text)
		require.ElementsMatch(t, arrowsOf(d.Table), g.arrows(), "%q", text)
	}
}

func TestGraphvizReadsEveryPartOfLife(t *testing.T) {
	g := debian(t, write(t, latest().WriteDOT))
	_, names := g.states()
	parts := make(map[string][]string)
	for _, o := range g.Objects {
		if o.Class == "part" {
			for _, id := range o.Nodes {
				parts[o.Label] = append(parts[o.Label], names[id])
			}
		}
	}
	want := map[string][]string{
		"Enrolment":  {"enroll", "verifying"},
		"Inspection": {"inspecting", "inspect wait", "inspect failed"},
		"Cleaning":   {"cleaning", "clean wait", "clean hold", "clean failed"},
		"Deployment": {"deploying", "wait call-back", "deploy hold", "deploy failed"},
		"Adoption":   {"adopting", "adopt failed"},
		"Rescue":     {"rescuing", "rescue wait", "rescue", "rescue failed", "unrescuing", "unrescue failed"},
		"Service":    {"servicing", "service wait", "service hold", "service failed"},
		"Tear-down":  {"deleting", "error"},
	}
	require.Len(t, parts, len(want))
	for part, members := range want {
		require.ElementsMatch(t, members, parts[part], part)
	}
}

func TestStyleOfStatesAndEdges(t *testing.T) {
	dot := write(t, latest().WriteDOT)
	table := states.Latest().Table()
	for line := range strings.Lines(dot) {
		for s := range table.States().All() {
			if !strings.Contains(line, `label="`+s.String()+`"`) {
				continue
			}
			red := table.Failed().Has(s) || s == states.Error
			require.Equal(t, table.Stable().Has(s), strings.Contains(line, `penwidth="2.2"`), "thick border of %v", s)
			require.Equal(t, red, strings.Contains(line, `fontcolor="#c21c2b"`), "red text of %v", s)
		}
		if strings.Contains(line, `class="edge conductor"`) {
			require.Contains(t, line, `color="#8c959f"`, "the conductor's edges are gray")
		}
	}
}

// The conductor's edges are dashed in DOT, whatever the options.
func TestDashesOfDOT(t *testing.T) {
	all := cases(t)
	for series := range states.AllSeries() {
		all[series.String()] = graph.Diagram{Table: series.Table()}
	}
	for name, d := range all {
		for line := range strings.Lines(write(t, d.WriteDOT)) {
			if strings.Contains(line, `class="edge `) {
				require.Equal(t, strings.Contains(line, `class="edge conductor`), strings.Contains(line, `style="dashed"`), "%s: %s", name, line)
			}
		}
	}
}

// The labels of DOT have the words alone. The legend says what their colours mean, and the tooltips whose each word is.
func TestTheLegendOfDOTSaysWhichEdgesAreRequests(t *testing.T) {
	text := write(t, latest().WriteDOT)
	require.Contains(t, text, `<font color="#0b63c4">request (via API)</font>`)
	require.Contains(t, text, `<font color="#59636e">conductor</font>`)
	require.Contains(t, text, `<font color="#0b63c4">conductor, also via API</font>`)
	require.Contains(t, text, `tooltip="deleting to cleaning: clean (also via API)"`)
	for line := range strings.Lines(text) {
		if strings.Contains(line, `class="edge `) {
			label, _, _ := strings.Cut(line[strings.Index(line, "label=<"):], `</table>>`)
			require.NotContains(t, label, "via API")
		}
	}
	d := latest()
	d.Part = graph.PartEnrolment
	require.NotContains(t, write(t, d.WriteDOT), "also via API")
}

func TestTheLegendHasNoCurrentStateAndNoPathThatAreNotDrawn(t *testing.T) {
	d := latest()
	d.Current = states.Active
	var err error
	d.Path, err = graph.Through(d.Table, states.Available, states.Deploying, states.Active)
	require.NoError(t, err)
	for _, word := range []string{">current<", ">path<"} {
		require.Contains(t, write(t, d.WriteDOT), word)
	}
	d.Part = graph.PartEnrolment
	for _, word := range []string{">current<", ">path<"} {
		require.NotContains(t, write(t, d.WriteDOT), word)
	}
}

func BenchmarkDOT(b *testing.B) {
	for b.Loop() {
		if err := latest().WriteDOT(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
