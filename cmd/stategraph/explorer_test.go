// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/browsertest"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestExplorerExplainsTheStateThatIsClicked(t *testing.T) {
	b := open(t, "")
	require.Equal(t, "Ironic provisioning states", b.Text("h1"))
	require.Contains(t, b.Text("#details"), "Select a state")
	b.Do(chromedp.Click(state("clean_wait")))
	details := b.Text("#details")
	require.Contains(t, details, strings.NewReplacer("`", "", "\n\n", " ").Replace(states.CleanWait.Description()))
	require.Contains(t, details, "abort 1.13 clean failed")
	require.Contains(t, details, "resume cleaning")
	require.Equal(t, []string{"state-clean_wait"}, b.with("main", "state", "chosen"))
	require.Equal(t, "#series=2026.2&state=clean+wait", b.hash())
	require.Contains(t, b.Text("#live"), "clean wait: A cleaning is in progress")

	b.Do(chromedp.Click(chromedp.CSS(`#details [data-state="clean failed"]`)))
	require.Contains(t, b.Text("#details"), "clean failed not stable; an operator has to check the node")
}

func TestExplorerShowsTheSeriesAndVersionThatAreChosen(t *testing.T) {
	b := open(t, "state=active")
	b.choose("series", "kilo")
	require.Equal(t, "kilo, API 1.6", b.Text("#main-title"))
	kilo := states.Kilo.Table()
	for s := range states.Latest().Table().States().All() {
		id := "state-" + strings.NewReplacer(" ", "_", "-", "_").Replace(s.String())
		require.Equal(t, !kilo.States().Has(s), slices.Contains(b.with("main", "state", "absent"), id), s)
	}
	require.Equal(t, []string{"part-adoption", "part-enrolment", "part-rescue", "part-service"}, b.with("main", "part", "absent"))
	require.NotContains(t, b.Text("#details"), "rescuing")

	b.choose("series", "zed")
	b.choose("version", "1.37")
	require.Equal(t, "zed, API 1.37", b.Text("#main-title"))
	require.Contains(t, b.with("main", "edge", "late"), "edge-active-rescuing")
	require.Equal(t, "rescue with rescue_password 1.38 rescuing → rescue", b.Text("#details tr.late"))
	b.choose("version", "1.38")
	require.NotContains(t, b.with("main", "edge", "late"), "edge-active-rescuing")
	require.Contains(t, b.hash(), "version=1.38")

	b.Do(chromedp.Click(state("inspect_wait")))
	require.Contains(t, b.Text("#details"), "API version 1.38 shows this state as inspecting.")
}

func TestExplorerDrawsTheRoute(t *testing.T) {
	b := open(t, "")
	b.Do(chromedp.Click(state("enroll")), chromedp.Click(chromedp.CSS("#start-here")))
	b.choose("goal", "active")
	require.Equal(t, "From enroll to active request manage: enroll → verifying → manageable "+
		"request provide: manageable → cleaning → available request active: available → deploying → active", b.Text("#route"))
	require.Equal(t, []string{
		"edge-available-deploying", "edge-cleaning-available", "edge-deploying-active", "edge-enroll-verifying",
		"edge-manageable-cleaning", "edge-verifying-manageable",
	}, b.with("main", "edge", "taken"))

	for _, test := range []struct{ from, goal, version, want string }{
		{"active", "available", "", "The route destroys a workload on the node."},
		{"deploy failed", "active", "", "The route repeats work that has failed"},
		{"clean hold", "available", "", "an operator resumes it with unhold"},
		{"active", "enrolled", "", "The API of 2026.2 has no route to this goal."},
		{"active", "rescued", "1.30", "The route needs a higher API version than 1.30."},
		{"active", "active", "1.30", "The node has already reached the goal."},
	} {
		b.choose("from", test.from)
		b.choose("goal", test.goal)
		if test.version != "" {
			b.choose("version", test.version)
		}
		require.Contains(t, b.Text("#route"), test.want)
	}
}

