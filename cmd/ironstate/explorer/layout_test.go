// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/internal/browsertest"
	"github.com/ironstate/ironstate/states"
)

// The sections of the page. The machine is the diagram with its controls, lists and explanations.
var sections = []string{"nodes", "moves", "node", "machine"}

func TestTheNodesAreFirstAndTheDiagramFollows(t *testing.T) {
	s := start(t, conductortest.Config{})
	node := s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Active})
	b := open(t, s, "")
	for _, width := range []int64{700, 830, 1120, 1280, 1920} {
		b.size(width)
		require.Equal(t, []string{"nodes", "moves", "machine"}, b.visible(sections...), "%d", width)
		require.True(t, b.before("nodes", "main"), "the diagram follows the nodes at %d pixels", width)
	}
	b.click("#nodes-list", "rack1-1")
	b.untilText("#node-body", "Timeline")
	require.NotContains(t, browsertest.Eval[string](b.Tab, "location.hash"), "state=", "the list keeps its filter")
	for _, width := range []int64{830, 1280} {
		b.size(width)
		require.Equal(t, []string{"nodes", "moves", "node", "machine"}, b.visible(sections...))
		require.True(t, b.before("nodes", "node") && b.before("node", "main"), "%d", width)
	}
	require.Contains(t, browsertest.Eval[string](b.Tab, "location.hash"), "node="+node.UUID)
	require.True(t, browsertest.Eval[bool](b.Tab, `document.querySelector('#main [data-id="state-active"]').classList.contains('visited')`))
}

// A narrow page has no diagram. When it becomes wider, the diagram has its numbers at its states.
func TestANarrowPageHasTheListAndOneNode(t *testing.T) {
	s := start(t, conductortest.Config{})
	s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Active})
	b := open(t, s, "")
	for _, width := range []int64{360, 400, 699} {
		b.size(width)
		b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.URL+"/"))
		b.untilText("#nodes-list", "rack1-1")
		require.Equal(t, []string{"nodes"}, b.visible(sections...), "%d", width)
		b.click("#nodes-list", "rack1-1")
		b.untilText("#node-body", "Next requests To manageable")
		require.Equal(t, []string{"nodes", "node"}, b.visible(sections...), "%d", width)
		require.True(t, b.before("node", "nodes"), "the node is above the list, where the reader is")
		require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('details').checkVisibility()"))
	}
	b.size(830)
	b.until("the number is at its state", `(() => {
		const [state, number] = ['> path', 'g.number rect'].map((s) => document.querySelector('#main [data-id="state-active"] ' + s));
		const [a, b] = [state, number].map((e) => e && e.getBoundingClientRect());
		return a && b && a.width > 0 && a.left < b.right && b.left < a.right && b.bottom > a.top && b.top < a.top;
	})()`)
}

func TestTheDiagramFitsTheWidth(t *testing.T) {
	s := start(t, conductortest.Config{})
	b := open(t, s, "")
	fits := `(() => {
		const d = document.querySelector('#main .drawing');
		return d.scrollWidth <= d.clientWidth && d.scrollHeight <= d.clientHeight;
	})()`
	width := "document.querySelector('#main svg').getBoundingClientRect().width"
	for _, w := range []int64{700, 830, 1120, 1280, 1920} {
		b.size(w)
		require.True(t, browsertest.Eval[bool](b.Tab, fits), "%d", w)
		require.Greater(t, browsertest.Eval[float64](b.Tab, width), 0.6*min(float64(w), 1000), "%d", w)
	}
	b.size(1280)
	fitted := browsertest.Eval[float64](b.Tab, width)
	b.Do(chromedp.Click(chromedp.CSS("#zoom-in")))
	require.InDelta(t, fitted*1.25, browsertest.Eval[float64](b.Tab, width), 2)
}

