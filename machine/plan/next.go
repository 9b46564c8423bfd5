// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// Next returns the next step to a goal: send a request, wait, or stop,
// because the goal is reached or because no permitted request leads to it. Next
// depends on its arguments alone and does not allocate unless it returns an error.
//
// A node without a state counts as available if the API version shows available as
// null. A node in [states.UnknownState] is Blocked, and an unknown stored target counts
// as none. The error is a [*states.UnknownError] for an unknown goal, or a
// [*machine.StateError] for a state that the table lacks and for a stored target that
// is not a stable state.
func Next(t *states.Table, n machine.Node, d Desired) (Step, error) {
	x := indexOf(t)
	n, d = x.normalize(n, d)
	step, destroys, err := x.next(n, d)
	if destroys || d.Fields.Retired && step.Left > 0 { // the routes are for nodes that are not retired
		step = x.lookAhead(n, d, step, destroys)
	}
	return step, err
}

// next returns the next step without a look at the later ones, and whether its request destroys a workload.
func (x *index) next(n machine.Node, d Desired) (step Step, destroys bool, err error) {
	row, ok := goalRows[d.Goal]
	if !ok {
		return Step{}, false, unknownGoal(string(d.Goal))
	}
	step.Progress, step.Version = d.Progress, d.Version
	if n.State == states.UnknownState {
		step.Action, step.Reason = Blocked, NoRoute
		return step, false, nil
	}
	if err := x.check(n); err != nil {
		return Step{}, false, err
	}
	q := query{index: x, desired: &d, row: row, state: n.State, at: x.positionWith(n, &d.Fields), step: &step}
	q.route = q.routeAt(d.Version, d.Policy.MayDestroy)
	if d.Progress.stage == open || !q.row.once() {
		q.answer()
	} else {
		q.followUp()
	}
	step.Try = int(step.Progress.tried[step.Work])
	return step, q.route.destroys && step.Verb != "" && step.Action != Blocked, nil
}

// normalize returns the node and the goal as [Next] reads them: with a version of the series, a state, and a target
// that is known or none.
func (x *index) normalize(n machine.Node, d Desired) (machine.Node, Desired) {
	d.Version = min(max(d.Version, 1), x.highest)
	if n.State == states.NoState && d.Version.Show(states.Available) == states.NoState {
		n.State = states.Available
	}
	n.Target = orNone(n.Target)
	return n, d
}

// check returns an error unless the table has the node's state and target.
func (x *index) check(n machine.Node) error {
	switch {
	case n.State >= maxStates || x.phases[n.State] == "":
		return &machine.StateError{Series: x.table.Series(), State: n.State}
	case n.Target != states.NoState && !x.table.Stable().Has(n.Target):
		return &machine.StateError{Series: x.table.Series(), State: n.Target, Role: machine.StoredTarget}
	default:
		return nil
	}
}

// A query is one call of Next.
type query struct {
	*index
	desired *Desired
	row     *goalRow
	state   states.State
	at      position
	route   route
	step    *Step // the answer; its progress starts as desired's
}

func (q *query) routeAt(v states.APIVersion, destroys bool) route {
	return q.byAPI[v].route(q.desired.Goal, destroys, q.at)
}

// followUp answers a query after the request for work that must be done once.
func (q *query) followUp() {
	switch {
	case q.step.Progress.stage != asked || q.row.ends.Has(q.state):
		q.done()
	case q.state == q.row.failed:
		q.step.Progress.stage = open
		q.answer()
	case !q.row.during.Has(q.state):
		q.block(Overtaken, q.row.failed.Work(), states.NoEvent)
	case q.idle(q.state):
		q.answer()
	default:
		left := q.route.left
		if q.row.ends.Has(q.ends[q.at]) {
			left = 0
		}
		q.route = route{left: left} // no request ends the work that was asked for
		q.answerAtWork()
	}
}

// answer answers a query by the route, and for a goal that deletes by the fields that permit or refuse the deletion.
func (q *query) answer() {
	reason, field := q.keepsRecord()
	switch {
	case q.row.deletes && q.desired.Fields.Maintenance && field == "":
		q.done()
	case reason == admission.IsProtected, reason == admission.Associated && q.route.left == 0 && q.idle(q.state):
		q.refuse(field, states.NoEvent)
	case !q.idle(q.state):
		q.answerAtWork()
	case q.route.left == 0:
		q.done()
	case q.route.left == noPath:
		q.blockByPolicy()
	default:
		q.send(q.route.left)
	}
}

