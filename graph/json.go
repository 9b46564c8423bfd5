// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/json"
	"io"

	"github.com/ironstate/ironstate/states"
)

// WriteJSON writes the diagram as JSON for other tools: the states in Ironic's
// order, and each transition on its own in the order of [states.Table.Transitions].
// The keys change ("added", "removed"), current, taken and link are present only
// where they apply.
//
// A state has its description, in which a blank line separates paragraphs and
// Ironic's words are in backquotes, the tooltip that drawings have, and each word that
// the API accepts in the state: the oldest API version that accepts the word, the
// field that the request requires, the states that it leads through if all work
// succeeds, and the state in which it ends. It returns the errors of
// [Diagram.WriteDOT].
func (d Diagram) WriteJSON(w io.Writer) error {
	return d.write(w, func(m *model) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(m.json())
	})
}

type jsonDiagram struct {
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Series      states.Series    `json:"series"`
	Since       states.Series    `json:"since"`
	APIVersion  string           `json:"api_version"`
	States      []jsonState      `json:"states"`
	Transitions []jsonTransition `json:"transitions"`
	Events      []jsonEvent      `json:"events"`
}

type jsonState struct {
	State       states.State `json:"state"`
	Part        string       `json:"part"`
	Phase       states.Phase `json:"phase"`
	Stable      bool         `json:"stable"`
	Target      states.State `json:"target"`
	Description string       `json:"description"`
	Tooltip     string       `json:"tooltip"`
	Link        string       `json:"link,omitempty"`
	Change      string       `json:"change,omitempty"`
	Current     bool         `json:"current,omitempty"`
	Taken       bool         `json:"taken,omitempty"`

	Requests []jsonRequest `json:"requests"`
}

type jsonRequest struct {
	Verb       string            `json:"verb"`
	APIVersion states.APIVersion `json:"api_version"`
	Requires   string            `json:"requires,omitempty"`
	Through    []states.State    `json:"through"`
	To         states.State      `json:"to"`
	Change     string            `json:"change,omitempty"`
}

type jsonEvent struct {
	Event       states.Event `json:"event"`
	Verbs       []string     `json:"verbs"` // the API's words for the event; empty if only the conductor fires it
	Description string       `json:"description"`
}

type jsonTransition struct {
	From   states.State `json:"from"`
	Event  states.Event `json:"event"`
	To     states.State `json:"to"`
	Cause  string       `json:"cause"`
	Verb   *string      `json:"verb"` // the API's word for the transition; nil if the API takes none
	Change string       `json:"change,omitempty"`
	Taken  bool         `json:"taken,omitempty"`
}

// json returns the document of WriteJSON.
func (m *model) json() jsonDiagram {
	t := m.diagram.Table
	doc := jsonDiagram{
		Title:       m.title,
		Description: m.description,
		Series:      t.Series(),
		Since:       m.diagram.Since.Series(),
		APIVersion:  t.Series().MaxAPIVersion().String(),
		States:      []jsonState{},
		Transitions: []jsonTransition{},
		Events:      []jsonEvent{},
	}
	for _, n := range m.nodes() {
		doc.States = append(doc.States, m.jsonState(n))
	}
	for _, r := range m.rows {
		j := jsonTransition{
			From:   r.From,
			Event:  r.Event,
			To:     r.To,
			Cause:  string(r.cause),
			Change: string(r.change),
			Taken:  r.taken,
		}
		if verb := r.Event.Verb(); r.cause != conductor {
			j.Verb = &verb
		}
		doc.Transitions = append(doc.Transitions, j)
	}
	for _, e := range m.events() {
		doc.Events = append(doc.Events, jsonEvent{e, append([]string{}, m.verbs(e)...), e.Description()})
	}
	return doc
}

// jsonState returns a state with the requests that the API accepts in it.
func (m *model) jsonState(n node) jsonState {
	requests := []jsonRequest{}
	for _, r := range m.requestsOf(n.state) {
		for _, w := range r.words {
			requests = append(requests, jsonRequest{
				Verb:       w.verb,
				APIVersion: w.since,
				Requires:   r.Event.Requires(),
				Through:    append([]states.State{}, r.through...),
				To:         r.to,
				Change:     string(r.change),
			})
		}
	}
	return jsonState{
		State:       n.state,
		Part:        partOf(n.state),
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
