package plan

import (
	"sync"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Explain returns what most likely happened to a node whose provision states
// were seen by polling, with gaps: for each observation after the first, the
// transitions since the one before, none where nothing need have happened.
// [slices.Concat] makes one history of them.
//
// The likeliest history is the one with the fewest transitions; of those, the one
// in which the fewest end in failure or abort; of those, the one with the fewest
// requests; of those, the one whose transitions come first in the table. So the
// answer is always the same. Stored targets are not among what is seen: a cleaning
// may have ended in available or in manageable.
//
// The error is an [*ImpossibleError] for the first observation that cannot come
// after those before it or that the table does not have, and
// [machine.ErrNoTable].
func Explain(t *states.Table, seen []states.State) ([][]states.Transition, error) {
	return explain(t, seen, func(s states.State) states.Set { return states.SetOf(s).Intersect(t.States()) })
}

// ExplainShown is Explain for what a client of an API version was shown
// ([states.APIVersion.Show]): below 1.2 null stands for available, below 1.39
// inspecting for inspect wait too. NoAPIVersion is the highest of the series.
// A version that the series does not speak is a [*VersionError].
func ExplainShown(t *states.Table, v states.APIVersion, seen []states.State) ([][]states.Transition, error) {
	if t == nil {
		return nil, machine.ErrNoTable
	}
	highest := t.Series().MaxAPIVersion()
	if v == states.NoAPIVersion {
		v = highest
	}
	if v > highest {
		return nil, &VersionError{Series: t.Series(), Version: v, Maximum: highest}
	}
	return explain(t, seen, func(shown states.State) states.Set {
		var set states.Set
		for s := range t.States().All() {
			if v.Show(s) == shown {
				set = set.Union(states.SetOf(s))
			}
		}
		return set
	})
}

// An atlas has the likeliest ways between any two states of a series.
type atlas struct {
	once sync.Once
	to   [maxStates]*compass
}

var atlases = make([]atlas, states.Latest()+1)

func atlasOf(t *states.Table) *atlas {
	a := &atlases[t.Series()]
	a.once.Do(func() {
		legs := legs(t)
		for s := range t.States().All() {
			a.to[s] = newCompass(legs, likely, place(s))
		}
	})
	return a
}

// A stay is a state that a node may have been in when it was observed.
type stay struct {
	weight int64        // of the likeliest history up to it
	after  states.State // the state at the observation before, in that history
}

// explain finds the likeliest history for observations that stand for sets of
// states.
func explain(t *states.Table, seen []states.State, stands func(states.State) states.Set) ([][]states.Transition, error) {
	if t == nil {
		return nil, machine.ErrNoTable
	}
	ways := atlasOf(t)
	stays := make([]map[states.State]stay, len(seen))
	for i, s := range seen {
		stays[i] = make(map[states.State]stay)
		for to := range stands(s).All() {
			if i == 0 {
				stays[0][to] = stay{}
			} else if best := ways.arrive(stays[i-1], to); best.weight != unreachable {
				stays[i][to] = best
			}
		}
		if len(stays[i]) == 0 {
			return nil, impossible(t, seen, i, stands(s))
		}
	}
	return ways.retrace(stays), nil
}

// arrive returns the likeliest stay in a state after one of the stays before.
func (a *atlas) arrive(before map[states.State]stay, to states.State) stay {
	best := stay{weight: unreachable}
	for from := range states.AllStates() {
		here, ok := before[from]
		if !ok || a.to[to].weight[from] == unreachable {
			continue
		}
		if weight := here.weight + a.to[to].weight[from]; weight < best.weight {
			best = stay{weight, from}
		}
	}
	return best
}

// retrace returns the ways of the likeliest history, found from its end.
func (a *atlas) retrace(stays []map[states.State]stay) [][]states.Transition {
	if len(stays) < 2 {
		return nil
	}
	last, best := len(stays)-1, unreachable
	var at states.State
	for s := range states.AllStates() {
		if here, ok := stays[last][s]; ok && here.weight < best {
			at, best = s, here.weight
		}
	}
	gaps := make([][]states.Transition, last)
	for i := last; i > 0; i-- {
		from := stays[i][at].after
		gaps[i-1] = a.to[at].way(place(from))
		at = from
	}
	return gaps
}

// impossible says why the observation of an index is; it stands for the states of
// a set.
func impossible(t *states.Table, seen []states.State, index int, set states.Set) error {
	e := &ImpossibleError{Series: t.Series(), Index: index, To: seen[index]}
	if index > 0 {
		e.From = seen[index-1]
	}
	for to := range set.All() {
		for from := range t.States().All() {
			if atlasOf(t).to[to].weight[from] != unreachable {
				e.Before = e.Before.Union(states.SetOf(from))
			}
		}
	}
	return e
}
