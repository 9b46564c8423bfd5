// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/browsertest"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// move clicks the button of an input: a word, or * and an event.
func (b *browser) move(part string) {
	b.t.Helper()
	b.Do(chromedp.Click(chromedp.CSS(fmt.Sprintf("#walk button[data-part=%q]", part))))
}

func (b *browser) steps() []string {
	b.t.Helper()
	return browsertest.Eval[[]string](b.Tab, `[...document.querySelectorAll('#walk ol li')]
		.map((e) => e.innerText.replace(/\s+/g, ' ').trim())`)
}

func TestExplorerSimulatesANode(t *testing.T) {
	b := open(t, "")
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('walk').checkVisibility()"))
	b.Do(chromedp.Click(state("manageable")), chromedp.Click(chromedp.CSS("#simulate-here")))
	require.Contains(t, b.Text("#walk"), "The node is in manageable. ")
	require.Contains(t, b.Text("#walk"), "A client requests, with API 1.115 adopt → adopting clean with clean_steps → cleaning")
	require.Equal(t, "walk-title", browsertest.Eval[string](b.Tab, "document.activeElement.id"))

	b.move("clean")
	require.Contains(t, b.Text("#walk"), "The node is in cleaning and has the target manageable.")
	require.Equal(t, "request clean 202 Accepted → cleaning", b.Text("#live"))
	b.move("*wait")
	b.Do(chromedp.Click(chromedp.CSS("#walk summary")))
	require.Contains(t, b.Text("#walk details"), "active 400 Bad Request: not allowed in the node's state; allowed: abort")
	b.move("active")
	require.Contains(t, b.Text("#walk details"), "provide", "the refused words stay open")
	b.move("*resume")
	b.move("*done")
	require.Equal(t, []string{
		"begin in manageable", "request clean 202 Accepted → cleaning", "report wait → clean wait",
		"request active 400 Bad Request: not allowed in the node's state; allowed: abort",
		"report resume → cleaning", "report done → manageable",
	}, b.steps(), "a manual cleaning ends in manageable")
	require.Equal(t, []string{
		"edge-clean_wait-cleaning", "edge-cleaning-clean_wait", "edge-cleaning-manageable", "edge-manageable-cleaning",
	}, b.with("main", "edge", "taken"))
	require.Equal(t, []string{"state-manageable"}, b.with("main", "state", "here"))

	b.Do(chromedp.Click(chromedp.CSS("#walk-back")))
	require.Len(t, b.steps(), 5)
	require.Equal(t, []string{"state-cleaning"}, b.with("main", "state", "here"))
	b.Do(chromedp.Click(chromedp.CSS("#walk-again")))
	require.Equal(t, []string{"begin in manageable"}, b.steps())
	b.Do(chromedp.Click(chromedp.CSS("#walk-end")))
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('walk').checkVisibility()"))
	require.NotContains(t, b.hash(), "walk")
	require.Empty(t, b.with("main", "state", "here"))
}

// The address of a walk shows the same walk to whoever opens it, and another version answers otherwise.
func TestExplorersAddressHoldsTheWalk(t *testing.T) {
	b := open(t, "series=zed&state=active")
	b.Do(chromedp.Click(chromedp.CSS("#simulate-here")))
	b.move("rescue")
	b.move("*done")
	hash := b.hash()
	require.Equal(t, "#series=zed&state=active&walk=active.rescue.*done", hash)
	b.open("")
	b.open(strings.TrimPrefix(hash, "#"))
	want := []string{"begin in active", "request rescue 202 Accepted → rescuing", "report done → rescue"}
	require.Equal(t, want, b.steps())
	require.Equal(t, hash, b.hash())

	b.choose("version", "1.37")
	require.Equal(t, []string{
		"begin in active", "request rescue 406 Not Acceptable: API version not acceptable; acceptable: 1.38 to 1.80",
		"report done the conductor does not report this here",
	}, b.steps())
	require.Contains(t, b.Text("#walk"), "A client requests, with API 1.37")
	require.Equal(t, []string{"state-active"}, b.with("main", "state", "here"))
	b.choose("series", "kilo")
	require.Equal(t, "request rescue 400 Bad Request: unknown target; known since series queens, and this is kilo", b.steps()[1])
	b.open("series=rocky&version=1.30&walk=inspect wait")
	require.Contains(t, b.Text("#walk"), "API version 1.30 shows this state as inspecting.")
	b.open("series=2026.2&walk=service wait.abort")
	require.Equal(t, []string{"edge-service_failed-active", "edge-service_wait-service_failed"}, b.with("main", "edge", "taken"),
		"one request, two transitions")
}

