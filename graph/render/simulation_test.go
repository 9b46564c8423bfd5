// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// simulated is the simulation of the page with the states of its numbers.
type simulated struct {
	*simulation
	numbers map[states.State]int
	states  map[int]states.State
}

func newSimulated(t *testing.T) simulated {
	t.Helper()
	s := simulated{numbers: map[states.State]int{}, states: map[int]states.State{-1: states.NoState}}
	for state := range states.AllStates() {
		n := len(s.numbers)
		s.numbers[state], s.states[n] = n, state
	}
	var err error
	s.simulation, err = newSimulation(s.numbers)
	require.NoError(t, err)
	return s
}

func (s simulated) node(n int) machine.Node {
	return machine.Node{State: s.states[s.Nodes[n][0]], Target: s.states[s.Nodes[n][1]]}
}

// Every word of every series has the answer of package states in each state at each version.
func TestTheSimulatedAnswersAreTheTables(t *testing.T) {
	s := newSimulated(t)
	asked, refusals := 0, map[int]int{}
	for series := range states.AllSeries() {
		n := int(series - states.Kilo)
		table, newest := series.Table(), series.MaxAPIVersion()
		expand := strings.NewReplacer("{series}", series.String(), "{max}", newest.String())
		for from := range table.States().All() {
			var row simulatedAnswer
			found := 0
			for _, a := range s.Answers {
				if a.State == s.numbers[from] && a.First <= n && n <= a.Last {
					row = a
					found++
				}
			}
			require.Equal(t, 1, found, "%v in %v", from, series)
			for v := states.APIVersion(1); v <= newest; v++ {
				var current []int
				for _, since := range row.Since {
					if since[0] <= int(v) {
						current = s.Rows[since[1]]
					}
				}
				for i, word := range s.Words {
					got := s.Reasons[current[i]]
					got.Text = expand.Replace(got.Text)
					asked++
					refusals[got.Status]++
					if want := askedOf(table, from, word, v); got != want { // a comparison by require takes half a minute here
						require.Equal(t, want, got, "%v: %s in %v at %v", series, word, from, v)
					}
				}
			}
		}
	}
	require.Greater(t, asked, 100_000)
	require.Len(t, refusals, 3, "202, 400 and 406")
	require.Contains(t, s.Words, "rebuild")
	require.Less(t, len(s.Reasons), 100, "the texts do not depend on the series")
}

// askedOf returns the answer of package states.
func askedOf(t *states.Table, from states.State, word string, v states.APIVersion) answer {
	_, err := t.Request(from, word, v)
	var refused *states.RequestError
	if !errors.As(err, &refused) {
		return answer{Status: 202, Phrase: "Accepted"}
	}
	_, text, _ := strings.Cut(err.Error(), " with API version "+v.String()+": ")
	return answer{refused.HTTPStatus(), http.StatusText(refused.HTTPStatus()), text}
}

// The moves of a node in a series are package machine's, neither more nor less.
func TestTheSimulatedMovesAreTheMachines(t *testing.T) {
	s := newSimulated(t)
	for series := range states.AllSeries() {
		n, table, newest := int(series-states.Kilo), series.Table(), series.MaxAPIVersion()
		moves := map[move]int{} // the numbers of the nodes to which they lead
		reached := map[int]bool{}
		for _, m := range s.Moves {
			if m.First > n || n > m.Last {
				continue
			}
			key := m.move
			key.To = 0
			require.NotContains(t, moves, key, "a move has one result")
			moves[key] = m.To
			reached[m.To] = true
		}
		want := map[move]machine.Node{}
		for from := range table.States().All() {
			want[move{starts, s.numbers[from], 0, 0}] = machine.Node{State: from, Target: table.Target(from)}
		}
		for node := range reached {
			for i, word := range s.Words {
				if next, err := s.node(node).Request(table, word, newest); err == nil {
					want[move{requests, node, i, 0}] = machine.Node{State: next.State, Target: next.Target}
				}
			}
			for event := range states.AllEvents() {
				if next, err := s.node(node).Report(table, event, ""); err == nil {
					want[move{reports, node, int(event) - 1, 0}] = machine.Node{State: next.State, Target: next.Target}
				}
			}
		}
		got := map[move]machine.Node{}
		for m, to := range moves {
			got[m] = s.node(to)
		}
		require.Equal(t, want, got, series)
	}
}
