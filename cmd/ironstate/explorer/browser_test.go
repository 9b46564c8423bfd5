// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

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
	own, err := url.Parse(s.URL)
	require.NoError(t, err)
	b := &browser{browsertest.Open(t, func(address string) bool {
		to, err := url.Parse(address)
		return err == nil && to.Host == own.Host
	}), t}
	b.Do(chromedp.Navigate(s.URL+"/#"+choice), chromedp.WaitVisible(chromedp.CSS("#fleet")))
	b.until("the stream has begun", `document.getElementById('fleet').textContent.includes('live')`)
	return b
}

// until waits until a JavaScript expression is true.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return browsertest.Eval[bool](b.Tab, "!!("+expression+")") }, time.Minute, 20*time.Millisecond, what)
}

// untilText waits until an element contains a text.
func (b *browser) untilText(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s has %q", selector, text),
		fmt.Sprintf("((document.querySelector(%q) || {}).innerText || '').replace(/\\s+/g, ' ').includes(%q)", selector, text))
}

// badge returns the number at a state's box in the diagram, "" if there is none.
func (b *browser) badge(slug string) string {
	b.t.Helper()
	return browsertest.Eval[string](b.Tab, fmt.Sprintf("(document.querySelector('#main [data-id=\"state-%s\"] g.number text') || {textContent: ''}).textContent", slug))
}

// click clicks the first button with a text.
func (b *browser) click(within, text string) {
	b.t.Helper()
	found := browsertest.Eval[bool](b.Tab, fmt.Sprintf(
		"(() => { const all = [...document.querySelectorAll(%q)].filter((e) => e.textContent === %q); if (all.length) all[0].click(); return all.length > 0; })()",
		within+" button", text))
	require.True(b.t, found, "%s has a button %s", within, text)
}
