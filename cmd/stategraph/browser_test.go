package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// A browser is a tab of a real Chromium with the explorer in it.
type browser struct {
	t    *testing.T
	ctx  context.Context
	file string

	mu       sync.Mutex
	problems []string // errors of its console, its log and its scripts
	requests []string // the URLs that it requested
}

// open opens the explorer with a choice, such as "series=zed".
func open(t *testing.T, choice string) *browser {
	t.Helper()
	needs.Programs(t, "chromium")
	file := filepath.Join(t.TempDir(), "states.html")
	_, stderr, code := execute("-format", "html", "-o", file)
	require.Zero(t, code, stderr)

	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1500, 1200))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	b := &browser{t: t, file: file}
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	b.ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	t.Cleanup(b.requireNoProblem)
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	b.open(choice)
	return b
}

func (b *browser) open(choice string) {
	b.t.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+b.file+"#"+choice), chromedp.WaitVisible(chromedp.CSS("#list li")))
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
		b.requests = append(b.requests, e.Request.URL)
	}
}

// requireNoProblem fails the test if the page reported an error or requested a URL
// other than its own.
func (b *browser) requireNoProblem() {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.problems)
	for _, address := range b.requests {
		known := address == "about:blank" || address == "data:," || strings.HasPrefix(address, "file://"+b.file)
		require.True(b.t, known, "the page asked for %s", address)
	}
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

// eval returns the value of an expression of JavaScript.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err)
	return value
}

func (b *browser) text(selector string) string {
	b.t.Helper()
	return strings.Join(strings.Fields(eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))), " ")
}

func (b *browser) hash() string { return eval[string](b, "location.hash") }

// with returns the sorted data-ids of the elements in a diagram that have a kind and
// a class.
func (b *browser) with(panel, kind, class string) []string {
	b.t.Helper()
	list := eval[[]string](b, fmt.Sprintf("[...document.querySelectorAll('#%s .%s.%s')].map((g) => g.dataset.id)", panel, kind, class))
	slices.Sort(list)
	return list
}

func (b *browser) choose(id, value string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(
		"(() => { const s = document.getElementById(%q); s.value = %q; return s.dispatchEvent(new Event('change')); })()", id, value))
}

func (b *browser) key(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// press presses a key that types a character, unless the page handles the key itself.
func (b *browser) press(sign string) {
	b.t.Helper()
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: sign, Text: sign})
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: sign})
}

// state returns the selector of a state in the diagram.
func state(slug string) chromedp.CSS { return chromedp.CSS(`#main [data-id="state-` + slug + `"]`) }
