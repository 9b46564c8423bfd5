// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/browsertest"
)

// A browser is a tab of a real Chromium with the explorer in it.
type browser struct {
	*browsertest.Tab
	t    *testing.T
	file string
}

// open opens the explorer with a choice, such as "series=zed".
func open(t *testing.T, choice string) *browser {
	t.Helper()
	file := filepath.Join(t.TempDir(), "states.html")
	_, stderr, code := execute("-format", "html", "-o", file)
	require.Zero(t, code, stderr)
	own := func(address string) bool { return strings.HasPrefix(address, "file://"+file) }
	b := &browser{browsertest.Open(t, own), t, file}
	b.open(choice)
	return b
}

func (b *browser) open(choice string) {
	b.t.Helper()
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+b.file+"#"+choice), chromedp.WaitVisible(chromedp.CSS("#list li")))
}

func (b *browser) hash() string { return browsertest.Eval[string](b.Tab, "location.hash") }

// with returns the sorted data-ids of the elements in a diagram that have a kind and
// a class.
func (b *browser) with(panel, kind, class string) []string {
	b.t.Helper()
	list := browsertest.Eval[[]string](b.Tab, fmt.Sprintf("[...document.querySelectorAll('#%s .%s.%s')].map((g) => g.dataset.id)",
		panel, kind, class))
	slices.Sort(list)
	return list
}

func (b *browser) choose(id, value string) {
	b.t.Helper()
	browsertest.Eval[bool](b.Tab, fmt.Sprintf(
		"(() => { const s = document.getElementById(%q); s.value = %q; return s.dispatchEvent(new Event('change')); })()", id, value))
}

// press presses a key that types a character, unless the page handles the key itself.
func (b *browser) press(sign string) {
	b.t.Helper()
	browsertest.Call(b.Tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown,
		Key:  sign,
		Text: sign,
	})
	browsertest.Call(b.Tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: sign})
}

// state returns the selector of a state in the diagram.
func state(slug string) chromedp.CSS { return chromedp.CSS(`#main [data-id="state-` + slug + `"]`) }
