package plan

import (
	"cmp"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// hops has what to send from each place to reach a goal.
type hops [maxPlaces]hop

// A hop is what to send from a place. In a place at work or held, what to send is
// what ends the work, where that is better than waiting for it.
type hop struct {
	event  states.Event // NoEvent where there is nothing to send
	starts Work         // what the event starts
	redoes Work         // what has failed in the place and is done again by the way on
	left   uint8        // the number of requests to the goal, once the work is done; far where there is no way
}

const (
	far     = 255
	longest = 16 // no way has more requests
)

// preference decides between ways that are equally long, after the goal's own
// events: what gets on before what does work again, and the destructive last.
var preference = []states.Event{
	states.EventManage, states.EventProvide, states.EventDeploy, states.EventRebuild, states.EventInspect,
	states.EventClean, states.EventAdopt, states.EventUnrescue, states.EventAbort, states.EventRescue,
	states.EventService, states.EventUnhold, states.EventDelete,
}

// preferred returns the requests in the order of preference.
func (g *goalRow) preferred(requests []request) []request {
	order := append(slices.Clone(g.asks), preference...)
	rank := func(r request) int { return slices.Index(order, r.event) }
	return slices.SortedStableFunc(slices.Values(requests), func(a, b request) int { return cmp.Compare(rank(a), rank(b)) })
}

// A planner fills in the hops of one goal, from the goal backwards.
type planner struct {
	*book
	*hops
	goal     Goal
	row      *goalRow
	requests []request // the preferred first
	destroys bool      // whether a workload may be destroyed
}

// plan fills in the ways to a goal that destroy no workload, and then those
// that do, for the places that have no other.
func (b *book) plan(ways *[2]hops, g Goal, requests []request) {
	row := &goalRows[g]
	p := planner{book: b, hops: &ways[0], goal: g, row: row, requests: row.preferred(requests)}
	p.begin()
	p.spread()
	p.settle()

	ways[1] = ways[0]
	p.hops, p.destroys = &ways[1], true
	p.spread()
	p.settle()
}

// begin says of all places but the goal's that they are far.
func (p *planner) begin() {
	goal := p.row.in
	if p.goal == Deletable {
		goal = p.table.DeleteAllowed()
	}
	for at := range p.hops {
		p.hops[at].left = far
		if goal.Has(states.State(at)) && p.kinds[at] == resting {
			p.hops[at].left = 0
		}
	}
}

// spread finds the hops of the resting places, the nearest to the goal first.
func (p *planner) spread() {
	for left := uint8(1); left <= longest; left++ {
		for _, r := range p.requests {
			here := &p.hops[r.from]
			if p.kinds[r.from] == resting && here.left == far && p.length(r) == left && p.permits(r) {
				*here = hop{event: r.event, starts: started(r.from, r.event), left: left}
			}
		}
	}
	for s := range p.failed.All() {
		if p.redoes(s) {
			p.hops[s].redoes = workOf[s]
		}
	}
}

// length returns the number of requests to the goal by way of a request.
func (p *planner) length(r request) uint8 {
	if !p.endsInGoal() && slices.Contains(p.row.asks, r.event) {
		return 1
	}
	if left := p.hops[p.ends[r.to]].left; left < longest {
		return left + 1
	}
	return far
}

// endsInGoal reports whether the goal is reached by being in a state.
func (p *planner) endsInGoal() bool { return !p.row.once() || p.row.in.Len() > 0 }

// permits reports whether a request may be part of a way to the goal.
func (p *planner) permits(r request) bool {
	if p.destroysWith(r) && !p.destroys {
		return false
	}
	switch r.event {
	case states.EventAdopt:
		return p.goal == Adopted || r.from == states.AdoptFail && p.staysDeployed()
	case states.EventDeploy, states.EventRebuild:
		return p.goal != Adopted
	default:
		return true
	}
}

// staysDeployed reports whether the goal is one of a deployed node.
func (p *planner) staysDeployed() bool {
	switch p.goal {
	case Active, Rescued, Rebuilt, Serviced:
		return true
	default:
		return false
	}
}

// destroysWith reports whether a request destroys the workload that a node in
// its state may carry. See the package comment for the reasons.
func (p *planner) destroysWith(r request) bool {
	switch r.event {
	case states.EventDelete:
		return true
	case states.EventRebuild:
		return r.from != states.DeployFail
	case states.EventManage:
		return r.from == states.AdoptFail && p.hops[states.Manageable].starts == Cleaning
	default:
		return false
	}
}

// redoes reports whether the way from a state does the work again that has
// failed there.
func (p *planner) redoes(s states.State) bool {
	work := workOf[s]
	for {
		here := p.hops[s]
		if here.event == states.NoEvent || here.starts == work {
			return here.event != states.NoEvent
		}
		to, _ := p.table.Next(s, here.event)
		s = p.ends[to]
		if !p.endsInGoal() && slices.Contains(p.row.asks, here.event) {
			return false
		}
	}
}

// settle finds the hops of the places at work and held: on from where the work
// ends, or what ends the work.
func (p *planner) settle() {
	for at := range place(maxPlaces) {
		if end := p.ends[at]; end != states.NoState && place(end) != at {
			p.hops[at] = hop{left: p.hops[end].left}
		}
	}
	for _, r := range p.requests {
		if p.kinds[r.from] == resting || r.event != states.EventAbort && r.event != states.EventDelete {
			continue
		}
		p.offerEnd(place(r.from), r)
		if at, ok := p.manually(r.from); ok {
			p.offerEnd(at, r)
		}
	}
}

// offerEnd takes a request that ends the work of a place where, from there, the
// goal is no further than from where the work would end, and what was ended need
// not be done again. A tear-down must come nearer.
func (p *planner) offerEnd(at place, r request) {
	after := p.hops[p.ends[r.to]]
	if !p.permits(r) || after.left == far || after.redoes != NoWork {
		return
	}
	best := p.hops[p.ends[at]].left
	if here := p.hops[at].event; here != states.NoEvent {
		best = p.leftAfter(r.from, here)
	} else if r.event != states.EventDelete && best < far {
		best++
	}
	if after.left < best {
		p.hops[at].event, p.hops[at].starts = r.event, started(r.from, r.event)
	}
}

// leftAfter returns how far the goal is once an event has ended work.
func (p *planner) leftAfter(from states.State, e states.Event) uint8 {
	to, _ := p.table.Next(from, e)
	return p.hops[p.ends[to]].left
}

// started returns the work that a request starts.
func started(from states.State, e states.Event) Work {
	switch e {
	case states.EventManage:
		if from == states.Enroll {
			return Verification
		}
	case states.EventProvide, states.EventClean:
		return Cleaning
	case states.EventDeploy, states.EventRebuild:
		return Deployment
	case states.EventInspect:
		return Inspection
	case states.EventAdopt:
		return Adoption
	case states.EventRescue:
		return Rescue
	case states.EventUnrescue:
		return Unrescue
	case states.EventService:
		return Service
	case states.EventDelete:
		return TearDown
	}
	return NoWork
}
