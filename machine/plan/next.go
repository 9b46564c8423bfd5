package plan

import (
	"math"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Next answers what to do now so that the node comes to what is wished for: send
// a request, wait, nothing more, or nothing that the policy permits. It looks at
// nothing but its arguments and does not allocate unless it returns an error.
//
// A node without a state counts as available where the API version shows it so.
// The errors are [*GoalError], [*VersionError], [machine.ErrNoTable],
// [*machine.StateError] and [*machine.TargetError] (a stored target that is not a
// stable state).
func Next(t *states.Table, n machine.Node, w Wish) (step Step, err error) {
	if t == nil {
		return Step{}, machine.ErrNoTable
	}
	b := bookOf(t)
	if w.Version == states.NoAPIVersion {
		w.Version = b.highest
	}
	if n.State == states.NoState && w.Version.Show(states.Available) == states.NoState {
		n.State = states.Available
	}
	if !b.knows(n) || w.Goal == NoGoal || w.Goal >= numGoals || w.Version > b.highest {
		return Step{}, b.complain(n, w)
	}
	at := b.at(n.State, n.Target)
	h := b.edition[w.Version].hop(w.Goal, w.Policy.MayDestroy, at)
	step.Progress = w.Progress
	q := question{book: b, wish: &w, row: &goalRows[w.Goal], state: n.State, at: at, hop: h, step: &step}
	if w.Progress.Stage == Open || !q.row.once() {
		q.answer()
	} else {
		q.followUp()
	}
	return step, nil
}

// knows reports whether a node's state and target are the table's.
func (b *book) knows(n machine.Node) bool {
	return n.State < maxStates && b.kinds[n.State] != absent && (n.Target == states.NoState || b.stable.Has(n.Target))
}

// complain returns the first error of the question.
func (b *book) complain(n machine.Node, w Wish) error {
	if w.Goal == NoGoal || w.Goal >= numGoals {
		return &GoalError{Word: w.Goal.String()}
	}
	if err := b.check(n); err != nil {
		return err
	}
	return &VersionError{Series: b.table.Series(), Version: w.Version, Maximum: b.highest}
}

// check returns an error unless the table knows the node.
func (b *book) check(n machine.Node) error {
	switch {
	case n.State >= maxStates || b.kinds[n.State] == absent:
		return &machine.StateError{Series: b.table.Series(), State: n.State}
	case !b.knows(n):
		return &machine.TargetError{Series: b.table.Series(), Target: n.Target, Stored: true}
	default:
		return nil
	}
}

// A question is one call of Next.
type question struct {
	*book
	wish  *Wish
	row   *goalRow
	state states.State
	at    place
	hop   hop
	step  *Step // the answer; its progress begins as the wish's
}

// followUp answers for work that was asked for.
func (q *question) followUp() {
	switch {
	case q.step.Progress.Stage != Asked || q.row.ends.Has(q.state):
		q.done()
	case q.state == q.row.failed:
		q.step.Progress.Stage = Open
		q.answer()
	case !q.row.during.Has(q.state):
		q.hop = hop{}
		q.block(Overtaken, workOf[q.row.failed])
	case q.kinds[q.state] == resting:
		q.answer()
	default:
		q.hop = hop{}
		q.answerAtWork()
	}
}

// answer answers by the plan.
func (q *question) answer() {
	switch {
	case q.kinds[q.state] != resting:
		q.answerAtWork()
	case q.hop.left == 0:
		q.done()
	case q.hop.left == far:
		q.block(q.lack(), NoWork)
	default:
		q.send(q.hop.left)
	}
}

// answerAtWork answers where work is under way or held. Ending work counts as
// trying it, so that work which goes on all the same is not ended for ever.
func (q *question) answerAtWork() {
	switch work := workOf[q.state]; {
	case q.hop.event != states.NoEvent && q.wish.Policy.MayAbort && q.mayTry(work):
		q.step.Progress.Tried[work]++
		to, _ := q.table.Next(q.state, q.hop.event)
		q.send(1 + q.edition[q.wish.Version].hop(q.wish.Goal, q.wish.Policy.MayDestroy, place(to)).left)
	case q.hop.left == far:
		q.block(q.lack(), NoWork)
	case q.kinds[q.state] == held:
		q.hop = hop{event: states.EventUnhold}
		q.block(NeedsUnhold, work)
	default:
		q.step.Action = Wait
		q.step.Work = work
		q.step.Call = q.waiting.Has(q.state)
		q.step.Until = q.ends[q.at]
		q.step.Left = int(q.hop.left)
	}
}

// send sends what the hop says, unless that is to try again what must not be.
func (q *question) send(left uint8) {
	progress := &q.step.Progress
	if work := q.hop.redoes; work != NoWork {
		progress.Tried[work] = max(1, progress.Tried[work])
		if !q.mayTry(work) {
			q.block(NeedsRetry, work)
			return
		}
	}
	if work := q.hop.starts; work != NoWork {
		if !q.mayTry(work) {
			q.block(NeedsRetry, work)
			return
		}
		progress.Tried[work]++
	}
	if progress.Requests < math.MaxUint16 {
		progress.Requests++
	}
	if q.asks() {
		progress.Stage = Asked
	}
	q.step.Action = Send
	q.step.Work = q.hop.starts
	q.step.Left = int(left)
	q.name(q.hop.event)
}

// name puts an event's word and what must go with it into the answer.
func (q *question) name(e states.Event) {
	q.step.Verb = verbs[e]
	q.step.With = argumentOf(e)
}

// mayTry reports whether work may be started: for the first time, or once more.
func (q *question) mayTry(work Work) bool {
	tried := q.step.Progress.Tried[work]
	return tried <= q.wish.Policy.Retries[work] && tried < math.MaxUint8
}

// asks reports whether the hop asks for the work that the goal is.
func (q *question) asks() bool {
	for _, e := range q.row.asks {
		if e == q.hop.event {
			return true
		}
	}
	return false
}

// done says that the goal is reached. What was tried is forgotten: when the node
// leaves the goal it is brought back as for a new wish.
func (q *question) done() {
	q.step.Action = Done
	q.step.Progress.Tried = Counts{}
	if q.row.once() {
		q.step.Progress.Stage = Finished
	}
}

// block says why the hop is not followed.
func (q *question) block(reason Reason, work Work) {
	q.step.Action = Blocked
	q.step.Reason = reason
	q.step.Work = work
	q.name(q.hop.event)
}

// lack returns what there is no way for the want of, and has the hop be that of
// the way that there would be.
func (q *question) lack() Reason {
	destroys := q.wish.Policy.MayDestroy
	for _, way := range [...]struct {
		reason   Reason
		version  states.APIVersion
		destroys bool
	}{
		{NeedsVersion, q.highest, destroys},
		{NeedsDestroy, q.wish.Version, true},
		{NeedsDestroy, q.highest, true},
	} {
		if h := q.edition[way.version].hop(q.wish.Goal, way.destroys, q.at); h.left != far {
			q.hop = h
			return way.reason
		}
	}
	return NoWay
}
