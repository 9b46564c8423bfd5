// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"io"

	"github.com/ironstate/ironstate/states"
)

// WriteXState writes the machine as the configuration of an XState machine, in JSON: Stately's viewer imports it, and
// the XState library's createMachine takes it. The states have Ironic's words and descriptions, and the tag "stable" or
// "failed". A transition that the API takes a request for has the API's word and "request" or "both" in its meta, one
// of the conductor alone has "conductor".
//
// The initial state is Current, or else From, or else the state of new nodes. Transitions and states that Since has
// and Table lacks are left out, and Path has no effect. It returns the errors of [Diagram.WriteDOT].
//
// Source: https://stately.ai/docs/machines.
func (d Diagram) WriteXState(w io.Writer) error {
	return d.write(func(m *model) error { return encode(w, m.xstate()) })
}

type xstateMachine struct {
	ID          string                        `json:"id"`
	Description string                        `json:"description"`
	Initial     states.State                  `json:"initial"`
	States      map[states.State]*xstateState `json:"states"`
}

type xstateState struct {
	Description string                            `json:"description"`
	Tags        []string                          `json:"tags,omitempty"`
	On          map[states.Event]xstateTransition `json:"on,omitempty"`
}

type xstateTransition struct {
	Target states.State `json:"target"`
	Meta   xstateMeta   `json:"meta"`
}

type xstateMeta struct {
	Cause cause  `json:"cause"`
	Verb  string `json:"verb,omitempty"` // the API's word
}

// xstate returns the document of WriteXState.
func (m *model) xstate() xstateMachine {
	all := make(map[states.State]*xstateState)
	for _, n := range m.nodes() {
		if n.change == removed {
			continue
		}
		s := &xstateState{Description: n.description, On: make(map[states.Event]xstateTransition)}
		if n.stable {
			s.Tags = append(s.Tags, "stable")
		}
		if n.phase == states.PhaseFailed {
			s.Tags = append(s.Tags, "failed")
		}
		all[n.state] = s
	}
	for _, r := range m.rows {
		if r.change == removed {
			continue
		}
		all[r.From].On[r.Event] = xstateTransition{r.To, xstateMeta{r.cause, r.verb()}}
	}
	return xstateMachine{m.title, m.description, m.initial(all), all}
}

// initial returns the first of the states in which a node may begin that the document has.
func (m *model) initial(all map[states.State]*xstateState) states.State {
	d := m.diagram
	first := []states.State{d.Current, d.From, d.Table.Series().MaxAPIVersion().InitialState()}
	for _, n := range m.nodes() {
		first = append(first, n.state)
	}
	for _, s := range first {
		if all[s] != nil {
			return s
		}
	}
	return states.NoState
}
