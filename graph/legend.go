// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"html"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// header returns the label of the graph: its title, and below it the legend. A legend
// in the label adds no nodes and edges to the graph.
func (w *dotWriter) header() string {
	title := fmt.Sprintf(`<font point-size="%d"><b>%s</b></font>`, titleSize, html.EscapeString(w.title))
	if w.diagram.NoLegend {
		return title
	}
	legend := []string{
		w.box("stable", w.text, w.node, w.text, 2),
		w.box("unstable", w.border, w.node, w.text, 1),
		w.box("failed", w.bad, w.badNode, w.bad, 1),
	}
	if w.diagram.Current != states.NoState {
		legend = append(legend, w.box("current", w.path, w.currentNode, w.text, 2))
	}
	legend = append(legend, w.line("request (via API)", w.request), w.line("conductor", w.conductor))
	if len(w.diagram.Path) > 0 {
		legend = append(legend, w.line("path", w.path))
	}
	if w.diagram.Since != nil {
		legend = append(legend, w.line("added", w.added), w.line("removed", w.removed))
	}
	return `<table border="0" cellborder="0" cellspacing="6" cellpadding="3"><tr><td colspan="20">` + title +
		"</td></tr><tr>" + strings.Join(legend, "") + "</tr></table>"
}

// box returns a sample of a state.
func (w *dotWriter) box(text, border, fill, colour string, width int) string {
	return fmt.Sprintf(`<td><table border="%d" cellborder="0" cellspacing="0" cellpadding="4" style="rounded" color="%s" bgcolor="%s">`+
		`<tr><td><font color="%s">%s</font></td></tr></table></td>`, width, border, fill, colour, text)
}

// line returns a sample of an edge, with its meaning.
func (w *dotWriter) line(text, colour string) string {
	return fmt.Sprintf(`<td><table border="0" cellborder="0" cellspacing="0" cellpadding="0">`+
		`<tr><td fixedsize="true" width="24" height="2" bgcolor="%s"></td></tr></table></td>`+
		`<td><font color="%s">%s</font></td>`, colour, w.text, text)
}