// The page's routes equal package plan's, from every state to every goal.
func TestExplorersRoutesAreThePlans(t *testing.T) {
	b := open(t, "")
	for _, series := range []states.Series{states.Kilo, states.Rocky, states.Latest()} {
		table, version := series.Table(), series.MaxAPIVersion()
		routes := browsertest.Eval[map[string]string](b.Tab, fmt.Sprintf(`(() => {
			const series = model.series(%q), found = {};
			for (const n of series.states) for (const goal of model.goals) {
				const route = model.route(series, %d, n, goal);
				const words = [...route.steps.map((s) => s.verb).filter(Boolean), data.states[route.end].name];
				found[data.states[n].name + ' to ' + goal] = route.failure ? '!' : words.join(' ');
			}
			return found;
		})()`, series, version))
		require.Len(t, routes, table.States().Len()*len(slices.Collect(plan.AllGoals())))
		for s := range table.States().All() {
			for goal := range plan.AllGoals() {
				require.Equal(t, planned(t, table, s, goal), routes[s.String()+" to "+string(goal)], "%v: %v to %v", series, s, goal)
			}
		}
	}
}

// planned returns the verbs that a plan sends if all work succeeds, followed by the
// node's last state, or "!" if the goal cannot be reached. It permits a retry or the
// loss of the workload only if no stricter policy reaches the goal.
func planned(t *testing.T, table *states.Table, from states.State, goal plan.Goal) string {
	t.Helper()
	for _, policy := range plan.Policies(1) {
		route, err := plan.Route(table, machine.Node{State: from}, plan.Desired{
			Goal:    goal,
			Version: table.Series().MaxAPIVersion(),
			Policy:  policy,
		})
		require.NoError(t, err)
		verbs := ""
		for node, step := range route {
			if step.Action == plan.Done {
				return verbs + node.State.String()
			}
			if step.Verb != "" {
				verbs += step.Verb + " "
			}
		}
	}
	return "!"
}

func TestExplorerComparesTwoSeries(t *testing.T) {
	b := open(t, "")
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('other').checkVisibility()"))
	b.choose("series", "rocky")
	b.choose("with", "queens")
	require.True(t, browsertest.Eval[bool](b.Tab, "document.getElementById('other').checkVisibility()"))
	require.Equal(t, "queens, API 1.38", b.Text("#other-title"))
	require.Equal(t, []string{"state-inspect_wait"}, b.with("main", "state", "added"))
	require.Empty(t, b.with("other", "state", "added"))
	require.Contains(t, b.with("other", "state", "absent"), "state-inspect_wait")
	require.Equal(t, "rocky and queens API up to 1.46, and up to 1.38. States only in rocky inspect wait Transitions only in rocky "+
		"inspecting wait → inspect wait inspect wait done → manageable inspect wait fail → inspect failed "+
		"inspect wait abort → inspect failed", b.Text("#changes"))
	b.choose("with", "stein")
	require.Contains(t, b.Text("#changes"),
		"Transitions only in rocky deleting error → error Transitions only in stein deleting fail → error")
	b.choose("series", "ussuri")
	b.choose("with", "victoria")
	require.Contains(t, b.Text("#changes"), "Both series have the same states and transitions.")
	b.choose("series", "xena")
	b.choose("with", "wallaby")
	require.Contains(t, b.Text("#changes"), "Words only in xena available deploy (1.73)")
}

func TestExplorerFiltersAndSearches(t *testing.T) {
	b := open(t, "")
	b.Do(chromedp.Click(chromedp.CSS("#requests")))
	require.Contains(t, b.with("main", "edge", "absent"), "edge-verifying-manageable")
	require.NotContains(t, b.with("main", "edge", "absent"), "edge-enroll-verifying")
	require.Contains(t, b.hash(), "requests=1")

	b.Do(chromedp.SendKeys(chromedp.CSS("#find"), "firmware"))
	require.Contains(t, b.Text("#list"), "service failed")
	require.NotContains(t, b.Text("#list"), "enroll")
	require.Contains(t, b.with("main", "state", "found"), "state-service_failed")
	b.Key(kb.Escape)
	b.Do(chromedp.SendKeys(chromedp.CSS("#find"), "Unhold"))
	require.Equal(t, "3 found deploy hold clean hold service hold", b.Text("#list"))
	b.Do(chromedp.SendKeys(chromedp.CSS("#find"), "xyz"))
	require.Equal(t, "nothing found", b.Text("#list"))

	b.open("find=++")
	require.Empty(t, b.with("main", "state", "found"), "a search for spaces")
	require.Contains(t, b.Text("#list"), "Main states")
}

