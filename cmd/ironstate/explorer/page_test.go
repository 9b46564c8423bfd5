// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/internal/browsertest"
	"github.com/ironstate/ironstate/states"
)

func TestThePageShowsMovesAndExplanations(t *testing.T) {
	s := start(t, conductortest.Config{})
	s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Active})
	node := s.Add(conductor.Node{Name: "rack1-2", ProvisionState: states.Available})
	b := open(t, s, "")
	b.untilText("#fleet", "2 nodes, live. Conductor conductortest, 2026.2.")
	require.Equal(t, "1", b.badge("active"))
	require.Equal(t, "1", b.badge("available"))
	require.Empty(t, b.badge("enroll"))
	require.Contains(t, b.Text("#list"), "available 1")
	require.Contains(t, browsertest.Eval[string](b.Tab,
		`document.querySelector('#main [data-id="state-active"]').getAttribute('aria-label')`), "1 node")

	begun, release := make(chan struct{}), make(chan struct{})
	s.Next(node, "deploy.deploy", func(context.Context) error {
		close(begun)
		<-release
		return errors.New("no such image <img src=x onerror=alert(1)>")
	})
	require.True(t, browsertest.Eval[bool](b.Tab, `(() => {
		const edge = document.querySelector('#main [data-id="edge-available-deploying"]');
		new MutationObserver(() => {
			if (edge.classList.contains('fired')) document.body.dataset.flashed = 'yes';
		}).observe(edge, { attributes: true });
		return true;
	})()`))
	s.provision("rack1-2", "active")
	<-begun
	b.until("the number has moved", `document.querySelector('#main [data-id="state-deploying"] g.number text')`)
	require.Equal(t, "1", b.badge("deploying"))
	require.Empty(t, b.badge("available"))
	b.until("the transition flashes", "document.body.dataset.flashed === 'yes'")
	b.untilText("#moves-list", "rack1-2 available → deploying")

	b.click("#moves-list", "rack1-2")
	b.untilText("#node-body", "The conductor conductortest is working on the node. If the work succeeds, the node is then active.")
	require.Equal(t, "rack1-2", b.Text("#node-title"))
	require.Equal(t, "node-title", browsertest.Eval[string](b.Tab, "document.activeElement.id"))
	close(release)
	b.untilText("#node-body", "State deploy failed")
	body := b.Text("#node-body")
	require.Contains(t, body, "no such image <img src=x onerror=alert(1)>")
	require.Contains(t, body, "The work has failed; the last error gives the cause.")
	require.Contains(t, body, "The request active repeats deploying, which has failed: check the node first.")
	require.Regexp(t, `Timeline, latest first deploy failed .* so far \d\d:\d\d:\d\d by fail .* deploying .* by deploy available left `, body)
	require.NotContains(t, body, "enroll", "the node was created in available")
	require.Zero(t, browsertest.Eval[int](b.Tab, "document.querySelectorAll('img').length"))
	require.True(t, browsertest.Eval[bool](b.Tab,
		`document.querySelector('#main [data-id="edge-deploying-deploy_failed"]').classList.contains('visited')`))
	require.Contains(t, browsertest.Eval[string](b.Tab, "location.hash"), "node="+node.UUID)

	b.Key(kb.Escape)
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('node').checkVisibility()"))
}

func TestThePageListsTheNodesOfAState(t *testing.T) {
	s := start(t, conductortest.Config{})
	for n := range 120 {
		s.Add(conductor.Node{Name: fmt.Sprintf("rack2-%03d", n), ProvisionState: states.Available})
	}
	s.Add(conductor.Node{Name: "rack3-000", ProvisionState: states.Manageable})
	b := open(t, s, "state=available")
	b.untilText("#nodes-title", "Nodes in available: 120")
	b.untilText("#nodes-list", "rack2-049")
	rows := "document.querySelectorAll('#nodes-list li').length"
	require.Equal(t, 50, browsertest.Eval[int](b.Tab, rows))
	for _, want := range []string{"100", "120"} {
		b.click("#nodes", "More")
		b.until(want+" nodes", rows+" === "+want)
	}
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('nodes-more').checkVisibility()"))

	b.Do(chromedp.SendKeys(chromedp.CSS("#nodes-find"), "rack2-11"))
	b.until("ten are found", rows+" === 10")
	require.Contains(t, browsertest.Eval[string](b.Tab, "location.hash"), "search=rack2-11")
	b.Do(chromedp.SendKeys(chromedp.CSS("#nodes-find"), "x"))
	b.untilText("#nodes-note", "No node has this text")

	b.Do(chromedp.Click(chromedp.CSS(`#main [data-id="state-manageable"]`)))
	b.untilText("#nodes-title", "Nodes in manageable: 1")
	b.Key(kb.Escape)
	b.untilText("#nodes-title", "All nodes: 121")
	b.until("there is no search", "document.getElementById('nodes-find').value === ''")
	b.untilText("#nodes-list", "rack2-000")
}

