package explorer_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// browser is a tab of a real Chromium.
type browser struct {
	t    *testing.T
	ctx  context.Context
	host string // the only host that it may contact

	mu       sync.Mutex
	problems []string // errors of its console, its log and its scripts
	foreign  []string // requested URLs of other hosts
}

// open opens the page of a service with a query such as "state=active".
func open(t *testing.T, s *service, choice string) *browser {
	t.Helper()
	needs.Programs(t, "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1500, 1100))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	address, err := url.Parse(s.URL)
	require.NoError(t, err)
	b := &browser{t: t, host: address.Host}
	ctx, cancelTab := chromedp.NewContext(allocator, chromedp.WithListener(b.listen))
	bounded, cancelTime := context.WithTimeout(ctx, 2*time.Minute)
	b.ctx = bounded
	t.Cleanup(func() {
		b.requireNoProblem()
		cancelTime()
		cancelTab()
		cancel()
		chromedp.FromContext(ctx).Allocator.Wait()
	})
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	b.do(chromedp.Navigate(s.URL+"/#"+choice), chromedp.WaitVisible(chromedp.CSS("#fleet")))
	b.until("the stream has begun", `document.getElementById('fleet').textContent.includes('live')`)
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprintf("%s: %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		b.problems = append(b.problems, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if address, err := url.Parse(e.Request.URL); err != nil || address.Host != b.host && e.Request.URL != "data:," {
			b.foreign = append(b.foreign, e.Request.URL)
		}
	}
}

// requireNoProblem fails the test if the page had errors or contacted another host.
func (b *browser) requireNoProblem() {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.problems)
	require.Empty(b.t, b.foreign)
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// call sends a command to the browser.
func call[P, R any](b *browser, command cdp.Command[P, R], parameters P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, parameters)
	require.NoError(b.t, err)
	return result
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err)
	return value
}

// until waits until a JavaScript expression is true.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return eval[bool](b, "!!("+expression+")") }, time.Minute, 20*time.Millisecond, what)
}

// untilText waits until an element contains a text.
func (b *browser) untilText(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s has %q", selector, text),
		fmt.Sprintf("((document.querySelector(%q) || {}).innerText || '').replace(/\\s+/g, ' ').includes(%q)", selector, text))
}

func (b *browser) text(selector string) string {
	b.t.Helper()
	return strings.Join(strings.Fields(eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))), " ")
}

// badge returns the number at a state's box in the diagram, "" if there is none.
func (b *browser) badge(slug string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("(document.querySelector('#main [data-id=\"state-%s\"] g.number text') || {textContent: ''}).textContent", slug))
}

// click clicks the first button with a text.
func (b *browser) click(within, text string) {
	b.t.Helper()
	found := eval[bool](b, fmt.Sprintf(
		"(() => { const all = [...document.querySelectorAll(%q)].filter((e) => e.textContent === %q); if (all.length) all[0].click(); return all.length > 0; })()",
		within+" button", text))
	require.True(b.t, found, "%s has a button %s", within, text)
}

func (b *browser) key(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// forgive removes the problems that contain a text, of which there must be at least one.
func (b *browser) forgive(text string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(b.problems), func(p string) bool { return strings.Contains(p, text) })
	require.Less(b.t, len(rest), len(b.problems), "the browser complains of %s", text)
	b.problems = rest
}

const (
	// cutOff is the elements outside the diagrams whose content is wider than they are, or
	// higher if they then scroll.
	cutOff = `[...document.querySelectorAll('body *:not(svg, svg *, .drawing, #live, select, input)')]
		.filter((e) => e.checkVisibility() && getComputedStyle(e).display !== 'inline' &&
			(e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 || getComputedStyle(e).overflowY === 'auto' && e.scrollHeight > e.clientHeight))
		.map((e) => e.outerHTML.slice(0, 80))`
	// smallestLabel is the height of the smallest text in the diagrams, in pixels.
	smallestLabel = `Math.round(100 * Math.min(...[...document.querySelectorAll('.drawing text')].filter((e) => e.checkVisibility())
		.map((e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a))) / 100`
)
