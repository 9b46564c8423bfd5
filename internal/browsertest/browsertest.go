// SPDX-License-Identifier: Apache-2.0

// Package browsertest opens pages in a real Chromium, for tests.
package browsertest

import (
	"context"
	"fmt"
	"math"
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

// Tab is a tab of a Chromium of its own.
type Tab struct {
	t       *testing.T
	ctx     context.Context
	allowed func(address string) bool

	mu       sync.Mutex
	problems []string // errors of its console, its log and its scripts
	foreign  []string // requested URLs that are not allowed
	forgiven []string // texts of errors that are none
}

// Open opens an empty tab. When the test ends, it fails if a page had errors or requested a URL for
// which allowed is false.
func Open(t *testing.T, allowed func(address string) bool) *Tab {
	t.Helper()
	needs.Programs(t, "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1500, 1200),
		chromedp.WSURLReadTimeout(math.MaxInt64))
	// Chromium removes its files only if it is closed, which the end of its context does not do.
	allocator, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(cancel)
	b := &Tab{t: t, allowed: allowed}
	b.ctx, _ = chromedp.NewContext(allocator, chromedp.WithListener(b.listen))
	t.Cleanup(func() { require.NoError(t, chromedp.Cancel(b.ctx)) })
	t.Cleanup(b.requireNoProblem)
	Call(b, network.Enable, network.EnableParams{})
	Call(b, log.Enable, cdp.Empty{})
	Call(b, runtime.Enable, cdp.Empty{})
	return b
}

func (b *Tab) listen(event any) {
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
		if address := e.Request.URL; address != "about:blank" && address != "data:," && !b.allowed(address) {
			b.foreign = append(b.foreign, address)
		}
	}
}

func (b *Tab) requireNoProblem() {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, slices.DeleteFunc(b.problems, func(problem string) bool {
		return slices.ContainsFunc(b.forgiven, func(text string) bool { return strings.Contains(problem, text) })
	}))
	require.Empty(b.t, b.foreign)
}

// Forgive allows the errors that contain a text, also later ones, and waits for the first.
func (b *Tab) Forgive(text string) {
	b.t.Helper()
	complains := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.ContainsFunc(b.problems, func(problem string) bool { return strings.Contains(problem, text) })
	}
	for !complains() {
		time.Sleep(10 * time.Millisecond)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgiven = append(b.forgiven, text)
}

// Until waits until a JavaScript expression is true.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	for !Eval[bool](b, "!!("+expression+")") {
		time.Sleep(20 * time.Millisecond)
	}
}

// Do carries actions out.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// Key types keys.
func (b *Tab) Key(keys string) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(keys))
}

// Text returns the visible text of an element, with a space in place of each white space.
func (b *Tab) Text(selector string) string {
	b.t.Helper()
	return strings.Join(strings.Fields(Eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))), " ")
}

// Call sends a command to the browser.
func Call[P, R any](b *Tab, command cdp.Command[P, R], parameters P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, parameters)
	require.NoError(b.t, err)
	return result
}

// Eval returns the value of a JavaScript expression.
func Eval[T any](b *Tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err)
	return value
}

const (
	// CutOff is the elements outside the diagrams whose content is wider than they are, or
	// higher if they then scroll.
	CutOff = `[...document.querySelectorAll('body *:not(svg, svg *, .drawing, #live, select, input)')]
		.filter((e) => e.checkVisibility() && getComputedStyle(e).display !== 'inline' &&
			(e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 || getComputedStyle(e).overflowY === 'auto' && e.scrollHeight > e.clientHeight))
		.map((e) => e.outerHTML.slice(0, 80))`
	// SmallestLabel is the height of the smallest text in the diagrams, in pixels.
	SmallestLabel = `Math.round(100 * Math.min(...[...document.querySelectorAll('.drawing text')].filter((e) => e.checkVisibility())
		.map((e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a))) / 100`
)
