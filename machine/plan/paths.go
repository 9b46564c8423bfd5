package plan

import (
	"math"

	"github.com/ironstate/ironstate/states"
)

// A weight is what a transition counts for when ways are compared.
type weight func(states.Transition) int64

// What is counted in primary decides between two ways; then what is in secondary,
// then the rest.
const (
	primary   = 1 << 40
	secondary = 1 << 20
)

// likelihood prefers few transitions, then few failures and aborts, then few
// requests.
func likelihood(t *states.Table) weight {
	return func(row states.Transition) int64 { return primary + secondary*failures(row) + requests(t, row) }
}

// brevity prefers few requests, then few failures and aborts, then few
// transitions.
func brevity(t *states.Table) weight {
	return func(row states.Transition) int64 { return primary*requests(t, row) + secondary*failures(row) + 1 }
}

func failures(row states.Transition) int64 {
	switch row.Event {
	case states.EventFail, states.EventError, states.EventAbort:
		return 1
	default:
		return 0
	}
}

func requests(t *states.Table, row states.Transition) int64 {
	if t.IsRequest(row) {
		return 1
	}
	return 0
}

// unreachable is the weight of no way at all.
const unreachable int64 = math.MaxInt64

// An edge is a transition between positions.
type edge struct {
	from, to position
	row      states.Transition
}

// edges returns the transitions as the table has them: a cleaning of either kind
// may end in available or in manageable.
func edges(t *states.Table) []edge {
	var all []edge
	for row := range t.Transitions() {
		all = append(all, edge{position(row.From), position(row.To), row})
	}
	return all
}

// conductorEdges returns the transitions as the conductor makes them: automated
// cleaning ends in available, manual cleaning in manageable.
func (x *index) conductorEdges() []edge {
	var all []edge
	for row := range x.table.Transitions() {
		to, manual := x.manualPosition(row.To)
		if !manual || row.Event != states.EventClean || row.From != states.Manageable {
			to = position(row.To)
		}
		if row.From != states.Cleaning || row.Event != states.EventManage {
			all = append(all, edge{position(row.From), to, row})
		}

		from, manual := x.manualPosition(row.From)
		if !manual || row.Event == states.EventDone {
			continue
		}
		if next, ok := x.manualPosition(row.To); ok {
			to = next
		}
		all = append(all, edge{from, to, row})
	}
	return all
}

// shortestPaths has the path of least weight from every position to a state.
type shortestPaths struct {
	weight [maxPositions]int64
	next   [maxPositions]edge
}

// newShortestPaths weighs the ways to a position, or to any of several. Of two that are
// equal, the one by the earlier edge counts.
func newShortestPaths(edges []edge, weigh weight, to ...position) *shortestPaths {
	c := new(shortestPaths)
	for at := range c.weight {
		c.weight[at] = unreachable
	}
	for _, at := range to {
		c.weight[at] = 0
	}
	for changed := true; changed; {
		changed = false
		for _, l := range edges {
			after := c.weight[l.to]
			if after != unreachable && after+weigh(l.row) < c.weight[l.from] {
				c.weight[l.from], c.next[l.from] = after+weigh(l.row), l
				changed = true
			}
		}
	}
	return c
}

// way returns the lightest way from a position, which must have one.
func (c *shortestPaths) path(from position) []states.Transition {
	var way []states.Transition
	for c.weight[from] > 0 {
		way = append(way, c.next[from].row)
		from = c.next[from].to
	}
	return way
}
