// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package graph_test

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// sections returns the lines of each state's section in a page, by the state.
func sections(t *testing.T, page string) map[states.State][]string {
	t.Helper()
	found := make(map[states.State][]string)
	at := states.NoState
	for line := range strings.SplitSeq(page, "\n") {
		if heading := regexp.MustCompile(`^### <a id="state-\w+"></a>(?:<a href="[^"]*">)?([a-z -]+)`).FindStringSubmatch(line); heading != nil {
			s, err := states.Parse(strings.TrimSpace(heading[1]))
			require.NoError(t, err)
			require.NotContains(t, found, s, "described twice")
			at = s
		} else if strings.HasPrefix(line, "## ") {
			at = states.NoState
		}
		if at != states.NoState {
			found[at] = append(found[at], line)
		}
	}
	return found
}

// links returns a cell with each link replaced by its text.
func links(cell string) string {
	return regexp.MustCompile(`\[([^]]*)\]\(#[^)]*\)`).ReplaceAllString(cell, "$1")
}

// cells returns the rows of the table whose heading begins with a word.
func cells(lines []string, heading string) [][]string {
	var rows [][]string
	in := false
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "| "+heading+" |"):
			in = true
		case !strings.HasPrefix(line, "| "):
			in = in && strings.HasPrefix(line, "| ---")
		case in && !strings.HasPrefix(line, "| ---"):
			var row []string
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				row = append(row, strings.TrimSpace(links(cell)))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func TestMarkdownIsTheTableOfEverySeries(t *testing.T) {
	for series := range states.AllSeries() {
		d := graph.Diagram{Table: series.Table()}
		page, doc := write(t, d.WriteMarkdown), read(t, d)
		found := sections(t, page)
		require.Len(t, found, len(doc.States), series)
		for _, s := range doc.States {
			require.Contains(t, strings.Join(found[s.State], "\n"), s.Description)
			var requests, reports []string
			for _, row := range cells(found[s.State], "Request") {
				versions := strings.Split(row[1], ", ")
				for i, verb := range strings.Split(row[0], ", ") {
					requests = append(requests, strings.Join([]string{verb, versions[i], row[2], row[3], row[4]}, "|"))
				}
			}
			for _, row := range cells(found[s.State], "The conductor's event") {
				reports = append(reports, row[0]+"|"+row[1])
			}
			var wantRequests, wantReports []string
			for _, r := range s.Requests {
				var through []string
				for _, state := range r.Through {
					through = append(through, state.String())
				}
				requires := r.Requires
				if requires != "" {
					requires = "`" + requires + "`"
				}
				wantRequests = append(wantRequests,
					strings.Join([]string{"`" + r.Verb + "`", r.APIVersion.String(), requires, strings.Join(through, ", "), r.To.String()}, "|"))
			}
			for _, row := range doc.Transitions {
				if row.From == s.State && row.Cause != "request" {
					wantReports = append(wantReports, "`"+row.Event.String()+"`|"+row.To.String())
				}
			}
			require.Equal(t, wantRequests, requests, "%v: %v", series, s.State)
			require.Equal(t, wantReports, reports, "%v: %v", series, s.State)
		}
	}
}

func TestMarkdownsLinksLeadToItsAnchors(t *testing.T) {
	for name, d := range cases(t) {
		page := write(t, d.WriteMarkdown)
		var anchors []string
		for _, match := range regexp.MustCompile(`<a id="([^"]*)">`).FindAllStringSubmatch(page, -1) {
			anchors = append(anchors, match[1])
		}
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(anchors))), len(anchors), "%s: an anchor twice", name)
		// A filtered page links to states that it leaves out.
		if d.Only.Len() > 0 || d.From != states.NoState || d.Part != "" {
			continue
		}
		for _, match := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(page, -1) {
			require.Contains(t, anchors, match[1], name)
		}
	}
}

func TestMarkdownSaysWhatIsStableAndWhatIsAnAlias(t *testing.T) {
	page := links(write(t, latest().WriteMarkdown))
	require.Contains(t, page, "- **Stable**: the node stays until a request moves it. enroll, manageable, available, active, error, rescue\n")
	require.Contains(t, page, "- **On hold**: a hold step has stopped the work; a request resumes or aborts it. "+
		"deploy hold, clean hold, service hold\n")
	require.Contains(t, page, "| `deploy` | `active` | 1.73 |\n| `undeploy` | `deleted` | 1.1 |\n")
	require.Contains(t, page, "- From 1.11 on, a node is created in `enroll`; below, in `available`.\n")
	require.Contains(t, page, "- Below 1.2, `available` is shown as `null`.\n")
	require.Contains(t, page, "- Below 1.39, `inspect wait` is shown as `inspecting`.\n")
	require.NotContains(t, write(t, graph.Diagram{Table: states.Kilo.Table()}.WriteMarkdown), "## Aliases")
}

func TestMarkdownMarksChanges(t *testing.T) {
	page := write(t, graph.Diagram{Table: states.Stein.Table(), Since: states.Queens.Table()}.WriteMarkdown)
	require.Contains(t, page, "It marks what was *added* and *removed* since the series queens.")
	require.Contains(t, page, `### <a id="state-inspect_wait"></a>inspect wait *(added)*`)
	require.Contains(t, page, "| [`wait`](#event-wait) *(added)* | [inspect wait](#state-inspect_wait) |")
	require.Contains(t, page, "| [`error`](#event-error) *(removed)* | [error](#state-error) |")
}

func TestMarkdownLinksAPictureInPlaceOfTheDiagram(t *testing.T) {
	d := latest()
	require.Contains(t, write(t, d.WriteMarkdown), "\n```mermaid\n")
	d.Picture, d.Title = `img/states.svg?a&"b`, `A "title"`
	page := write(t, d.WriteMarkdown)
	require.NotContains(t, page, "```")
	require.Contains(t, page, `<a href="img/states.svg?a&amp;&#34;b"><img src="img/states.svg?a&amp;&#34;b" alt="A &#34;title&#34;"></a>`)

	d.Picture = "javascript:alert(1)"
	require.EqualError(t, d.WriteMarkdown(io.Discard), `invalid picture: "javascript:alert(1)"; links are paths or http and https URLs`)
}

func TestMarkdownIsSafeWithTheCallersTexts(t *testing.T) {
	plain := latest()
	plain.Title, plain.Description, plain.Describe = "x", "x", func(states.State) string { return "x" }
	lines := strings.Count(write(t, plain.WriteMarkdown), "\n")
	active := regexp.MustCompile("(^|[^\\\\])[<`*_#|\\[\\]]|^[-+=]|^[0-9]+[.)]")
	texts := append(slices.Clone(nasty), "- item", "1. item", "12) item", "===", "---", "| a | b |", "[a](b)", "*a* _b_ `c`")
	texts = slices.DeleteFunc(texts, func(text string) bool { return !strings.ContainsFunc(text, unicode.IsGraphic) }) // counts as empty
	for _, text := range texts {
		d := latest()
		d.Title, d.Description, d.Describe = text, text, func(states.State) string { return text }
		page := write(t, d.WriteMarkdown)
		require.Equal(t, lines, strings.Count(page, "\n"), text)
		for _, line := range []string{strings.Split(page, "\n")[2], strings.TrimPrefix(strings.Split(page, "\n")[0], "# ")} {
			require.NotRegexp(t, active, line, text)
		}
	}
}
