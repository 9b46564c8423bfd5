package plan

import (
	"slices"
	"sort"
	"sync"

	"github.com/ironstate/ironstate/states"
)

// Sizes of the lookups: powers of two with room for every state, and for the
// places of manual cleaning above.
const (
	maxStates = 64
	maxEvents = 32
	maxPlaces = 64
	byHand    = place(40)
)

// A place is where a node is, as far as the way on depends on it: the number of
// its state, or byHand above it where cleaning is a manual one and so ends in
// manageable.
type place uint8

// A kind says who moves a node on from a state.
type kind uint8

const (
	absent  kind = iota // no one: the series has no such state
	resting             // a request
	working             // the conductor
	held                // a person, by unhold
)

// A book is what is known of a series' table, worked out once.
type book struct {
	once     sync.Once
	table    *states.Table
	highest  states.APIVersion
	manual   bool // the series has manual cleaning
	kinds    [maxStates]kind
	ends     [maxPlaces]states.State // where the work of a place ends if it succeeds; a resting place is its own
	waiting  states.Set
	stable   states.Set
	failed   states.Set            // those that stand for failed work, error included
	reach    [maxStates]states.Set // what the conductor alone may lead through from a state, to where it rests
	requests []request
	editions []edition
	edition  []*edition // by API version
}

// A request is one that the series' API takes.
type request struct {
	from  states.State
	event states.Event
	to    place
	since states.APIVersion // the oldest version that has it
}

// An edition is the plans of the API versions that take the same requests.
type edition struct {
	plans [numGoals][2]hops // the second where a workload may be destroyed
}

// hop returns what to send from a place to reach a goal.
func (e *edition) hop(g Goal, destroys bool, at place) hop {
	ways := &e.plans[g]
	if destroys {
		return ways[1][at]
	}
	return ways[0][at]
}

var books = make([]book, states.Latest()+1)

// verbs has the word of each event that can be asked for.
var verbs = func() (words [maxEvents]string) {
	for e := range states.AllEvents() {
		words[e] = e.Verb()
	}
	return words
}()

// bookOf returns the book of a table, which must have states.
func bookOf(t *states.Table) *book {
	b := &books[t.Series()]
	b.once.Do(func() { b.write(t) })
	return b
}

func (b *book) write(t *states.Table) {
	b.table, b.waiting, b.stable = t, t.Waiting(), t.Stable()
	b.failed = t.Failed().Union(states.SetOf(states.Error).Intersect(t.States()))
	b.highest = t.Series().MaxAPIVersion()
	_, b.manual = t.Next(states.Cleaning, states.EventManage)
	for s := range t.States().All() {
		b.writeState(s)
	}
	var sinces []states.APIVersion
	for row := range t.Transitions() {
		r, ok := b.requestOf(row)
		if ok {
			b.requests = append(b.requests, r)
			sinces = append(sinces, r.since)
		}
	}
	slices.Sort(sinces)
	b.writeEditions(slices.Compact(append([]states.APIVersion{1}, sinces...)))
}

func (b *book) writeState(s states.State) {
	t := b.table
	b.ends[s] = t.Target(s)
	switch {
	case t.Unstable().Has(s):
		b.kinds[s] = working
	case t.Held().Has(s):
		b.kinds[s] = held
	default:
		b.kinds[s] = resting
		b.ends[s] = s
	}
	if at, ok := b.manually(s); ok {
		b.ends[at] = states.Manageable
	}
	b.reach[s] = ledThrough(t, s)
}

// ledThrough returns the states through which the conductor alone may lead a
// node that is at work in s, s and those that it rests in included.
func ledThrough(t *states.Table, s states.State) states.Set {
	seen := states.SetOf(s)
	for todo := []states.State{s}; len(todo) > 0; {
		from := todo[0]
		todo = todo[1:]
		if !t.Unstable().Has(from) && !t.Held().Has(from) {
			continue
		}
		for e := range t.Events(from) {
			to, _ := t.Next(from, e)
			if (!asked(from, e) || e == states.EventUnhold) && !seen.Has(to) {
				seen = seen.Union(states.SetOf(to))
				todo = append(todo, to)
			}
		}
	}
	return seen
}

// asked reports whether an event out of a state is a request: the conductor fires
// two events of that kind itself, clean in deleting and manage in cleaning.
func asked(from states.State, e states.Event) bool {
	return e < maxEvents && verbs[e] != "" && from != states.Deleting && from != states.Cleaning
}

// requestOf returns the row as a request, if any API version of the series takes
// it. A version that takes one is followed by none that refuses it.
func (b *book) requestOf(row states.Transition) (request, bool) {
	if !asked(row.From, row.Event) {
		return request{}, false
	}
	highest := int(b.highest)
	refusals := sort.Search(highest, func(n int) bool {
		_, err := b.table.Request(row.From, verbs[row.Event], states.APIVersion(n+1))
		return err == nil
	})
	to := place(row.To)
	if row.Event == states.EventClean {
		to += byHand
	}
	return request{row.From, row.Event, to, states.APIVersion(refusals + 1)}, refusals < highest
}

// writeEditions has an edition begin at each of the versions.
func (b *book) writeEditions(begins []states.APIVersion) {
	b.editions = make([]edition, len(begins))
	b.edition = make([]*edition, b.highest+1)
	for n, begin := range begins {
		for v := int(begin); v < len(b.edition); v++ {
			b.edition[v] = &b.editions[n]
		}
		var taken []request
		for _, r := range b.requests {
			if r.since <= begin {
				taken = append(taken, r)
			}
		}
		for g := Enrolled; g < numGoals; g++ {
			b.plan(&b.editions[n].plans[g], g, taken)
		}
	}
}

// at returns the place of a node.
func (b *book) at(s, target states.State) place {
	if target == states.Manageable {
		if at, ok := b.manually(s); ok {
			return at
		}
	}
	return place(s)
}

// manually returns the place of a manual cleaning in a state, if there is one.
func (b *book) manually(s states.State) (place, bool) {
	return place(s) + byHand, b.manual && workOf[s] == Cleaning && b.kinds[s] != resting
}
