// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// routes has the route from each position to a goal.
type routes [maxPositions]route

// A route is the first request on the shortest path from a position to a goal, and the
// length of the path. If work is in progress or on hold, the request ends the work,
// if that is better than waiting for the work to end.
type route struct {
	event    states.Event // NoEvent if there is nothing to request
	starts   states.Work  // the work that the event starts
	redoes   states.Work  // the work that has failed in the position and that the path repeats
	left     uint8        // the number of requests to the goal, after the work in progress has succeeded; noPath if there is no path
	ended    uint8        // the number of requests to the goal after event has ended the work in progress
	destroys bool         // the event destroys the workload that a node in the position may carry
}

const (
	noPath  = 255
	longest = 16 // no route has more requests
)

// preference decides between routes of equal length, after the events that start the
// goal's own work: progress before repeated work, and destruction last.
var preference = []states.Event{
	states.EventManage, states.EventProvide, states.EventDeploy, states.EventRebuild, states.EventInspect,
	states.EventClean, states.EventAdopt, states.EventUnrescue, states.EventAbort, states.EventRescue,
	states.EventService, states.EventUnhold, states.EventDelete,
}

// A planner computes the routes to one goal, from the goal backwards.
type planner struct {
	*index
	*routes
	goal     Goal
	row      *goalRow
	requests []request // the preferred first
	destroys bool      // whether a workload may be destroyed
}

// plan computes the routes to a goal that destroy no workload, and then, for the
// positions without one, those that do.
func (x *index) plan(g Goal, requests []request) *goalRoutes {
	all := new(goalRoutes)
	row := goalRows[g]
	order := append(slices.Clone(row.startedBy), preference...)
	requests = slices.SortedStableFunc(slices.Values(requests), func(a, b request) int {
		return cmp.Compare(slices.Index(order, a.event), slices.Index(order, b.event))
	})
	p := planner{index: x, routes: &all.keeping, goal: g, row: row, requests: requests}
	for at := range p.routes {
		p.routes[at].left = noPath
	}
	for s := range row.reachedIn(x.table).All() {
		if x.idle(s) {
			p.routes[s].left = 0
		}
	}
	p.planIdle()
	p.planWorking()

	all.destroying = all.keeping
	p.routes, p.destroys = &all.destroying, true
	p.planIdle()
	p.planWorking()
	return all
}

// planIdle computes the routes from the idle states, the nearest to the goal first.
func (p *planner) planIdle() {
	for left := uint8(1); left <= longest; left++ {
		for _, r := range p.requests {
			here := &p.routes[r.from]
			if p.idle(r.from) && here.left == noPath && p.length(r) == left && p.permits(r) {
				*here = route{event: r.event, starts: p.workOf(r), left: left, destroys: p.destroysWith(r)}
			}
		}
	}
	for s := range p.table.States().All() {
		if p.phases[s] == states.PhaseFailed && p.startsOnRoute(s, s.Work()) {
			p.routes[s].redoes = s.Work()
		}
	}
}

// length returns the number of requests to the goal on a path that begins with r.
func (p *planner) length(r request) uint8 {
	if slices.Contains(p.row.startedBy, r.event) {
		return 1
	}
	if left := p.routes[p.ends[r.to]].left; left != noPath {
		return left + 1
	}
	return noPath
}

// permits reports whether a request may be part of a route to the goal.
func (p *planner) permits(r request) bool {
	if p.destroysWith(r) && !p.destroys {
		return false
	}
	switch r.event {
	case states.EventAdopt:
		return p.goal == adopted || r.from == states.AdoptFail && p.row.deployed
	case states.EventDeploy, states.EventRebuild:
		return p.goal != adopted
	default:
		return true
	}
}

// destroysWith reports whether a request destroys the workload that a node in its
// state may carry. The package comment has the reasons.
func (p *planner) destroysWith(r request) bool {
	switch r.event {
	case states.EventDelete:
		return true
	case states.EventRebuild:
		return r.from != states.DeployFail
	case states.EventManage:
		return r.from == states.AdoptFail && p.routes[states.Manageable].starts == states.WorkClean
	default:
		return false
	}
}

// startsOnRoute reports whether the route from a state to the goal starts a kind of work, the
// goal's own work included.
func (p *planner) startsOnRoute(s states.State, w states.Work) bool {
	for {
		here := p.routes[s]
		if here.event == states.NoEvent || here.starts == w {
			return here.event != states.NoEvent
		}
		to, _ := p.table.Next(s, here.event)
		s = p.ends[to]
		if slices.Contains(p.row.startedBy, here.event) {
			return false
		}
	}
}

// planWorking computes the routes from the positions in which work is in progress or on
// hold: the route from the state in which the work ends, or a request that ends it.
//
// A request ends the work of a state if the goal is then no further away than from the
// state in which the work would end, and if the same kind of work does not have to be
// done later. A tear-down must bring the node nearer to the goal. A manual cleaning is
// never ended: a failed one is further from any goal than manageable.
func (p *planner) planWorking() {
	for at := range position(maxPositions) {
		if end := p.ends[at]; end != states.NoState && position(end) != at {
			p.routes[at] = route{left: p.routes[end].left}
		}
	}
	for _, r := range p.requests {
		here, after := &p.routes[r.from], p.routes[p.ends[r.to]]
		if p.idle(r.from) || !p.permits(r) || after.left == noPath || p.startsOnRoute(p.ends[r.to], r.from.Work()) {
			continue
		}
		asNear := after.left == here.left && r.event == states.EventAbort && here.event == states.NoEvent
		if after.left < here.left || asNear {
			here.event, here.starts, here.ended, here.destroys = r.event, p.workOf(r), after.left, p.destroysWith(r)
		}
	}
}

// workOf returns the work that a request starts: the work of the state that it leads to, if the conductor is at work
// there.
func (x *index) workOf(r request) states.Work {
	to, _ := x.table.Next(r.from, r.event)
	if x.phases[to] != states.PhaseWorking {
		return states.NoWork
	}
	return to.Work()
}
