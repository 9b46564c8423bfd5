// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// An apiRequest is a request of the API in one state: the words for it, and where it leads if all work succeeds.
type apiRequest struct {
	row
	words   []word
	through []states.State // states in which the conductor works
	to      states.State   // state in which the work ends
}

// A word is a target of the API, with the oldest version that accepts it.
type word struct {
	verb  string
	since states.APIVersion
}

// requestsOf returns the requests among the rows of a model out of a state.
func (m *model) requestsOf(s states.State) []apiRequest {
	var found []apiRequest
	for _, r := range m.rows {
		if r.From != s || r.cause == conductor {
			continue
		}
		t := m.tableOf(r.change)
		through, to := course(t, r.Transition)
		found = append(found, apiRequest{row: r, words: wordsFor(t, r.Transition), through: through, to: to})
	}
	return found
}

// wordsFor returns the words that the API of a series accepts for a transition.
func wordsFor(t *states.Table, row states.Transition) []word {
	var words []word
	for verb := range t.Requests(row.From, t.Series().MaxAPIVersion()) {
		if event, err := states.ParseVerb(verb); err != nil || event != row.Event {
			continue
		}
		words = append(words, word{verb, t.OldestAPI(row.From, verb)})
	}
	return words
}

// course returns the states that a request leads through if all work succeeds, and the state in which the work ends.
func course(t *states.Table, row states.Transition) (through []states.State, to states.State) {
	node, err := machine.Node{State: row.From}.Request(t, row.Event.Verb(), t.Series().MaxAPIVersion())
	if err != nil {
		return nil, row.To
	}
	if node.State != row.To { // the request moved the node by two transitions
		through = append(through, row.To)
	}
	for next := plan.Succeed(t, node); next != node; next = plan.Succeed(t, node) {
		through = append(through, node.State)
		node = next
	}
	return through, node.State
}

// events returns the events of the model's transitions, in the order of [states.AllEvents].
func (m *model) events() []states.Event {
	var found []states.Event
	for e := range states.AllEvents() {
		if slices.ContainsFunc(m.rows, func(r row) bool { return r.Event == e }) {
			found = append(found, e)
		}
	}
	return found
}

// words returns the words that the API accepts for an event in any state, each with the oldest version that accepts it
// in any.
func (m *model) words(e states.Event) []word {
	var all []word
	for _, r := range m.rows {
		if r.Event != e {
			continue
		}
		for _, w := range wordsFor(m.tableOf(r.change), r.Transition) {
			if i := slices.IndexFunc(all, func(known word) bool { return known.verb == w.verb }); i >= 0 {
				all[i].since = min(all[i].since, w.since)
			} else {
				all = append(all, w)
			}
		}
	}
	return all
}

// tableOf returns the table that has the rows with a change: the older one for removed rows, otherwise the newer one.
func (m *model) tableOf(c change) *states.Table {
	if c == removed {
		return m.diagram.Since
	}
	return m.diagram.Table
}
