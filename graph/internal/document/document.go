// SPDX-License-Identifier: Apache-2.0

// Package document has the document that package graph writes as JSON and package render reads.
package document

import "github.com/ironstate/ironstate/states"

// Diagram is the document.
type Diagram struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Series      states.Series `json:"series"`
	Since       states.Series `json:"since"`
	APIVersion  string        `json:"api_version"`
	States      []State       `json:"states"`
	Transitions []Transition  `json:"transitions"`
	Events      []Event       `json:"events"`
}

// State is a state with the requests that the API accepts in it.
type State struct {
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

	Requests []Request `json:"requests"`
}

// Request is a word of the API, the oldest API version that accepts it, and where it leads if all work succeeds.
type Request struct {
	Verb       string            `json:"verb"`
	APIVersion states.APIVersion `json:"api_version"`
	Requires   string            `json:"requires,omitempty"`
	Through    []states.State    `json:"through"`
	To         states.State      `json:"to"`
	Change     string            `json:"change,omitempty"`
}

// Event is an event of the state machine.
type Event struct {
	Event       states.Event `json:"event"`
	Verbs       []string     `json:"verbs"` // the API's words for the event; empty if only the conductor fires it
	Description string       `json:"description"`
}

// Transition is a row of the state machine, with one state that it leaves.
type Transition struct {
	From   states.State `json:"from"`
	Event  states.Event `json:"event"`
	To     states.State `json:"to"`
	Cause  string       `json:"cause"`
	Verb   *string      `json:"verb"` // the API's word for the transition; nil if the API takes none
	Change string       `json:"change,omitempty"`
	Taken  bool         `json:"taken,omitempty"`
}