// answerAtWork answers a query while work is in progress or on hold. Ending work counts as
// a try of it, so that the plan does not end work forever that continues nevertheless.
func (q *query) answerAtWork() {
	switch work := q.state.Work(); {
	case q.route.event != states.NoEvent && q.desired.Policy.MayAbort && q.mayTry(work):
		q.step.Progress.tried[work]++
		q.send(1 + q.route.ended)
	case q.route.left == noPath:
		q.blockByPolicy()
	case q.phases[q.state] == states.PhaseHold:
		q.block(NeedsUnhold, work, states.EventUnhold)
	default:
		q.step.Action = Wait
		q.step.Work = work
		q.step.Call = q.phases[q.state] == states.PhaseWaiting
		q.step.Until = q.ends[q.at]
		q.step.Left = int(q.route.left)
	}
}

// send answers with the route's request, unless it starts work that must not be
// retried, or Ironic refuses it because of a field.
func (q *query) send(left uint8) {
	progress := &q.step.Progress
	if work := q.route.redoes; work != states.NoWork && !q.skips(work) {
		progress.tried[work] = max(1, progress.tried[work])
		if !q.mayTry(work) {
			q.block(NeedsRetry, work, q.route.event)
			return
		}
	}
	work := q.route.starts
	if q.skips(work) {
		work = states.NoWork
	}
	if work != states.NoWork {
		if !q.mayTry(work) {
			q.block(NeedsRetry, work, q.route.event)
			return
		}
		progress.tried[work]++
	}
	if field := q.obstacle(q.route.event); field != "" {
		q.refuse(field, q.route.event)
		return
	}
	if slices.Contains(q.row.startedBy, q.route.event) {
		progress.stage = asked
	}
	q.step.Action = Send
	q.step.Work = work
	q.step.Left = int(left)
	q.name(q.route.event)
}

// name sets the answer's verb, and the field that the request requires.
func (q *query) name(e states.Event) {
	q.step.Verb = verbs[e]
	q.step.With = e.Requires()
}

// mayTry reports whether work may be started: for the first time, or once more.
func (q *query) mayTry(w states.Work) bool {
	tried := q.step.Progress.tried[w]
	return tried <= q.desired.Policy.Retries && tried < math.MaxUint8
}

// done answers that the goal is reached, and resets the tries: if the node leaves the
// goal, it is moved back as for a new goal.
func (q *query) done() {
	q.step.Action = Done
	q.step.Progress.tried = tries{}
	if q.row.once() {
		q.step.Progress.stage = finished
	}
}

// block answers with the reason for which the request for an event is not sent.
func (q *query) block(reason Reason, w states.Work, e states.Event) {
	q.step.Action = Blocked
	q.step.Reason = reason
	q.step.Work = w
	q.name(e)
}

// refuse answers that Ironic refuses the request for an event because of a field. Nothing is sent, so that the progress
// stays as it was.
func (q *query) refuse(field string, e states.Event) {
	q.block(Refused, states.NoWork, e)
	q.step.Field = field
	q.step.Progress = q.desired.Progress
	switch { // Ironic itself changes these fields
	case field == maintenanceField && q.desired.Fields.Fault == powerFailure:
		q.step.Action, q.step.Field = Wait, faultField
	case field == reservationField:
		q.step.Action = Wait
	}
}

// blockByPolicy answers that there is no permitted route, with the request of a route of a higher version or a wider
// policy, if there is one.
func (q *query) blockByPolicy() {
	destroys := q.desired.Policy.MayDestroy
	for _, other := range [...]struct {
		reason   Reason
		version  states.APIVersion
		destroys bool
	}{
		{NeedsVersion, q.highest, destroys},
		{NeedsDestroy, q.desired.Version, true},
		{NeedsDestroy, q.highest, true},
	} {
		if r := q.routeAt(other.version, other.destroys); r.left != noPath {
			q.block(other.reason, states.NoWork, r.event)
			return
		}
	}
	q.block(NoRoute, states.NoWork, q.route.event)
}

// skips reports whether Ironic skips a kind of work: automated cleaning that is
// switched off.
func (q *query) skips(w states.Work) bool {
	return w == states.WorkClean && q.desired.Fields.NoAutomatedClean && q.desired.Goal != cleaned
}
