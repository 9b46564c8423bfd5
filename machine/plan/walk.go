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

// likely prefers what takes few transitions, then what takes few failures and
// aborts, then what takes few requests.
func likely(row states.Transition) int64 {
	return primary + secondary*failures(row) + requests(row)
}

// short prefers what takes few requests, then what takes few failures and aborts,
// then what takes few transitions.
func short(row states.Transition) int64 {
	return primary*requests(row) + secondary*failures(row) + 1
}

func failures(row states.Transition) int64 {
	switch row.Event {
	case states.EventFail, states.EventError, states.EventAbort:
		return 1
	default:
		return 0
	}
}

func requests(row states.Transition) int64 {
	if asked(row.From, row.Event) {
		return 1
	}
	return 0
}

// unreachable is the weight of no way at all.
const unreachable int64 = math.MaxInt64

// A leg is a transition between places.
type leg struct {
	from, to place
	row      states.Transition
}

// legs returns the transitions as the table has them: a cleaning of either kind
// may end in available or in manageable.
func legs(t *states.Table) []leg {
	var all []leg
	for row := range t.Transitions() {
		all = append(all, leg{place(row.From), place(row.To), row})
	}
	return all
}

// strictLegs returns the transitions as the conductor makes them: automated
// cleaning ends in available, manual cleaning in manageable.
func (b *book) strictLegs() []leg {
	var all []leg
	for row := range b.table.Transitions() {
		to, manual := b.manually(row.To)
		if !manual || row.Event != states.EventClean || row.From != states.Manageable {
			to = place(row.To)
		}
		if row.From != states.Cleaning || row.Event != states.EventManage {
			all = append(all, leg{place(row.From), to, row})
		}

		from, manual := b.manually(row.From)
		if !manual || row.Event == states.EventDone {
			continue
		}
		if next, ok := b.manually(row.To); ok {
			to = next
		}
		all = append(all, leg{from, to, row})
	}
	return all
}

// A compass shows the lightest way from every place to a state.
type compass struct {
	weight [maxPlaces]int64
	next   [maxPlaces]leg
}

// newCompass weighs the ways to a place, or to any of several. Of two that are
// equal, the one by the earlier leg counts.
func newCompass(legs []leg, weigh weight, to ...place) *compass {
	c := new(compass)
	for at := range c.weight {
		c.weight[at] = unreachable
	}
	for _, at := range to {
		c.weight[at] = 0
	}
	for changed := true; changed; {
		changed = false
		for _, l := range legs {
			after := c.weight[l.to]
			if after != unreachable && after+weigh(l.row) < c.weight[l.from] {
				c.weight[l.from], c.next[l.from] = after+weigh(l.row), l
				changed = true
			}
		}
	}
	return c
}

// way returns the lightest way from a place, which must have one.
func (c *compass) way(from place) []states.Transition {
	var way []states.Transition
	for c.weight[from] > 0 {
		way = append(way, c.next[from].row)
		from = c.next[from].to
	}
	return way
}
