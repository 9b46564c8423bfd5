// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/render"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// pageData is the data that the page's script reads.
type pageData struct {
	Start struct {
		Series, With, State string
		Requests            bool
		Path                [][2]string
	}
	States      []struct{ Name, Text, Link string }
	Events      []struct{ Name, Text string }
	Transitions []struct {
		From, Event, To int
		Cause           string
		Words           []struct {
			Verb  string
			Since int
		}
	}
	Series []struct {
		Name                        string
		Max                         int
		States, Transitions, Begins []int
		Plans                       [][]int
	}
	Goals  []plan.Goal
	Verbs  []string
	Routes []string
}

func dataOf(t *testing.T, page string) pageData {
	t.Helper()
	match := regexp.MustCompile(`<script type="application/json" id="data">(.*)</script>`).FindStringSubmatch(page)
	require.NotNil(t, match)
	var data pageData
	require.NoError(t, json.Unmarshal([]byte(match[1]), &data))
	return data
}

func TestHTMLIsOnePageWithNothingToLoad(t *testing.T) {
	d := latest()
	d.Title, d.Description = "A <b>", `"x" </script>`
	d.Describe = func(states.State) string { return "</script><script>alert(1)</script>" }
	page := write(t, render.HTML, d)
	require.Contains(t, page, "<title>A &lt;b&gt;</title>")
	require.Less(t, len(page), 400_000)
	require.True(t, page == write(t, render.HTML, d), "the same bytes each time")
	require.NotContains(t, page, "src=")
	require.NotContains(t, page, "@import")
	require.NotContains(t, page, "url(")
	require.Contains(t, page, "default-src 'none'")
	addresses := regexp.MustCompile(`(?i)\b(https?:)?//[a-z][^"' ]*`).FindAllString(page, -1)
	require.Equal(t, []string{"http://www.w3.org/2000/svg"}, slices.Compact(addresses), "the name of SVG alone")
	require.Equal(t, 2, strings.Count(page, "</script>"), "no text ends a script")
}