func TestThePageFiltersFailedNodesAndThoseInMaintenance(t *testing.T) {
	s := start(t, conductortest.Config{})
	s.Add(conductor.Node{Name: "good", ProvisionState: states.Active})
	s.Add(conductor.Node{Name: "failed", ProvisionState: states.DeployFail})
	s.Add(conductor.Node{Name: "both", ProvisionState: states.CleanFail, Maintenance: true})
	s.Add(conductor.Node{Name: "kept", ProvisionState: states.Active, Maintenance: true})
	b := open(t, s, "maintenance=1")
	names := "[...document.querySelectorAll('#nodes-list .node')].map((b) => b.textContent).join()"
	b.until("those in maintenance", names+" === 'both,kept'")
	require.Equal(t, "All nodes, in maintenance", b.Text("#nodes-title"))
	b.Do(chromedp.Click(chromedp.CSS("#nodes-failed")))
	b.until("both", names+" === 'both'")
	b.Do(chromedp.Click(chromedp.CSS("#nodes-maintenance")))
	b.until("the failed ones", names+" === 'failed,both'")
	require.Contains(t, browsertest.Eval[string](b.Tab, "location.hash"), "failed=1")
	b.Key(kb.Escape)
	b.until("all", names+" === 'good,failed,both,kept'")
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('nodes-failed').checked"))
}

// The path of a node begins in its state and follows it: to its target, or to the goal that
// the reader selects.
func TestThePageDrawsThePathOfTheNode(t *testing.T) {
	s := start(t, conductortest.Config{})
	node := s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Manageable})
	b := open(t, s, "node="+node.UUID)
	taken := "[...document.querySelectorAll('#main .edge.taken')].map((g) => g.dataset.id).sort().join(' ')"
	b.untilText("#node-next", "To available")
	require.Empty(t, browsertest.Eval[string](b.Tab, taken), "a node without a target has no path")
	b.click("#node-next", "To active")
	require.Equal(t, "edge-available-deploying edge-cleaning-available edge-deploying-active edge-manageable-cleaning",
		browsertest.Eval[string](b.Tab, taken))
	require.Contains(t, b.Text("#route"), "From manageable to active")
	require.Equal(t, "true", browsertest.Eval[string](b.Tab, "document.querySelector('#node-next [aria-pressed=true]').ariaPressed"))
	s.provision("rack1-1", "provide")
	b.untilText("#route", "From available to active")
	require.Equal(t, "edge-available-deploying edge-deploying-active", browsertest.Eval[string](b.Tab, taken))
	b.click("#node-next", "To active")
	require.Empty(t, browsertest.Eval[string](b.Tab, taken))

	begun, release := make(chan struct{}), make(chan struct{})
	s.Next(node, "deploy.deploy", func(context.Context) error { close(begun); <-release; return nil })
	s.provision("rack1-1", "active")
	<-begun
	b.untilText("#route", "From deploying to active")
	require.Equal(t, "edge-deploying-active", browsertest.Eval[string](b.Tab, taken))
	close(release)
	b.untilText("#route", "The node has already reached the goal.")
	b.click("#node", "×")
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('route').checkVisibility()"))
}

