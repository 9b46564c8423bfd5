// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// phases describes the phases, in tooltips and on the page of states.
var phases = []struct {
	phase         states.Phase
	tooltip, page string
}{
	{states.PhaseStable, "stable", "**Stable**: the node stays until a request moves it."},
	{states.PhaseWorking, "the conductor is working", "**Unstable**, the conductor is working: the state changes when the work ends."},
	{states.PhaseWaiting, "the conductor waits for a call-back",
		"**Unstable**, the conductor waits for a call-back: the state changes after the call-back or a timeout."},
	{states.PhaseHold, "stopped by a hold step", "**On hold**: a hold step has stopped the work; a request resumes or aborts it."},
	{states.PhaseFailed, "work failed", "**Failed**: the work has failed; an operator checks the node and sends a request."},
}

// stateText returns a state's description, and whether it comes from Diagram.Describe.
func (d Diagram) stateText(s states.State) (text string, own bool) {
	if d.Describe != nil {
		if text := clean(d.Describe(s)); text != "" {
			return text, true
		}
	}
	return s.Description(), false
}

// tooltip returns a state's tooltip: the caller's description or, without one, the
// state's meaning, its default target and the requests that the API accepts in it.
func (d Diagram) tooltip(t *states.Table, s states.State) string {
	text, own := d.stateText(s)
	if own {
		return text
	}
	meaning, _, _ := strings.Cut(text, "\n\n")
	phase := ""
	for _, p := range phases {
		if p.phase == t.Phase(s) {
			phase = p.tooltip
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v (%s): %s", s, phase, strings.ReplaceAll(meaning, "`", ""))
	if target := t.Target(s); target != states.NoState {
		fmt.Fprintf(&b, " The node's target is %v.", target)
	}
	if words := requests(t, s); len(words) > 0 {
		fmt.Fprintf(&b, " The API accepts %s.", strings.Join(words, ", "))
	}
	return b.String()
}

// text returns an edge's description.
func (e edge) text() string {
	var words []string
	for _, r := range e.rows {
		words = append(words, strings.TrimSpace(r.word()+" "+r.cause.note()))
	}
	return fmt.Sprintf("%v to %v: %s", e.from, e.to, strings.Join(words, ", "))
}

// heading returns the title of the diagram, or the default one.
func (d Diagram) heading() string {
	if title := clean(d.Title); title != "" {
		return title
	}
	title := fmt.Sprintf("Ironic provisioning states: %v", d.Table.Series())
	if d.Since != nil {
		title += fmt.Sprintf(" since %v", d.Since.Series())
	}
	if d.Part != "" {
		title += ", " + strings.ToLower(string(d.Part))
	}
	return title
}

// summary returns the description of the diagram, or a count of its states and transitions.
func (d Diagram) summary(m *model) string {
	if text := clean(d.Description); text != "" {
		return text
	}
	var titles []string
	for _, g := range m.groups {
		if g.part != "" {
			titles = append(titles, strings.ToLower(string(g.part)))
		}
	}
	counts := fmt.Sprintf("%d states and %d transitions.", len(m.nodes()), len(m.rows))
	if len(titles) == 0 {
		return counts
	}
	slices.Sort(titles)
	return counts + " Parts: " + strings.Join(titles, ", ") + "."
}

// id returns the attribute id of a state in DOT and SVG.
func (n node) id() string { return "state-" + slug(n.state.String()) }

// class returns the attribute class of a state in DOT and SVG, for style sheets and scripts.
func (n node) class() string {
	classes := []string{"state", string(n.phase)}
	if n.stable && n.phase != states.PhaseStable {
		classes = append(classes, "stable")
	}
	if n.change != kept {
		classes = append(classes, string(n.change))
	}
	if n.taken {
		classes = append(classes, "taken")
	}
	if n.current {
		classes = append(classes, "current")
	}
	return strings.Join(classes, " ")
}

// class returns the attribute class of an edge.
func (e edge) class() string {
	classes := []string{"edge", string(conductor)}
	if e.requested() {
		classes[1] = string(request)
	}
	if c := e.change(); c != kept {
		classes = append(classes, string(c))
	}
	if e.taken() {
		classes = append(classes, "taken")
	}
	if e.onSpine() {
		classes = append(classes, "spine")
	}
	return strings.Join(classes, " ")
}
