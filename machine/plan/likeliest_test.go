// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// score counts the events that make a history less likely, the most significant first.
type score struct{ transitions, failures, requests int }

func (s score) compare(other score) int {
	return cmp.Or(cmp.Compare(s.transitions, other.transitions), cmp.Compare(s.failures, other.failures),
		cmp.Compare(s.requests, other.requests))
}

func (s score) and(table *states.Table, row states.Transition) score {
	s.transitions++
	switch row.Event {
	case states.EventFail, states.EventError, states.EventAbort:
		s.failures++
	}
	if table.IsRequest(row) {
		s.requests++
	}
	return s
}

// likeliest returns, for each state, the best score of all walks to it from a state.
func likeliest(table *states.Table, from states.State) map[states.State]score {
	best := map[states.State]score{from: {}}
	for queue := []states.State{from}; len(queue) > 0; queue = queue[1:] {
		for event := range table.Events(queue[0]) {
			to, _ := table.Next(queue[0], event)
			s := best[queue[0]].and(table, states.Transition{From: queue[0], Event: event, To: to})
			if known, ok := best[to]; !ok || s.compare(known) < 0 {
				best[to] = s
				queue = append(queue, to)
			}
		}
	}
	return best
}

func TestNoOtherHistoryIsLikelier(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for from := range table.States().All() {
			for to, want := range likeliest(table, from) {
				gaps, err := plan.Explain(table, []states.State{from, to})
				require.NoError(t, err)
				var got score
				for _, row := range gaps[0] {
					got = got.and(table, row)
				}
				require.Equal(t, want, got, "%v: from %v to %v", series, from, to)
			}
		}
	}
}
