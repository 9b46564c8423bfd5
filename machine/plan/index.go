// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"sync"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// The sizes of the arrays: powers of two, which save bounds checks, with room for
// every state, and for the positions of manual cleaning above them.
const (
	maxStates    = 64
	maxEvents    = 32
	maxPositions = 128
	manualOffset = position(maxStates)
)

// A position is a state as the planner sees it: the number of the state,
// manualOffset above it for a manual cleaning, which ends in manageable, or uncleaned.
type position uint8

// uncleaned is the position of a tear-down whose automated cleaning fails as it begins.
const uncleaned = position(states.Deleting) + manualOffset

// An index holds the data derived from a series' table. It is built once, on the
// first call for the series.
type index struct {
	once     sync.Once
	table    *states.Table
	highest  states.APIVersion
	manual   bool // the series has manual cleaning
	phases   [maxStates]states.Phase
	ends     [maxPositions]states.State // where a position's work ends if it succeeds; the state itself if it is stable or failed
	reach    [maxStates]states.Set      // the states up to stable and failed ones that a node reaches without a request
	requests []request
	plans    []versionPlans
	byAPI    []*versionPlans // by API version, from 1
}

// A request is a transition that a request to the series' API starts.
type request struct {
	from  states.State
	event states.Event
	to    position
	since states.APIVersion // the oldest version that accepts it
}

// versionPlans holds the routes for the API versions that accept the same requests.
type versionPlans struct {
	routes map[Goal]*goalRoutes
}

// goalRoutes holds the routes to a goal for the policies that keep a workload, and for those that may destroy it.
type goalRoutes struct {
	keeping, destroying routes
}

// route returns the route from a position to a goal.
func (p *versionPlans) route(g Goal, destroys bool, at position) route {
	if destroys {
		return p.routes[g].destroying[at]
	}
	return p.routes[g].keeping[at]
}

var indexes = make([]index, states.Latest()+1)

// verbs holds the API's word for each event that can be requested.
var verbs = func() (words [maxEvents]string) {
	for e := range states.AllEvents() {
		words[e] = e.Verb()
	}
	return words
}()

// indexOf returns the index of a table, which must have states.
func indexOf(t *states.Table) *index {
	x := &indexes[t.Series()]
	x.once.Do(func() { x.build(t) })
	return x
}

func (x *index) build(t *states.Table) {
	x.table = t
	x.highest = t.Series().MaxAPIVersion()
	_, x.manual = t.Next(states.Cleaning, states.EventManage)
	for s := range t.States().All() {
		x.phases[s], x.ends[s] = t.Phase(s), s
		if !x.idle(s) {
			x.ends[s] = t.Target(s)
		}
		if at, ok := x.manualPosition(s); ok {
			x.ends[at] = states.Manageable
		}
	}
	x.ends[uncleaned] = states.CleanFail
	for s := range t.States().All() {
		x.reach[s] = x.reachable(s)
	}
	var sinces []states.APIVersion
	for row := range t.Transitions() {
		r, ok := x.requestOf(row)
		if ok {
			x.requests = append(x.requests, r)
			sinces = append(sinces, r.since)
		}
	}
	slices.Sort(sinces)
	x.addPlans(slices.Compact(append([]states.APIVersion{1}, sinces...)))
}

// idle reports whether no work is in progress in a state, so that a node stays in it until a
// request moves it.
func (x *index) idle(s states.State) bool {
	return x.phases[s] == states.PhaseStable || x.phases[s] == states.PhaseFailed
}

// reachable returns the states that a node can reach from s without a request or by an
// unhold: s, and all states up to and including the first idle ones.
func (x *index) reachable(s states.State) states.Set {
	seen := states.SetOf(s)
	for queue := []states.State{s}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		for e := range x.table.Events(from) {
			to, _ := x.table.Next(from, e)
			requested := x.table.IsRequest(states.Transition{From: from, Event: e, To: to}) && e != states.EventUnhold
			if !x.idle(from) && !requested && !seen.Has(to) {
				seen = seen.Union(states.SetOf(to))
				queue = append(queue, to)
			}
		}
	}
	return seen
}

// requestOf returns the request for a transition, if any API version of the series
// accepts one.
func (x *index) requestOf(row states.Transition) (request, bool) {
	if !x.table.IsRequest(row) {
		return request{}, false
	}
	verb := verbs[row.Event]
	after, err := machine.Node{State: row.From}.Request(x.table, verb, x.highest)
	if err != nil {
		return request{}, false
	}
	return request{row.From, row.Event, x.positionOf(after, false), x.table.OldestAPI(row.From, verb)}, true
}

// addPlans computes the plans that hold from each of the API versions on.
func (x *index) addPlans(begins []states.APIVersion) {
	x.plans = make([]versionPlans, len(begins))
	x.byAPI = make([]*versionPlans, x.highest+1)
	for n, begin := range begins {
		for v := int(begin); v < len(x.byAPI); v++ {
			x.byAPI[v] = &x.plans[n]
		}
		var taken []request
		for _, r := range x.requests {
			if r.since <= begin {
				taken = append(taken, r)
			}
		}
		x.plans[n].routes = make(map[Goal]*goalRoutes, len(goals))
		for _, g := range goals {
			x.plans[n].routes[g] = x.plan(g, taken)
		}
	}
}

// positionOf returns the position of a node. The automated cleaning of a retired node ends in manageable, as a manual
// one does.
func (x *index) positionOf(n machine.Node, retired bool) position {
	if n.Target == states.Manageable || retired {
		if at, ok := x.manualPosition(n.State); ok {
			return at
		}
	}
	return position(n.State)
}

// positionWith returns the position of a node with these fields. The tear-down of a retired node leads to a cleaning.
func (x *index) positionWith(n machine.Node, f *NodeFields) position {
	switch {
	case n.State != states.Deleting:
	case x.cleaningFails(f):
		return uncleaned
	case f.Retired && !f.NoAutomatedClean:
		n.State = states.Cleaning
	}
	return x.positionOf(n, f.Retired)
}

// manualPosition returns the position of a manual cleaning in a state; ok is false if
// the state is not one of cleaning, or the series has no manual cleaning.
func (x *index) manualPosition(s states.State) (at position, ok bool) {
	return position(s) + manualOffset, x.manual && s.Work() == states.WorkClean && !x.idle(s)
}
