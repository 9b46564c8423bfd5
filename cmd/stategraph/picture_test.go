// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/internal/browsertest"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// show opens a page with a body in a browser.
func show(t *testing.T, body string) *browsertest.Tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(`<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,">`+body), 0o644))
	tab := browsertest.Open(t, func(address string) bool { return strings.HasPrefix(address, "file://") })
	tab.Do(chromedp.Navigate("file://" + file))
	return tab
}

// Mermaid itself draws each diagram of each series so that its texts are no lower, on a page 1000 pixels wide,
// than 11 pixels, the smallest label of the explorer.
func TestSplitMermaidCanBeReadAt1000Pixels(t *testing.T) {
	needs.Time(t)
	script, err := filepath.Abs("../../graph/testdata/node/node_modules/mermaid/dist/mermaid.min.js")
	require.NoError(t, err)
	_, err = os.Stat(script)
	needs.Installed(t, err == nil, "graph/testdata/node/node_modules (run npm ci there)")
	sources := make(map[string]string) // a diagram's source by its lines, which many series share
	for series := range states.AllSeries() {
		for _, d := range (graph.Diagram{Table: series.Table()}).Split() {
			var source strings.Builder
			require.NoError(t, d.WriteMermaid(&source))
			_, lines, _ := strings.Cut(source.String(), "stateDiagram-v2")
			_, lines, _ = strings.Cut(lines, "direction")
			sources[lines] = source.String()
		}
	}
	require.Greater(t, len(sources), 15)
	text, err := json.Marshal(sources)
	require.NoError(t, err)
	tab := show(t, `<body style="width:1000px;margin:0"><script src="file://`+html.EscapeString(script)+`"></script><script>
		window.sources = `+string(text)+`; window.widths = {};
		mermaid.initialize({startOnLoad: false});
		(async () => {
			for (const [n, source] of Object.values(sources).entries()) {
				const {svg} = await mermaid.render('d' + n, source);
				const div = document.body.appendChild(document.createElement('div'));
				div.innerHTML = svg;
				const drawn = div.querySelector('svg');
				widths[source.split('\n')[1]] = drawn.viewBox.baseVal.width;
			}
			document.body.appendChild(document.createElement('p')).id = 'done';
		})();
	</script></body>`)
	tab.Do(chromedp.WaitVisible(chromedp.CSS("svg")))
	for drawn := false; !drawn; {
		drawn = browsertest.Eval[bool](tab, "document.getElementById('done') !== null")
	}
	widths := browsertest.Eval[map[string]float64](tab, "widths")
	require.NotEmpty(t, widths)
	const font = 16 // Mermaid's, in pixels
	for title, width := range widths {
		require.Greater(t, font*min(1, 1000/width), 11.0, "pixels of the texts of %s, whose diagram is %.0f wide", title, width)
	}
}

// In a font that is far wider than Helvetica the browser draws each text in its box, and as wide as in Helvetica.
func TestTextsFitTheirBoxesInABrowser(t *testing.T) {
	needs.Time(t)
	var body strings.Builder
	body.WriteString(`<body style="margin:0">`)
	for series := range states.AllSeries() {
		svg, stderr, code := execute("-series", series.String())
		require.Zero(t, code, stderr)
		body.WriteString(svg)
	}
	body.WriteString(`<style>svg text{font-family:monospace!important;font-stretch:expanded}</style></body>`)
	tab := show(t, body.String())
	require.Greater(t, browsertest.Eval[int](tab, "document.querySelectorAll('.state text').length"), 300)
	require.Empty(t, browsertest.Eval[[]string](tab, `[...document.querySelectorAll('.state')].filter((g) => {
		const [text, shape] = ['text', 'path'].map((name) => g.querySelector(name).getBBox());
		return text.x < shape.x + 2 || text.x + text.width > shape.x + shape.width - 2;
	}).map((g) => g.id)`))
	require.Empty(t, browsertest.Eval[[]string](tab, `[...document.querySelectorAll('text')].filter((e) =>
		Math.abs(e.getBBox().width - parseFloat(e.getAttribute('textLength'))) > 1).map((e) => e.textContent)`))
}
