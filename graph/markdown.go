// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/graph/internal/shown"
	"github.com/ironstate/ironstate/states"
)

// WriteMarkdown writes a page about the states: the diagram, as the linked [Diagram.Picture] or in Mermaid, in which
// [Diagram.Split] makes a diagram for each part, at the head of the part's sections; the API's words and their aliases;
// the stable and unstable states; and a section for each state, with its description, the requests that the API accepts
// in it and the conductor's transitions. Each request is listed with the API version that it needs, the states that it
// leads through if all work succeeds, and the state in which it ends.
//
// The page is GitHub's Markdown. The sections have the anchors "state-enroll" and so
// on. It returns the errors of [Diagram.WriteDOT].
func (d Diagram) WriteMarkdown(w io.Writer) error {
	return d.write(func(m *model) error {
		picture, parts, err := m.markdownDiagrams()
		if err != nil {
			return err
		}
		p := &page{model: m, parts: parts}
		p.line("# %s", escapeMarkdown(m.title))
		p.line("%s", escapeMarkdown(m.description))
		p.line("%s", picture)
		p.intro()
		p.aliases()
		p.stability()
		for _, c := range chapters {
			p.chapter(c)
		}
		p.eventTable()
		_, err = io.WriteString(w, strings.TrimRight(p.String(), "\n")+"\n")
		return err
	})
}

// A page is the text of a Markdown page.
type page struct {
	*model
	strings.Builder
	parts map[Part]string // the Mermaid diagrams of the parts, if they have their own
}

// line writes a paragraph.
func (p *page) line(format string, values ...any) {
	fmt.Fprintf(p, format+"\n\n", values...)
}