// The title is the fleet's name as text. Without a name it names the conductor.
func TestTheTitleIsTheFleetsName(t *testing.T) {
	s := start(t, conductortest.Config{})
	b := open(t, s, "")
	require.Equal(t, fleetName, b.Text("h1"))
	require.Equal(t, fleetName, browsertest.Eval[string](b.Tab, "document.title"))
	require.Zero(t, browsertest.Eval[int](b.Tab, "document.querySelectorAll('h1 *').length"))

	plain := &service{Server: conductortest.New(t, conductortest.Config{}), t: t}
	e := explorer.New(plain.Conductor, "", noTrouble)
	plain.Wrap(e.Around)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	require.Equal(t, "Nodes of conductortest", plain.stream().next().Title)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// The simulation of the explorer works on the page too, and does not filter the list.
func TestThePageSimulates(t *testing.T) {
	s := start(t, conductortest.Config{Series: states.Rocky})
	s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Active})
	b := open(t, s, "walk=enroll.manage.%3Cimg%3E.service")
	b.untilText("#walk", "begin in enroll request manage 202 Accepted → verifying "+
		"request service 400 Bad Request: unknown target; known since series 2023.2, and this is rocky")
	b.Do(chromedp.Click(chromedp.CSS(`#walk [data-part="*fail"]`)))
	b.untilText("#walk", "The node is in enroll")
	b.untilText("#nodes-title", "All nodes: 1")
	require.Zero(t, browsertest.Eval[int](b.Tab, "document.querySelectorAll('img').length"))
}

const markColour = "getComputedStyle(document.getElementById('fleet'), '::before').backgroundColor"

func TestTheMarkIsGreenWhileThePageIsConnected(t *testing.T) {
	s := start(t, conductortest.Config{})
	release := make(chan struct{})
	s.Wrap(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/explorer/events" {
				<-release
			}
			h.ServeHTTP(w, r)
		})
	})
	b := navigate(t, s, "")
	b.media("prefers-color-scheme", "light")
	require.Equal(t, "rgb(140, 149, 159)", browsertest.Eval[string](b.Tab, markColour), "grey while it connects")
	b.media("prefers-color-scheme", "dark")
	require.Equal(t, "rgb(125, 135, 147)", browsertest.Eval[string](b.Tab, markColour))
	require.Equal(t, "connecting …", b.Text("#fleet"))
	close(release)
	b.untilText("#fleet", "0 nodes, live.")
	require.Equal(t, "rgb(63, 185, 80)", browsertest.Eval[string](b.Tab, markColour), "dark")
	b.media("prefers-color-scheme", "light")
	require.Equal(t, "rgb(26, 127, 55)", browsertest.Eval[string](b.Tab, markColour))
	s.stop()
	b.untilText("#fleet", "No connection")
	require.Equal(t, "rgb(194, 28, 43)", browsertest.Eval[string](b.Tab, markColour), "red")
}

func TestTheTimelineHasDurations(t *testing.T) {
	s := start(t, conductortest.Config{})
	now := time.Now()
	ago := func(d time.Duration, from states.State, by states.Event, to states.State) conductor.TransitionRecord {
		return conductor.TransitionRecord{Time: now.Add(-d), From: from, Event: by, To: to}
	}
	since := now.Add(-3 * time.Hour)
	transitions := []conductor.TransitionRecord{
		ago(53*time.Hour+30*time.Minute, states.Enroll, states.EventManage, states.Verifying),
		ago(53*time.Hour+29*time.Minute+15*time.Second, states.Verifying, states.EventDone, states.Manageable),
		ago(3*time.Hour+10*time.Minute, states.Manageable, states.EventProvide, states.Cleaning),
		ago(3*time.Hour, states.Cleaning, states.EventWait, states.CleanWait),
	}
	node := s.Add(conductor.Node{
		Name: "rack1-1", ProvisionState: states.CleanWait, Maintenance: true, ProvisionUpdatedAt: &since, Transitions: transitions,
	})
	b := open(t, s, "node="+node.UUID)
	b.untilText("#node-body", "Timeline, latest first")
	rows := browsertest.Eval[[]string](b.Tab, `[...document.querySelectorAll('#node-history .row')].map((e) =>
		[...e.children].map((c) => c.textContent.replace(/(3 h) \d+ s/, '$1')).join(' '))`)
	require.Equal(t, []string{"clean wait 3 h so far overdue ", "cleaning 10 min", "manageable 2 d 2 h", "verifying 45 s", "enroll "}, rows)
	current := browsertest.Eval[[]string](b.Tab, "[...document.querySelectorAll('.stage.now button')].map((e) => e.textContent)")
	require.Equal(t, []string{"clean wait"}, current)
	bars := browsertest.Eval[[]float64](b.Tab, "[...document.querySelectorAll('#node-history .bar')].map((e) => parseFloat(e.style.width))")
	require.Len(t, bars, 3, "for the states that have ended, with a known beginning")
	require.Equal(t, 100.0, bars[1])
	require.InDelta(t, 100*600/(50*3600.0+19*60+15), bars[0], 0.1)

	for seconds, want := range map[string]string{
		"0": "under 1 s", "0.9": "under 1 s", "1": "1 s", "59.9": "59 s", "60": "1 min", "3599": "59 min 59 s", "3600": "1 h",
		"3661": "1 h 1 min", "86399": "23 h 59 min", "86400": "1 d", "90061": "1 d 1 h", "-5": "under 1 s",
	} {
		require.Equal(t, want, browsertest.Eval[string](b.Tab, "live.duration("+seconds+")"))
	}
}

