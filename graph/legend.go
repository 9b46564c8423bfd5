// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// header returns the label of the graph: its title, and below it the legend. A legend
// in the label adds no nodes and edges to the graph.
func (w *dotWriter) header() string {
	title := fmt.Sprintf(`<font point-size="%d"><b>%s</b></font>`, titleSize, html.EscapeString(w.title))
	if w.diagram.NoLegend {
		return title
	}
	c := w.colours
	legend := []string{
		w.box("stable", c.text, c.node, c.text, 2),
		w.box("unstable", c.border, c.node, c.text, 1),
		w.box("failed", c.bad, c.badNode, c.bad, 1),
	}
	if slices.ContainsFunc(w.model.nodes(), func(n node) bool { return n.current }) {
		legend = append(legend, w.box("current", c.path, c.currentNode, c.text, 2))
	}
	legend = append(legend, w.line("request (via API)", c.request, c.request, false), w.line("conductor", c.conductor, c.muted, true))
	if slices.ContainsFunc(w.rows, func(r row) bool { return r.cause == both }) {
		legend = append(legend, w.line("conductor, also via API", c.conductor, c.request, true))
	}
	if slices.ContainsFunc(w.rows, func(r row) bool { return r.taken }) {
		legend = append(legend, w.line("path", c.path, c.text, false))
	}
	if w.diagram.Since != nil {
		legend = append(legend, w.line("added", c.added, c.added, false), w.line("removed", c.removed, c.removed, false))
	}
	return `<table border="0" cellborder="0" cellspacing="6" cellpadding="3"><tr><td colspan="20">` + title +
		"</td></tr><tr>" + strings.Join(legend, "") + "</tr></table>"
}

// box returns a sample of a state.
func (w *dotWriter) box(text, border, fill, colour string, width int) string {
	return fmt.Sprintf(`<td><table border="%d" cellborder="0" cellspacing="0" cellpadding="4" style="rounded" color="%s" bgcolor="%s">`+
		`<tr><td><font color="%s">%s</font></td></tr></table></td>`, width, border, fill, colour, text)
}

// line returns a sample of an edge, solid or dashed, with its meaning in the colour of the edge's words.
func (w *dotWriter) line(text, line, words string, dashed bool) string {
	dash := `<td fixedsize="true" width="%[1]d" height="2" bgcolor="` + line + `"></td>`
	sample := fmt.Sprintf(dash, 24)
	if dashed {
		sample = fmt.Sprintf(strings.Join([]string{dash, dash, dash}, `<td fixedsize="true" width="%[2]d" height="2"></td>`), 6, 3)
	}
	return `<td><table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>` + sample + `</tr></table></td>` +
		fmt.Sprintf(`<td><font color="%s">%s</font></td>`, words, text)
}