func TestThePageDrawsTheTransitionsOfEachMinute(t *testing.T) {
	s := start(t, conductortest.Config{})
	s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Available})
	b := open(t, s, "")
	b.untilText("#rates", "0 transitions in this minute, at most 0 a minute in the last 30 minutes")
	s.provision("rack1-1", "active")
	b.untilText("#moves-list", "deploying → active")
	require.Regexp(t, `at most [12] a minute`, b.Text("#rates"))
	require.Equal(t, 30, browsertest.Eval[int](b.Tab, "document.querySelectorAll('#rates rect').length"))
	require.Equal(t, 1.0, browsertest.Eval[float64](b.Tab,
		"Math.max(...[...document.querySelectorAll('#rates rect')].map((r) => r.height.baseVal.value))"))
}

// The page has the conductor's series whatever its URL contains, and handles invalid queries.
func TestThePageHasTheConductorsSeries(t *testing.T) {
	s := start(t, conductortest.Config{Series: states.Rocky})
	s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Available})
	b := open(t, s, "series=kilo&node=..%2F%3Cb%3E&search=%22&state=available")
	b.untilText("#main-title", "rocky, API 1.46")
	b.untilText("#node-body", "The node could not be read: there is no such node.")
	b.untilText("#nodes-note", "No node has this text")
	require.False(t, browsertest.Eval[bool](b.Tab, "document.getElementById('series').checkVisibility()"))
	b.Forgive("404")
}

func TestThePageSaysThatTheConductorIsGone(t *testing.T) {
	s := start(t, conductortest.Config{})
	s.Add(conductor.Node{})
	b := open(t, s, "")
	s.stop()
	b.untilText("#fleet", "No connection to the conductor, retrying. The numbers are from the last update.")
	require.Equal(t, "1", b.badge("enroll"))
}