func TestExplorersLinkHoldsTheChoice(t *testing.T) {
	b := open(t, "series=zed&version=1.38&state=active&with=rocky&from=enroll&goal=active&requests=1&find=rescue")
	require.Equal(t, []string{"zed", "1.38", "rocky", "enroll", "active", "rescue"},
		browsertest.Eval[[]string](b.Tab, "['series', 'version', 'with', 'from', 'goal', 'find'].map((id) => document.getElementById(id).value)"))
	require.True(t, browsertest.Eval[bool](b.Tab, "document.getElementById('requests').checked"))
	require.Contains(t, b.Text("#details"), "active stable")
	b.choose("with", "")
	hash := b.hash()
	b.open(strings.TrimPrefix(hash, "#"))
	require.Equal(t, hash, b.hash())

	browsertest.Eval[string](b.Tab, "location.hash = '#series=kilo&state=error'")
	b.Do(chromedp.WaitVisible(chromedp.CSS("#start-here")))
	require.Equal(t, "kilo, API 1.6", b.Text("#main-title"))
}

func TestExplorerAcceptsAnyLink(t *testing.T) {
	b := open(t, "series=bexar&version=9.9&state=<script>&with=zed&from=ready&goal=&find=%22%3E&x=y&%%%")
	require.Equal(t, "2026.2, API 1.115", b.Text("#main-title"))
	require.Contains(t, b.Text("#details"), "Select a state")
	b.open("series=kilo&version=1.115&state=rescue&from=enroll&goal=rescued")
	require.Equal(t, "kilo, API 1.6", b.Text("#main-title"))
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('route').checkVisibility()"))
}

func TestExplorerByKeyboard(t *testing.T) {
	b := open(t, "")
	focused := "document.activeElement.dataset.id || document.activeElement.id"
	b.press("/")
	require.Equal(t, "find", browsertest.Eval[string](b.Tab, focused))
	b.Key("adopt failed")
	require.Contains(t, b.Text("#list"), "adopt failed")
	b.Key(kb.Escape)
	require.Empty(t, browsertest.Eval[string](b.Tab, "document.getElementById('find').value"))

	// The list of states has one tab stop per state; the diagram after it has one.
	for range states.Latest().Table().States().Len() + 1 {
		b.Key(kb.Tab)
	}
	require.Equal(t, "state-enroll", browsertest.Eval[string](b.Tab, focused))
	b.Key(kb.ArrowDown)
	require.Equal(t, "state-verifying", browsertest.Eval[string](b.Tab, focused))
	b.Key(kb.Enter)
	require.Contains(t, b.Text("#details"), "verifying not stable")
	require.Equal(t, "true", browsertest.Eval[string](b.Tab, "document.activeElement.getAttribute('aria-pressed')"))
	b.Key(kb.ArrowUp)
	require.Equal(t, "state-enroll", browsertest.Eval[string](b.Tab, focused))
	b.Key(" ")
	require.Contains(t, b.Text("#details"), "enroll stable")
	b.Key(kb.Escape)
	require.Contains(t, b.Text("#details"), "Select a state")
}

// A screen reader gets names for the controls, and a button for each state.
// The page draws its lists and texts anew at each choice: the focus then moves to the button at the same place as the
// pressed one, or to the heading of the new text.
func TestExplorerKeepsTheFocus(t *testing.T) {
	b := open(t, "")
	press := func(selector string) (focused string) {
		browsertest.Eval[bool](b.Tab, fmt.Sprintf("(() => { document.querySelector(%q).focus(); return true; })()", selector))
		b.Key(kb.Enter)
		return browsertest.Eval[string](b.Tab, `(() => {
			const e = document.activeElement;
			return [e.closest('#list, section')?.id, e.id || e.dataset.state || e.tagName].join(' ');
		})()`)
	}
	require.Equal(t, "list manageable", press(`#list [data-state="manageable"]`))
	require.Equal(t, "details start-here", press("#start-here"))
	require.Equal(t, "details H2", press(`#details [data-state="inspecting"]`))
	require.Contains(t, b.Text("#details h2"), "inspecting")
	b.choose("goal", "active")
	require.Equal(t, "route available", press(`#route [data-state="available"]`))
	require.Equal(t, "walk walk-title", press("#simulate-here"))
	require.Equal(t, "walk available", press(`#walk [data-state="available"]`))
	require.Equal(t, "available", browsertest.Eval[string](b.Tab, "document.activeElement.textContent"))
}

