// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/browsertest"
)

// browser is a tab of a real Chromium with the page of a service.
type browser struct {
	*browsertest.Tab
	t *testing.T
}

// open opens the page of a service with a query such as "state=active".
func open(t *testing.T, s *service, choice string) *browser {
	t.Helper()
	b := navigate(t, s, choice)
	b.until("the stream has begun", `document.getElementById('fleet').textContent.includes('live')`)
	return b
}

// navigate opens the page and does not wait for its stream.
func navigate(t *testing.T, s *service, choice string) *browser {
	t.Helper()
	own, err := url.Parse(s.URL)
	require.NoError(t, err)
	b := &browser{browsertest.Open(t, func(address string) bool {
		to, err := url.Parse(address)
		return err == nil && to.Host == own.Host
	}), t}
	b.Do(chromedp.Navigate(s.URL+"/#"+choice), chromedp.WaitVisible(chromedp.CSS("#fleet")))
	return b
}

// until waits until a JavaScript expression is true.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	b.t.Log("waits until", what)
	b.Until(expression)
}

// untilText waits until an element contains a text.
func (b *browser) untilText(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s has %q", selector, text),
		fmt.Sprintf("((document.querySelector(%q) || {}).innerText || '').replace(/\\s+/g, ' ').includes(%q)", selector, text))
}

// media sets a preference such as prefers-color-scheme.
func (b *browser) media(name, value string) {
	b.t.Helper()
	browsertest.Call(b.Tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: name, Value: value}},
	})
}

// size sets the width of the window.
func (b *browser) size(width int64) {
	b.t.Helper()
	browsertest.Call(b.Tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 800,
	})
}

// visible returns the ids of those elements that are visible, in the order of the page.
func (b *browser) visible(ids ...string) []string {
	b.t.Helper()
	return browsertest.Eval[[]string](b.Tab, fmt.Sprintf(
		"[...document.querySelectorAll('[id]')].filter((e) => %q.split(' ').includes(e.id) && e.checkVisibility()).map((e) => e.id)",
		strings.Join(ids, " ")))
}

// before reports whether an element is above another or to the left of it.
func (b *browser) before(first, second string) bool {
	b.t.Helper()
	return browsertest.Eval[bool](b.Tab, fmt.Sprintf(`(() => {
		const [a, b] = [%q, %q].map((id) => document.getElementById(id).getBoundingClientRect());
		return a.bottom <= b.top || a.right <= b.left;
	})()`, first, second))
}

// badge returns the number at a state's box in the diagram, "" if there is none.
func (b *browser) badge(slug string) string {
	b.t.Helper()
	return browsertest.Eval[string](b.Tab,
		fmt.Sprintf("(document.querySelector('#main [data-id=\"state-%s\"] g.number text') || {textContent: ''}).textContent", slug))
}

// click clicks the first button with a text.
func (b *browser) click(within, text string) {
	b.t.Helper()
	found := browsertest.Eval[bool](b.Tab, fmt.Sprintf(`(() => {
		const all = [...document.querySelectorAll(%q)].filter((e) => e.textContent === %q);
		if (all.length) all[0].click();
		return all.length > 0;
	})()`, within+" button", text))
	require.True(b.t, found, "%s has a button %s", within, text)
}