// The walk is anyone's text: the page shows nothing of it but names of the tables.
func TestExplorerAcceptsAnyWalk(t *testing.T) {
	b := open(t, "")
	for walk, want := range map[string]string{
		"<script>alert(1)</script>": "", "": "", ".": "", "*done": "",
		"constructor": "", "__proto__.manage": "", "Enroll": "", "enroll ": "",
		"enroll.<img src=x onerror=alert(1)>.manage":     "enroll.manage",
		"enroll.*constructor.*__proto__.toString.*":      "enroll",
		"enroll..manage.*.**done.*done":                  "enroll.manage.*done",
		"enroll.done.*manage":                            "enroll.*manage",
		"enroll" + strings.Repeat(".manage", 5000):       "enroll" + strings.Repeat(".manage", 100),
		"enroll" + strings.Repeat(".x", 200) + ".manage": "enroll",
		"enroll\x00.manage\u202e.\U0001f642":             "",
	} {
		text, err := json.Marshal(walk)
		require.NoError(t, err)
		b.open(browsertest.Eval[string](b.Tab, "new URLSearchParams({ series: 'zed', walk: "+string(text)+" }).toString()"))
		require.Equal(t, want, browsertest.Eval[string](b.Tab, "explorer.choice.walk"), "%q", walk)
		require.Equal(t, want != "", browsertest.Eval[bool](b.Tab, "document.getElementById('walk').checkVisibility()"))
		require.Zero(t, browsertest.Eval[int](b.Tab, "document.querySelectorAll('img, #walk script').length"))
		shown := b.Text("#walk")
		for _, hostile := range []string{"alert", "constructor", "proto", "toString", "<"} {
			require.NotContains(t, shown, hostile)
		}
	}
	b.open("series=bexar&walk=enroll.manage&version=1.999999")
	require.Equal(t, []string{"begin in enroll", "request manage 202 Accepted → verifying"}, b.steps())
}

// The page's walks are package machine's, for random inputs in every series at random versions.
func TestExplorersWalksAreTheMachines(t *testing.T) {
	b := open(t, "")
	random := rand.New(rand.NewPCG(1, 2))
	var inputs []string
	for verb := range states.Verbs() {
		inputs = append(inputs, verb)
	}
	for event := range states.AllEvents() {
		inputs = append(inputs, "*"+event.String())
	}
	slices.Sort(inputs)
	for series := range states.AllSeries() {
		table := series.Table()
		version := states.APIVersion(1 + random.IntN(int(series.MaxAPIVersion())))
		var walks []string
		var want [][]string
		for from := range table.States().All() {
			node := machine.Node{State: from, Target: table.Target(from)}
			walk, seen := from.String(), []string{fmt.Sprint(node.State, " ", node.Target)}
			for range 60 {
				input := inputs[random.IntN(len(inputs))]
				walk += "." + input
				if name, report := strings.CutPrefix(input, "*"); report {
					event, err := states.ParseEvent(name)
					require.NoError(t, err)
					node, _ = node.Report(table, event, "") // an impossible report leaves the node as it is
				} else {
					node, _ = node.Request(table, input, version)
				}
				seen = append(seen, fmt.Sprint(node.State, " ", node.Target))
			}
			walks, want = append(walks, walk), append(want, seen)
		}
		text, err := json.Marshal(walks)
		require.NoError(t, err)
		got := browsertest.Eval[[][]string](b.Tab, fmt.Sprintf(`%s.map((text) => {
			const { start, steps } = simulation.walk(model.series(%q), %d, text);
			const name = (state) => (state < 0 ? 'none' : data.states[state].name);
			return [start, ...steps.map((s) => s.to)].map((n) => simulation.sim.nodes[n].map(name).join(' '));
		})`, text, series, version))
		require.Equal(t, want, got, series)
	}
}

func TestExplorersSimulationOnNarrowAndWideScreens(t *testing.T) {
	b := open(t, "series=2026.2&state=manageable&walk=manageable.clean.*wait.active.*resume.*done.active")
	b.Do(chromedp.Click(chromedp.CSS("#walk summary")))
	for _, width := range []int64{360, 400, 830, 1280} {
		browsertest.Call(b.Tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 800,
		})
		require.LessOrEqual(t, browsertest.Eval[int64](b.Tab, "document.documentElement.scrollWidth"), width, "the page scrolls sideways")
		require.Empty(t, browsertest.Eval[[]string](b.Tab, browsertest.CutOff), "at %d pixels", width)
		browsertest.Eval[bool](b.Tab, `(() => {
			scrollTo(0, document.body.scrollHeight);
			document.getElementById('simulate-here').click();
			return true;
		})()`)
		b.Until(`((top) => top >= 0 && top < 400)(document.getElementById('walk-title').getBoundingClientRect().top)`) // of a new walk
	}
}