func TestExplorerForScreenReaders(t *testing.T) {
	b := open(t, "state=enroll")
	nodes := browsertest.Call(b.Tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	names := make(map[string][]string)
	for _, n := range nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		var role, name string
		require.NoError(t, json.Unmarshal(n.Role.Value, &role))
		if n.Name != nil {
			require.NoError(t, json.Unmarshal(n.Name.Value, &name))
		}
		names[role] = append(names[role], name)
	}
	require.Equal(t, []string{"Series", "API version", "Compare with", "Route from", "to"}, names["combobox"])
	require.Equal(t, []string{"Search"}, names["searchbox"])
	require.Equal(t, []string{"requests only"}, names["checkbox"])
	for s := range states.Latest().Table().States().All() {
		require.True(t, slices.ContainsFunc(names["button"], func(name string) bool { return strings.HasPrefix(name, s.String()+": ") }), s)
		require.Contains(t, names["button"], s.String())
	}
	for _, role := range []string{"button", "combobox", "checkbox", "navigation", "complementary", "region"} {
		require.NotContains(t, names[role], "", "%s without a name", role)
	}
}

func TestExplorerLightDarkAndNarrow(t *testing.T) {
	colour := "getComputedStyle(document.body).backgroundColor"
	b := open(t, "series=2026.2&state=service%20failed&with=zed&from=active&goal=available")
	require.Equal(t, "rgb(255, 255, 255)", browsertest.Eval[string](b.Tab, colour))
	browsertest.Call(b.Tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	require.Equal(t, "rgb(13, 17, 23)", browsertest.Eval[string](b.Tab, colour))
	for _, width := range []int64{360, 400, 768, 1024, 1920} {
		browsertest.Call(b.Tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 800,
		})
		require.LessOrEqual(t, browsertest.Eval[int64](b.Tab, "document.documentElement.scrollWidth"), width, "the page scrolls sideways")
		require.True(t, browsertest.Eval[bool](b.Tab, "document.querySelector('#main svg').checkVisibility()"))
		require.Empty(t, browsertest.Eval[[]string](b.Tab, browsertest.CutOff), "at %d pixels", width)
		require.GreaterOrEqual(t, browsertest.Eval[float64](b.Tab, browsertest.SmallestLabel), 11.0, "at %d pixels", width)
	}
}

func TestExplorerZooms(t *testing.T) {
	b := open(t, "state=service failed")
	width := func() int {
		return browsertest.Eval[int](b.Tab, "Math.round(document.querySelector('#main svg').getBoundingClientRect().width)")
	}
	first := width()
	b.Do(chromedp.Click(chromedp.CSS("#zoom-in")))
	require.InDelta(t, float64(first)*1.25, width(), 2)
	require.True(t, browsertest.Eval[bool](b.Tab, `(() => {
		const [state, view] = ['#main .chosen', '#main .drawing'].map((s) => document.querySelector(s).getBoundingClientRect());
		return state.left >= view.left && state.right <= view.right;
	})()`), "the chosen state is in view")
	b.Do(chromedp.Click(chromedp.CSS("#zoom-out")))
	require.Equal(t, first, width())
	require.True(t, browsertest.Eval[bool](b.Tab, "document.getElementById('zoom-out').disabled"))

	browsertest.Call(b.Tab, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: 400, Height: 800, DeviceScaleFactor: 1, Mobile: true})
	require.Greater(t, width(), 400)
	b.Do(chromedp.Click(chromedp.CSS("#zoom-whole")))
	require.Less(t, width(), 400)
	require.Equal(t, "true", browsertest.Eval[string](b.Tab, "document.getElementById('zoom-whole').getAttribute('aria-pressed')"))
	b.Do(chromedp.Click(chromedp.CSS("#zoom-in")))
	require.Greater(t, width(), 800)
}

func TestExplorerOpensWithThePath(t *testing.T) {
	b := open(t, "")
	_, stderr, code := execute("-format", "html", "-path", "enroll,verifying,enroll", "-series", "zed", "-o", b.file)
	require.Zero(t, code, stderr)
	b.open("")
	require.Equal(t, "zed, API 1.80", b.Text("#main-title"))
	require.Equal(t, []string{"edge-enroll-verifying", "edge-verifying-enroll"}, b.with("main", "edge", "taken"))
	require.Contains(t, b.Text("#details"), "enroll stable")
	info, err := os.Stat(b.file)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(400_000))
}