// An extended page may load from and send requests to its server alone.
func TestExtendedHTMLLoadsFromItsServer(t *testing.T) {
	var page strings.Builder
	x := render.Extension{Style: "live/a.css", Script: `live/"b".js`}
	require.NoError(t, render.ExtendedHTML(t.Context(), &page, latest(), x))
	require.Contains(t, page.String(), `<link rel="stylesheet" href="live/a.css">`)
	require.Contains(t, page.String(), `<script src="live/&#34;b&#34;.js"></script>`)
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`)
	hash := `'sha256-[A-Za-z0-9+/]{43}='`
	require.Regexp(t, `^default-src 'none'; style-src `+hash+` 'self'; script-src `+hash+` 'self'; connect-src 'self'; `,
		policy.FindStringSubmatch(page.String())[1])
	require.Regexp(t, `^default-src 'none'; style-src `+hash+`; script-src `+hash+`; connect-src 'none'; `,
		policy.FindStringSubmatch(write(t, render.HTML, latest()))[1])
}

func TestHTMLOpensWithTheDiagramsChoice(t *testing.T) {
	d := graph.Diagram{Table: states.Zed.Table(), Since: states.Rocky.Table(), Current: states.Manageable, RequestsOnly: true}
	d.Link = func(s states.State) string { return "/s/" + s.String() }
	var err error
	d.Path, err = graph.Through(d.Table, states.Enroll, states.Verifying, states.Manageable)
	require.NoError(t, err)
	page := write(t, render.HTML, d)
	data := dataOf(t, page)
	require.Equal(t, "zed", data.Start.Series)
	require.Equal(t, "rocky", data.Start.With)
	require.Equal(t, "manageable", data.Start.State)
	require.True(t, data.Start.Requests)
	require.Equal(t, [][2]string{{"enroll", "verifying"}, {"verifying", "manageable"}}, data.Start.Path)
	require.Equal(t, "/s/enroll", data.States[0].Link)
	require.Contains(t, page, "<title>Ironic provisioning states</title>")
	require.NotContains(t, page, `<html lang="en" data-theme`)
	d.Dark = true
	require.Contains(t, write(t, render.HTML, d), `<html lang="en" data-theme="dark">`)
}

func TestHTMLHasEveryState(t *testing.T) {
	for _, d := range []graph.Diagram{
		{Table: states.Latest().Table(), From: states.Active},
		{Table: states.Latest().Table(), Only: states.SetOf(states.Active)},
		{Table: states.Latest().Table(), Part: graph.PartCleaning},
	} {
		require.EqualError(t, render.HTML(context.Background(), io.Discard, d), "html has every state: leave out From, Only and Part")
	}
}

// The data has each series' states and transitions, with the words that its API
// accepts at each version.
func TestHTMLHasTheTablesOfEverySeries(t *testing.T) {
	data := dataOf(t, write(t, render.HTML, latest()))
	n := 0
	for s := range states.AllSeries() {
		table, got := s.Table(), data.Series[n]
		n++
		require.Equal(t, s.String(), got.Name)
		require.Equal(t, int(s.MaxAPIVersion()), got.Max)
		var found []string
		for _, state := range got.States {
			found = append(found, data.States[state].Name)
		}
		var want []string
		for state := range table.States().All() {
			want = append(want, state.String())
			require.Contains(t, found, state.String())
		}
		require.Len(t, found, len(want))

		var rows []string
		taken := make(map[states.State]map[string]int)
		for _, number := range got.Transitions {
			f := data.Transitions[number]
			rows = append(rows, data.States[f.From].Name+" --"+data.Events[f.Event].Name+"--> "+data.States[f.To].Name)
			from, err := states.Parse(data.States[f.From].Name)
			require.NoError(t, err)
			if taken[from] == nil {
				taken[from] = make(map[string]int)
			}
			for _, w := range f.Words {
				taken[from][w.Verb] = w.Since
			}
		}
		var wantRows []string
		for row := range table.Transitions() {
			wantRows = append(wantRows, row.String())
		}
		require.Equal(t, wantRows, rows, s)
		for state := range table.States().All() {
			for v := states.APIVersion(1); v <= s.MaxAPIVersion(); v++ {
				for verb, since := range taken[state] {
					_, err := table.Request(state, verb, v)
					require.Equal(t, int(v) >= since, err == nil, "%v: %v in %v at %v", s, verb, state, v)
				}
				for verb := range table.Requests(state, v) {
					require.Contains(t, taken[state], verb)
				}
			}
		}
	}
	require.Len(t, data.Series, n)
}

// The drawing has every state, edge and word of every series.
func TestHTMLDrawsWhatAnySeriesHas(t *testing.T) {
	page := write(t, render.HTML, latest())
	data := dataOf(t, page)
	word := strings.NewReplacer(" ", "_", "-", "_")
	for _, s := range data.States {
		require.Contains(t, page, `data-id="state-`+word.Replace(s.Name)+`" class="state" role="button"`)
	}
	for _, f := range data.Transitions {
		from, to := word.Replace(data.States[f.From].Name), word.Replace(data.States[f.To].Name)
		_, rest, ok := strings.Cut(page, `data-id="edge-`+from+"-"+to+`" class="edge"`)
		require.True(t, ok, "%s to %s", from, to)
		group, _, _ := strings.Cut(rest, "</g>")
		label := data.Events[f.Event].Name
		if len(f.Words) > 0 {
			label = f.Words[0].Verb
		}
		require.Contains(t, group, ">"+label+"</text>", "%s to %s", from, to)
	}
}

// The API accepts every request of every route, and each route ends where the plan is
// done.
func TestHTMLsRoutesAreThePlans(t *testing.T) {
	data := dataOf(t, write(t, render.HTML, latest()))
	code := regexp.MustCompile(`^([DR]*)(H?)([a-z]*)(?:!([vn]))?$`)
	reached := 0
	for n, got := range data.Series {
		series := states.Kilo + states.Series(n)
		table := series.Table()
		for class, begin := range got.Begins {
			for g, goal := range data.Goals {
				routes := strings.Split(data.Routes[got.Plans[class][g]], ",")
				require.Len(t, routes, len(data.States))
				for _, number := range got.States {
					state, err := states.Parse(data.States[number].Name)
					require.NoError(t, err)
					parts := code.FindStringSubmatch(routes[number])
					require.NotNil(t, parts, routes[number])
					if parts[4] == "" {
						requireRoute(t, table, state, goal, states.APIVersion(begin), parts, data.Verbs)
						reached++
					}
				}
			}
		}
	}
	require.Greater(t, reached, 10_000)
}

// requireRoute fails unless a route's requests lead to its goal.
func requireRoute(t *testing.T, table *states.Table, from states.State, goal plan.Goal, v states.APIVersion, parts, verbs []string) {
	t.Helper()
	desired := plan.Desired{Goal: goal, Version: v}
	desired.Policy.MayDestroy = strings.Contains(parts[1], "D")
	if strings.Contains(parts[1], "R") {
		desired.Policy.Retries = 1
	}
	route, err := plan.Route(table, machine.Node{State: from}, desired)
	require.NoError(t, err)
	var last plan.Step
	sent, held := "", ""
	for _, step := range route {
		if step.Verb != "" {
			sent += string(rune('a' + slices.Index(verbs, step.Verb)))
		}
		if step.Reason == plan.NeedsUnhold {
			held = "H"
		}
		last = step
	}
	require.Equal(t, plan.Done, last.Action, "%v: %v to %v", table.Series(), from, goal)
	require.Equal(t, parts[2]+parts[3], held+sent, "%v: %v to %v", table.Series(), from, goal)
}
