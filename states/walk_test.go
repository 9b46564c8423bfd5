// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/states"
)

// knowledge is all that a table, or upstream's source, says of a node in one state.
type knowledge struct {
	State, Target string
	Stable        bool
	Sets          []string
	Next          map[string]string // by event
}

// knowledge returns what upstream's source says of each of its states.
func (f facts) knowledge() map[string]knowledge {
	all := make(map[string]knowledge)
	for word, state := range f.States {
		k := knowledge{State: word, Target: wordOf(state.Target), Stable: state.Stable, Next: make(map[string]string)}
		for name := range sets {
			if slices.ContainsFunc(f.Sets[name], func(member *string) bool { return wordOf(member) == word }) {
				k.Sets = append(k.Sets, name)
			}
		}
		slices.Sort(k.Sets)
		all[word] = k
	}
	for _, row := range f.Transitions {
		all[row[0]].Next[row[1]] = row[2]
	}
	return all
}

// A walker is a node that follows a series' table beside a model, the node of upstream's source.
type walker struct {
	table  *states.Table
	facts  facts
	known  map[string]knowledge
	oracle oracle
	node   states.State
	model  string
}

func newWalker(t *testing.T, table *states.Table) *walker {
	facts := readFacts(t)[table.Series().String()]
	return &walker{table: table, facts: facts, known: facts.knowledge(), oracle: newOracle(t, table.Series(), facts)}
}

// create puts the node where the API creates it.
func (w *walker) create() {
	w.node = states.Enroll
	if w.table.Series() == states.Kilo {
		w.node = states.Available
	}
	w.model = w.node.String()
}

// fire fires an event, legal or not: an event without a row leaves the node in its state.
func (w *walker) fire(event states.Event) {
	if to, ok := w.table.Next(w.node, event); ok {
		w.node = to
	}
	if to, ok := w.known[w.model].Next[event.String()]; ok {
		w.model = to
	}
}

// ask compares the API's answer to a word with the oracle's, and returns the event of an accepted word.
func (w *walker) ask(t *rapid.T, word string, version int) states.Event {
	event, err := w.table.Request(w.node, word, states.APIVersion(version))
	ruling := w.oracle.rule(w.model, word)
	if _, refusal := ruling.status(version); refusal != nil {
		require.ErrorIs(t, err, refusal)
		return states.NoEvent
	}
	require.NoError(t, err)
	require.Equal(t, ruling.event, event.String(), "%q at 1.%d", word, version)
	return event
}

// versions returns the API versions at the minimums of words and at the series' maximum.
func (o oracle) versions() []int {
	versions := []int{0, o.maximum, o.maximum + 1}
	for _, m := range wordMinimums {
		versions = append(versions, m.minimum-1, m.minimum)
	}
	for _, m := range lateMinimums {
		versions = append(versions, m.minimum-1, m.minimum)
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// look compares what the table says of the node's state with what upstream's source says of the model's.
func (w *walker) look(t *rapid.T) {
	got := knowledge{
		State: w.node.String(), Target: w.table.Target(w.node).String(), Stable: w.table.Stable().Has(w.node), Next: make(map[string]string),
	}
	for name, set := range sets {
		if _, ok := w.facts.Sets[name]; ok && set(w.table).Has(w.node) {
			got.Sets = append(got.Sets, name)
		}
	}
	slices.Sort(got.Sets)
	for event := range states.AllEvents() {
		if to, ok := w.table.Next(w.node, event); ok {
			got.Next[event.String()] = to.String()
		}
	}
	require.Equal(t, w.known[w.model], got)
}

// follow goes the shortest way to a set of states by the rows of the table that it may use.
func (w *walker) follow(t *rapid.T, to states.Set, may func(states.Transition) bool) {
	by := map[states.State]states.Transition{} // how a state was found
	for queue := []states.State{w.node}; len(queue) > 0; queue = queue[1:] {
		if to.Has(queue[0]) {
			var way []states.Transition
			for at := queue[0]; at != w.node; at = by[at].From {
				way = append(way, by[at])
			}
			for _, row := range slices.Backward(way) {
				w.fire(row.Event)
				w.look(t)
			}
			return
		}
		for row := range w.table.Transitions() {
			if row.From != queue[0] || row.To == w.node || !may(row) {
				continue
			}
			if _, found := by[row.To]; !found {
				by[row.To] = row
				queue = append(queue, row.To)
			}
		}
	}
	t.Fatalf("no way from %v to %v", w.node, to)
}

// A node walks as upstream's source leads it, whatever is reported and requested, and can come to each state.
func TestNodesWalkAsUpstreams(t *testing.T) {
	words := requestWords()
	verbs := slices.Sorted(maps.Keys(actions))
	events := append(slices.Collect(states.AllEvents()), states.NoEvent, 99)
	anyRow := func(states.Transition) bool { return true }
	eachTable(t, func(t *testing.T, table *states.Table) {
		w := newWalker(t, table)
		versions := w.oracle.versions()
		all := slices.Sorted(maps.Keys(w.known))
		rapid.Check(t, func(t *rapid.T) {
			w.create()
			t.Repeat(map[string]func(*rapid.T){
				"": w.look,
				"event": func(t *rapid.T) {
					w.fire(rapid.SampledFrom(events).Draw(t, "event"))
				},
				"legal event": func(t *rapid.T) {
					w.fire(rapid.SampledFrom(slices.Collect(table.Events(w.node))).Draw(t, "event"))
				},
				"request": func(t *rapid.T) {
					version := rapid.SampledFrom(versions).Draw(t, "version")
					for _, verb := range verbs {
						w.ask(t, verb, version)
					}
					word := rapid.OneOf(rapid.SampledFrom(verbs), rapid.SampledFrom(words)).Draw(t, "word")
					w.fire(w.ask(t, word, version))
				},
				"a new node comes to any state": func(t *rapid.T) {
					w.create()
					state, err := states.Parse(rapid.SampledFrom(all).Draw(t, "state"))
					require.NoError(t, err)
					w.follow(t, states.SetOf(state), anyRow)
				},
				"a node comes to any stable state that is no failure's": func(t *rapid.T) {
					stable := table.Stable().Minus(states.SetOf(states.Enroll, states.Error))
					w.follow(t, states.SetOf(rapid.SampledFrom(slices.Collect(stable.All())).Draw(t, "state")), anyRow)
				},
				"the conductor brings a node to a stable state, after a request if it waits for one": func(t *rapid.T) {
					from := w.node
					waits := table.Failed().Union(table.Hold()).Union(table.Waiting()).Has(from)
					w.follow(t, table.Stable(), func(row states.Transition) bool { return byConductor(row) || waits && row.From == from })
				},
			})
		})
	})
}