// The times since are by the server's clock and grow while nothing happens.
func TestTheTimesInTheListAreByTheServersClock(t *testing.T) {
	s := start(t, conductortest.Config{})
	since := time.Now().Add(-2*time.Hour - 30*time.Second)
	s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Available, ProvisionUpdatedAt: &since})
	b := open(t, s, "")
	b.untilText("#nodes-list", "2 h")
	age := fmt.Sprintf("live.since(%q).textContent", since.Format(time.RFC3339Nano))
	shift := func(hours int) {
		browsertest.Eval[bool](b.Tab, fmt.Sprintf(`(() => {
			const now = Date.now;
			Date.now = () => now() + %d * 3600e3;
			return true;
		})()`, hours))
	}
	shift(-5) // a wrong clock
	require.Equal(t, "under 1 s", browsertest.Eval[string](b.Tab, age))
	b.Do(chromedp.Click(chromedp.CSS("#nodes-maintenance")))
	b.Do(chromedp.Click(chromedp.CSS("#nodes-maintenance"))) // reads the list again
	b.until("the answer has corrected it", age+" === '2 h'")
	b.untilText("#nodes-list", "2 h")
	browsertest.Eval[bool](b.Tab, "(() => { fetch = () => new Promise(() => {}); return true; })()") // no further answer
	shift(24)
	b.untilText("#nodes-list", "1 d 2 h")
}

func TestTheOverdueNodesAreOnTop(t *testing.T) {
	s := start(t, conductortest.Config{})
	for n := range 60 {
		s.Add(conductor.Node{Name: fmt.Sprintf("good-%02d", n), ProvisionState: states.Active})
	}
	ago := time.Now().Add(-time.Hour)
	for n := range 60 {
		late := conductor.Node{Name: fmt.Sprintf("late-%02d", n), ProvisionState: states.CleanWait, Maintenance: true, ProvisionUpdatedAt: &ago}
		s.Add(late)
	}
	b := open(t, s, "")
	rows := `[...document.querySelectorAll('#nodes-list li')].map((e) =>
		e.querySelector('.node').textContent + (e.classList.contains('late') ? '!' : ''))`
	for _, n := range []int{50, 100, 120} {
		b.until("more rows", fmt.Sprintf("%s.length === %d", rows, n))
		for i, row := range browsertest.Eval[[]string](b.Tab, rows) {
			want := fmt.Sprintf("late-%02d!", i)
			if i >= 60 {
				want = fmt.Sprintf("good-%02d", i-60)
			}
			require.Equal(t, want, row)
		}
		if n < 120 {
			b.click("#nodes", "More")
		}
	}
}

// The buttons above the list count the nodes by state and filter the list.
func TestTheListHasAButtonForEachStateWithNodes(t *testing.T) {
	s := start(t, conductortest.Config{})
	s.Add(conductor.Node{Name: "one", ProvisionState: states.Active})
	s.Add(conductor.Node{Name: "two", ProvisionState: states.Available})
	b := open(t, s, "")
	buttons := `[...document.querySelectorAll('#nodes-states button')].map((e) =>
		e.textContent + (e.getAttribute('aria-current') ? '!' : ''))`
	require.Equal(t, []string{"all 2!", "available 1", "active 1"}, browsertest.Eval[[]string](b.Tab, buttons))
	b.click("#nodes-states", "available 1")
	b.untilText("#nodes-title", "Nodes in available: 1")
	require.Equal(t, []string{"all 2", "available 1!", "active 1"}, browsertest.Eval[[]string](b.Tab, buttons))
	s.provision("two", "active")
	b.until("the filter remains", buttons+".join() === 'all 2,available 0!,active 2'")
	b.click("#nodes-states", "all 2")
	b.until("all again", buttons+".join() === 'all 2!,active 2'")
	b.untilText("#nodes-list", "two active")
}