// The browser sends the password, which the page does not have, with each request of the page.
func TestThePageBehindAPassword(t *testing.T) {
	s := start(t, conductortest.Config{})
	node := s.Add(conductor.Node{Name: "rack1-1"})
	s.Wrap(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name, password, _ := r.BasicAuth(); name != "admin" || password != "correct horse" {
				w.Header().Set("WWW-Authenticate", `Basic realm="Baremetal API"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	plain := s.URL
	s.URL = strings.Replace(plain, "http://", "http://admin:correct%20horse@", 1)
	b := open(t, s, "node="+node.UUID)
	s.URL = plain
	b.untilText("#node-body", "Why it is in this state")
	b.untilText("#nodes-list", "rack1-1")
}

// A hidden page has no connection.
func TestAHiddenPageHasNoStream(t *testing.T) {
	s := start(t, conductortest.Config{})
	begun, ended := make(chan bool, 10), make(chan bool, 10)
	s.Wrap(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/explorer/events" {
				begun <- true
				defer func() { ended <- true }()
			}
			h.ServeHTTP(w, r)
		})
	})
	b := open(t, s, "")
	<-begun
	hide := func(hidden bool) {
		browsertest.Eval[bool](b.Tab, fmt.Sprintf(`(() => {
			Object.defineProperty(document, 'hidden', { value: %v, configurable: true });
			return document.dispatchEvent(new Event('visibilitychange'));
		})()`, hidden))
	}
	hide(true)
	<-ended
	s.Add(conductor.Node{})
	hide(false)
	<-begun
	b.untilText("#fleet", "1 node, live")
}

func TestThePageWithMediaPreferencesAndScreenWidths(t *testing.T) {
	s := start(t, conductortest.Config{})
	node := s.Add(conductor.Node{Name: strings.Repeat("a-very-long-name", 8), ProvisionState: states.Available})
	b := open(t, s, "state=available&node="+node.UUID)
	b.untilText("#node-body", "Why it is in this state")
	number := "getComputedStyle(document.querySelector('span.number')).backgroundColor"
	b.media("prefers-color-scheme", "light")
	require.Equal(t, "rgb(11, 99, 196)", browsertest.Eval[string](b.Tab, number))
	b.media("prefers-color-scheme", "dark")
	require.Equal(t, "rgb(90, 174, 255)", browsertest.Eval[string](b.Tab, number))
	for n := range 30 {
		s.Add(conductor.Node{Name: fmt.Sprintf("rack4-%02d", n), ProvisionState: states.Available, LastError: "no answer"})
	}
	b.untilText("#nodes-list", "rack4-29")
	for _, width := range []int64{360, 400, 699, 700, 830, 1024, 1280, 1920} {
		b.size(width)
		require.LessOrEqual(t, browsertest.Eval[int64](b.Tab, "document.documentElement.scrollWidth"), width, "the page scrolls sideways")
		scrolls := "^<$" // nothing
		if width >= 700 {
			scrolls = `^<[uo]l id="(nodes|moves)-list"`
		}
		cutOff := fmt.Sprintf("%s.filter((e) => !new RegExp(%q).test(e))", browsertest.CutOff, scrolls)
		require.Empty(t, browsertest.Eval[[]string](b.Tab, cutOff), "at %d pixels", width)
	}
	b.media("prefers-reduced-motion", "reduce")
	require.True(t, browsertest.Eval[bool](b.Tab, `(() => {
		document.body.dataset.dots = 0;
		new MutationObserver(() => {
			if (document.querySelector('.dot')) document.body.dataset.dots++;
		}).observe(document.getElementById('main'), { childList: true, subtree: true });
		return true;
	})()`))
	s.provision(node.UUID, "active")
	b.untilText("#moves-list", "active")
	require.Equal(t, "0", browsertest.Eval[string](b.Tab, "document.body.dataset.dots"), "nothing is animated with prefers-reduced-motion")
	require.Equal(t, "0s", browsertest.Eval[string](b.Tab, `getComputedStyle(document.querySelector('#main .edge path')).transitionDuration`))
}

// Each part of the page has an accessible name.
func TestThePageForScreenReaders(t *testing.T) {
	s := start(t, conductortest.Config{})
	node := s.Add(conductor.Node{Name: "rack1-1", ProvisionState: states.Available})
	b := open(t, s, "node="+node.UUID)
	b.untilText("#node-body", "Why it is in this state")
	names := map[string][]string{}
	for _, n := range browsertest.Call(b.Tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if n.Ignored || n.Role == nil || n.Name == nil {
			continue
		}
		var role, name string
		require.NoError(t, json.Unmarshal(n.Role.Value, &role))
		require.NoError(t, json.Unmarshal(n.Name.Value, &name))
		names[role] = append(names[role], name)
	}
	require.Equal(t, []string{"Search", "Name or UUID"}, names["searchbox"])
	require.Subset(t, names["region"], []string{"rack1-1", "All nodes: 1", "Latest transitions", "Diagram"})
	require.Contains(t, names["button"], "Close the node")
	require.Contains(t, names["button"], "rack1-1")
	for _, role := range []string{"button", "combobox", "checkbox", "searchbox", "region"} {
		require.NotContains(t, names[role], "", "%s without a name", role)
	}
	require.Equal(t, "status", browsertest.Eval[string](b.Tab, "document.getElementById('live').getAttribute('role')"))

	s.provision("rack1-1", "active")
	b.until("the live region announces the move",
		"document.getElementById('live').textContent.includes('changed state, the latest is rack1-1')")
}

func TestThePageMarksOverdueNodesAndFiltersThem(t *testing.T) {
	s := start(t, conductortest.Config{})
	ago := time.Now().Add(-time.Hour)
	s.Add(conductor.Node{Name: "good", ProvisionState: states.Active})
	s.Add(conductor.Node{Name: "late", ProvisionState: states.CleanWait, Maintenance: true, ProvisionUpdatedAt: &ago})
	b := open(t, s, "node=late")
	b.untilText("#nodes-list li:first-child", "late clean wait overdue maintenance 1 h")
	b.untilText("#nodes-list li:last-child", "good active")
	b.untilText("#node-body dd .overdue", "overdue")
	require.NotContains(t, b.Text("#nodes-list li:last-child"), "overdue")
	b.Do(chromedp.Click(chromedp.CSS("#nodes-overdue")))
	b.untilText("#nodes-title", "All nodes, overdue")
	b.until("the overdue one", "document.querySelectorAll('#nodes-list .node').length === 1")
	require.Contains(t, browsertest.Eval[string](b.Tab, "location.hash"), "overdue=1")
}
