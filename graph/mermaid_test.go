// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package graph_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// A parsed diagram is the result of the real Mermaid's parser; see
// testdata/node/mermaid.mjs.
type parsed struct {
	Direction, AccTitle, AccDescription string
	States                              []struct {
		ID, Name, Part string
		Classes        []string
	}
	Edges []struct{ ID, From, To, Label string }
	CSS   string
}

// mermaids parses Mermaid sources, all in one process.
func mermaids(t *testing.T, sources []string) []parsed {
	t.Helper()
	var results []parsed
	runNode(t, "mermaid.mjs", sources, &results)
	require.Len(t, results, len(sources))
	return results
}

// runNode gives a script of testdata/node the input as JSON, and decodes its answer.
func runNode(t *testing.T, script string, input, answer any) {
	t.Helper()
	needs.Programs(t, "node")
	_, err := os.Stat("testdata/node/node_modules")
	needs.Installed(t, err == nil, "testdata/node/node_modules (run npm ci there)")
	text, err := json.Marshal(input)
	require.NoError(t, err)
	command := exec.Command("node", script)
	command.Dir = "testdata/node"
	command.Stdin = bytes.NewReader(text)
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	require.NoError(t, err, problems.String())
	require.NoError(t, json.Unmarshal(out, answer))
}

// names returns the words of the states by identifier.
func (p parsed) names() map[string]string {
	names := make(map[string]string)
	for _, s := range p.States {
		names[s.ID] = s.Name
	}
	return names
}

var breaks = regexp.MustCompile(`<br\s*/?>`)

func (p parsed) arrows() []arrow {
	names := p.names()
	var arrows []arrow
	for _, e := range p.Edges {
		var words []string
		viaAPI := false
		for _, line := range breaks.Split(e.Label, -1) {
			list, note, noted := strings.Cut(line, " (")
			viaAPI = viaAPI || (noted && strings.HasSuffix(note, "via API)"))
			words = append(words, strings.Split(list, ", ")...)
		}
		arrows = append(arrows, newArrow(names[e.From], names[e.To], words, viaAPI))
	}
	return arrows
}

func TestMermaidReadsTheTableOfEverySeries(t *testing.T) {
	var sources []string
	for series := range states.AllSeries() {
		sources = append(sources, write(t, graph.Diagram{Table: series.Table()}.WriteMermaid))
	}
	results := mermaids(t, sources)
	parts := make(map[string]string)
	for _, s := range read(t, latest()).States {
		parts[s.State.String()] = s.Part
	}
	for series := range states.AllSeries() {
		table, p := series.Table(), results[series-states.Kilo]
		found := slices.Collect(maps.Values(p.names()))
		require.Equal(t, "TB", p.Direction)
		require.ElementsMatch(t, wordsOf(table.States()), found, series)
		require.ElementsMatch(t, arrowsOf(table), p.arrows(), series)
		for _, s := range p.States {
			state, err := states.Parse(s.Name)
			require.NoError(t, err)
			bad := table.Failed().Has(state) || state == states.Error
			require.Equal(t, table.Stable().Has(state), slices.Contains(s.Classes, "stable"), state)
			require.Equal(t, bad, slices.Contains(s.Classes, "failed"), state)
			require.Equal(t, parts[s.Name], s.Part, state)
		}
	}
}

// nasty holds texts that try to break out of each format.
var nasty = []string{
	`"]; n1 -> n2 [label="broken out`, `\`, `\"`, `\N`, `ends in \`, "a\nb\x00c\x1b", "\xff\xfe", "&amp;&lt;&#1;&bogus;",
	"<script>alert(1)</script>", "</title></svg>", "<![CDATA[", "-->", "%%{init: {}}%%", "%% comment", "---", "\n---\n",
	"state x", "} [*] --> x", ": ; #35; #quot;", "{{", "$$x$$", "title: x", "' onload='alert(1)", "\u2028\u202e", "Ωμέγα → 漢字 🙂",
}

func TestMermaidReadsTheTableWhateverTheTexts(t *testing.T) {
	var sources []string
	for _, text := range nasty {
		d := latest()
		d.Title, d.Description = text, text
		sources = append(sources, write(t, d.WriteMermaid))
	}
	for i, p := range mermaids(t, sources) {
		require.Len(t, p.names(), states.Latest().Table().States().Len(), nasty[i])
		require.ElementsMatch(t, arrowsOf(states.Latest().Table()), p.arrows(), nasty[i])
	}
}

func TestMermaidDistinguishesRequestsFromTheConductorsTransitions(t *testing.T) {
	p := mermaids(t, []string{write(t, latest().WriteMermaid)})[0]
	styles := make(map[string]string)
	for rule := range strings.SplitSeq(strings.TrimSuffix(p.CSS, "}"), "} ") {
		selectors, style, _ := strings.Cut(rule, "{")
		for selector := range strings.SplitSeq(selectors, ",") {
			require.Empty(t, styles[selector])
			styles[selector] = style
		}
	}
	require.Len(t, styles, len(p.Edges))
	for _, e := range p.Edges {
		want := "stroke:#8c959f;stroke-dasharray:4 3"
		if strings.Contains(e.Label, "(via API)") {
			want = "stroke:#0b63c4"
		}
		require.Equal(t, want, styles["path[data-id="+e.ID+"]"], "%s to %s", e.From, e.To)
	}
}

func TestMermaidReadsEveryOption(t *testing.T) {
	var sources []string
	var docs []document
	for _, d := range cases(t) {
		docs = append(docs, read(t, d))
		sources = append(sources, write(t, d.WriteMermaid))
	}
	for i, p := range mermaids(t, sources) {
		require.Len(t, p.names(), len(docs[i].States))
		rows := 0
		for _, e := range p.Edges {
			for _, line := range breaks.Split(e.Label, -1) {
				rows += len(strings.Split(line, ", "))
			}
		}
		require.Equal(t, len(docs[i].Transitions), rows)
	}
}

// FuzzMermaid checks that no caller's text adds a line to the output.
func FuzzMermaid(f *testing.F) {
	for _, text := range nasty {
		f.Add(text)
	}
	plain := strings.Split(write(f, latest().WriteMermaid), "\n")
	f.Fuzz(func(t *testing.T, text string) {
		d := latest()
		d.Title, d.Description = text, text
		lines := strings.Split(write(t, d.WriteMermaid), "\n")
		require.Len(t, lines, len(plain))
		for i, line := range lines {
			switch i {
			case 1, 6, 7: // title, accTitle, accDescr
				require.Regexp(t, `^(title: "|    accTitle: |    accDescr: )[\pL\p{Nd} .,:/()'#;\\U"-]+$`, line)
			default:
				require.Equal(t, plain[i], line)
			}
		}
	})
}

func BenchmarkMermaid(b *testing.B) {
	for b.Loop() {
		if err := latest().WriteMermaid(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