// table writes a table, or nothing if there are no rows.
func (p *page) table(header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(p, "| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat(" --- |", len(header)))
	for _, row := range rows {
		fmt.Fprintf(p, "| %s |\n", strings.Join(row, " | "))
	}
	p.WriteString("\n")
}

// markdownDiagrams returns the diagram at the head of the page, and the diagrams at the heads
// of the parts. If Picture is set, the first is an image that links to its file, and there
// are no others; otherwise all are fenced code blocks of Mermaid.
func (m *model) markdownDiagrams() (head string, parts map[Part]string, err error) {
	address, err := checkLink(m.diagram.Picture)
	if err != nil {
		return "", nil, fmt.Errorf("invalid picture: %w", err)
	}
	if address != "" {
		address = html.EscapeString(address)
		return fmt.Sprintf(`<a href="%[1]s"><img src="%[1]s" alt="%[2]s"></a>`, address, html.EscapeString(m.title)), nil, nil
	}
	parts = make(map[Part]string)
	for n, d := range m.diagram.Split() {
		one, err := d.model()
		if err != nil {
			return "", nil, err
		}
		text := "```mermaid\n" + one.mermaid() + "```"
		if n == 0 {
			head = text
		} else {
			parts[d.Part] = text
		}
	}
	return head, parts, nil
}

// intro writes what the colours mean, and what depends on the API version.
func (p *page) intro() {
	t := p.diagram.Table
	p.line("A blue line is a request of the API, and a gray, dashed one the conductor's own. This page is about the series %v, "+
		"whose API has versions up to %v.", t.Series(), t.Series().MaxAPIVersion())
	if since := p.diagram.Since; since != nil {
		p.line("It marks what was *added* and *removed* since the series %v.", since.Series())
	}
	if shown := shownAs(t); len(shown) > 0 {
		p.line("What depends on the version that a client speaks:")
		for _, sentence := range shown {
			fmt.Fprintf(p, "- %s\n", sentence)
		}
		p.WriteString("\n")
	}
}

// shownAs returns a sentence for each state that old API versions show as another
// one, and a sentence on the state of new nodes.
func shownAs(t *states.Table) []string {
	var sentences []string
	for v := states.APIVersion(2); v <= t.Series().MaxAPIVersion(); v++ {
		if now, was := v.InitialState(), (v - 1).InitialState(); now != was {
			sentences = append(sentences, fmt.Sprintf("From %v on, a node is created in `%v`; below, in `%v`.", v, now, was))
		}
		for s, as := range shown.Before(v) {
			if t.States().Has(s) {
				sentences = append(sentences, fmt.Sprintf("Below %v, `%v` is shown as `%s`.", v, s, as))
			}
		}
	}
	return sentences
}

// aliases writes the table of the verbs that are aliases.
func (p *page) aliases() {
	var rows [][]string
	for _, e := range p.events() {
		words := p.words(e)
		for _, alias := range words[min(1, len(words)):] {
			rows = append(rows, []string{code(alias.verb), code(words[0].verb), alias.since.String()})
		}
	}
	if len(rows) > 0 {
		p.line("## Aliases")
		p.table([]string{"Word", "Alias of", "API version"}, rows)
	}
}

// stability writes the list of the states by phase.
func (p *page) stability() {
	p.line("## Stable and unstable states")
	for _, group := range phases {
		var links []string
		for _, n := range p.nodes() {
			if n.stable && group.phase == states.PhaseStable || !n.stable && group.phase == n.phase { // Error is stable, and failed
				links = append(links, stateLink(n.state))
			}
		}
		if len(links) > 0 {
			fmt.Fprintf(p, "- %s %s\n", group.page, strings.Join(links, ", "))
		}
	}
	p.WriteString("\n")
}

// chapter writes the sections of the chapter's states, as far as they are drawn.
func (p *page) chapter(c chapter) {
	nodes := p.nodes()
	titled := false
	for _, s := range append(slices.Clone(c.states), c.then) {
		i := slices.IndexFunc(nodes, func(n node) bool { return n.state == s })
		if i < 0 {
			continue
		}
		if !titled {
			p.line("## %s", c.part)
			if diagram := p.parts[c.part]; diagram != "" {
				p.line("%s", diagram)
			}
			titled = true
		}
		p.section(nodes[i])
	}
}

// section writes the section of a state.
func (p *page) section(n node) {
	heading := n.state.String()
	if n.link != "" {
		heading = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(n.link), heading)
	}
	p.line(`### <a id="%s"></a>%s%s`, n.id(), heading, n.change.mark())
	text := n.description
	if n.own {
		text = escapeMarkdown(text)
	}
	p.line("%s", text)
	var requests, reports [][]string
	for _, r := range p.requestsOf(n.state) {
		requests = append(requests, r.cells())
	}
	for _, r := range p.rows {
		if r.From == n.state && r.cause != request {
			reports = append(reports, []string{eventLink(r.Event) + r.change.mark(), stateLink(r.To)})
		}
	}
	p.table([]string{"Request", "API version", "Requires", "Leads through", "Ends in"}, requests)
	p.table([]string{"The conductor's event", "Leads to"}, reports)
}

// cells returns the request as a row of a table.
func (r apiRequest) cells() []string {
	var words, versions, through []string
	for _, w := range r.words {
		words = append(words, code(w.verb))
		versions = append(versions, w.since.String())
	}
	for _, s := range r.through {
		through = append(through, stateLink(s))
	}
	requires := ""
	if field := r.Event.Requires(); field != "" {
		requires = code(field)
	}
	return []string{
		strings.Join(words, ", ") + r.change.mark(), strings.Join(versions, ", "), requires,
		strings.Join(through, ", "), stateLink(r.to),
	}
}

// eventTable writes the table of the events.
func (p *page) eventTable() {
	p.line("## Events")
	var rows [][]string
	for _, e := range p.events() {
		var verbs []string
		for _, w := range p.words(e) {
			verbs = append(verbs, code(w.verb))
		}
		rows = append(rows, []string{
			fmt.Sprintf(`<a id="%s"></a>%s`, eventID(e), code(e.String())), strings.Join(verbs, ", "), e.Description(),
		})
	}
	p.table([]string{"Event", "Words of the API", "Meaning"}, rows)
}

// mark returns the text that marks a change.
func (c change) mark() string {
	if c == kept {
		return ""
	}
	return " *(" + string(c) + ")*"
}

func code(word string) string { return "`" + word + "`" }

func eventID(e states.Event) string { return "event-" + slug(e.String()) }

func eventLink(e states.Event) string { return fmt.Sprintf("[%s](#%s)", code(e.String()), eventID(e)) }

func stateLink(s states.State) string {
	return fmt.Sprintf("[%v](#%s)", s, node{state: s}.id())
}
