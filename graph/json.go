// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/json"
	"io"

	"github.com/ironstate/ironstate/graph/internal/document"
	"github.com/ironstate/ironstate/states"
)

// WriteJSON writes the diagram as JSON for other tools: the states in Ironic's order, and each transition on its own in
// the order of [states.Table.Transitions]. The keys change ("added", "removed"), current, taken and link are present
// only where they apply.
//
// A state has its description, in which a blank line separates paragraphs and Ironic's words are in backquotes, the
// tooltip that drawings have, and each word that the API accepts in the state: the oldest API version that accepts the
// word, the field that the request requires, the states that it leads through if all work succeeds, and the state in
// which it ends. It returns the errors of [Diagram.WriteDOT].
func (d Diagram) WriteJSON(w io.Writer) error {
	return d.write(func(m *model) error { return encode(w, m.json()) })
}

// encode writes a document as JSON.
func encode(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// json returns the document of WriteJSON.
func (m *model) json() document.Diagram {
	t := m.diagram.Table
	doc := document.Diagram{
		Title:       m.title,
		Description: m.description,
		Series:      t.Series(),
		Since:       m.diagram.Since.Series(),
		APIVersion:  t.Series().MaxAPIVersion().String(),
		States:      []document.State{},
		Transitions: []document.Transition{},
		Events:      []document.Event{},
	}
	for _, n := range m.nodes() {
		doc.States = append(doc.States, m.jsonState(n))
	}
	for _, r := range m.rows {
		j := document.Transition{
			From:   r.From,
			Event:  r.Event,
			To:     r.To,
			Cause:  string(r.cause),
			Change: string(r.change),
			Taken:  r.taken,
		}
		if verb := r.verb(); verb != "" {
			j.Verb = &verb
		}
		doc.Transitions = append(doc.Transitions, j)
	}
	for _, e := range m.events() {
		verbs := []string{}
		for _, w := range m.words(e) {
			verbs = append(verbs, w.verb)
		}
		doc.Events = append(doc.Events, document.Event{Event: e, Verbs: verbs, Description: e.Description()})
	}
	return doc
}

// jsonState returns a state with the requests that the API accepts in it.
func (m *model) jsonState(n node) document.State {
	requests := []document.Request{}
	for _, r := range m.requestsOf(n.state) {
		for _, w := range r.words {
			requests = append(requests, document.Request{
				Verb:       w.verb,
				APIVersion: w.since,
				Requires:   r.Event.Requires(),
				Through:    append([]states.State{}, r.through...),
				To:         r.to,
				Change:     string(r.change),
			})
		}
	}
	return document.State{
		State:       n.state,
		Part:        string(partOf(n.state)),
		Phase:       n.phase,
		Stable:      n.stable,
		Target:      m.tableOf(n.change).Target(n.state),
		Description: n.description,
		Tooltip:     n.tooltip,
		Link:        n.link,
		Change:      string(n.change),
		Current:     n.current,
		Taken:       n.taken,
		Requests:    requests,
	}
}
