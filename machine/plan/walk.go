// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"iter"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Route ranges over the steps from a node to a goal if all work succeeds and an operator
// resumes work that is on hold. Each step has the node before it. The last step is Done,
// or its Reason says why the goal is not reached. Of the fields of the node's record a
// route changes one: a tear-down ends Associated. It returns the errors of [Next].
func Route(t *states.Table, n machine.Node, d Desired) (iter.Seq2[machine.Node, Step], error) {
	if _, err := Next(t, n, d); err != nil {
		return nil, err
	}
	return func(yield func(machine.Node, Step) bool) {
		x := indexOf(t)
		n, d := x.normalize(n, d)
		for more := true; more; { // ends, see lookAhead
			step, _ := Next(t, n, d) // has no error for a node to which the table leads
			if !yield(n, step) {
				return
			}
			n, d, more = x.advance(n, d, step)
		}
	}, nil
}

// lookAhead sets the step's Left to the number of requests of the whole route. If the step destroys a workload and the
// route does not reach the goal, lookAhead returns the step that blocks instead. It assumes that no reservation
// remains.
//
// It ends, as a [Route] does. No request of a plan is on a cycle (TestThePlanReachesTheGoal), and at most four waits
// follow each other: work that succeeds ends in a stable state (TestWorkThatSucceedsContinuesUntilTheNodeRests).
func (x *index) lookAhead(n machine.Node, d Desired, step Step, destroys bool) Step {
	sent, before := 0, d.Progress
	d.Fields.Reserved = false
	last, _, _ := x.next(n, d)
	for more := true; more; {
		if last.Action == Send {
			sent++
		}
		if n, d, more = x.advance(n, d, last); more {
			last, _, _ = x.next(n, d)
		}
	}
	switch {
	case last.Action != Done && destroys:
		if last.Reason == NeedsRetry && last.Work == states.WorkClean && x.cleaningFails(&d.Fields) {
			(&query{index: x, desired: &d, step: &last}).refuse(maintenanceField, states.EventDelete)
		}
		last.Progress, last.Try = before, int(before.tried[last.Work])
		return last
	case last.Action == Done && step.Reason == noReason:
		step.Left = sent
	}
	return step
}

// advance returns the node and the goal after a step, if the work succeeds; more is false if the step is the last one.
func (x *index) advance(n machine.Node, d Desired, step Step) (_ machine.Node, _ Desired, more bool) {
	switch {
	case step.Action == Send, step.Reason == NeedsUnhold:
		next, err := n.Request(x.table, step.Verb, step.Version)
		if err != nil { // the version has no unhold
			return n, d, false
		}
		n = next
		if step.Verb == verbs[states.EventDelete] {
			d.Fields.Associated = false
		}
	case step.Action == Wait && step.Reason == noReason:
		n = x.succeed(n, &d.Fields)
	default:
		return n, d, false
	}
	d.Progress = step.Progress
	return n, d, true
}

// Succeed returns the node after the next transition of work that succeeds: the work of
// its state ends, or its wait ends and the work continues. It returns n if the node is in
// any other state.
func Succeed(t *states.Table, n machine.Node) machine.Node {
	event := states.EventDone
	switch t.Phase(n.State) {
	case states.PhaseWorking:
	case states.PhaseWaiting:
		if _, ends := t.Next(n.State, event); !ends {
			event = states.EventResume
		}
	default:
		return n
	}
	next, _ := n.Report(t, event, "") // returns n with an error
	return next
}

// succeed is Succeed with the node's fields: they decide where a cleaning ends, and whether a tear-down is followed by
// no cleaning or by one that fails at once.
func (x *index) succeed(n machine.Node, f *NodeFields) machine.Node {
	if n.State == states.Cleaning && x.ends[x.positionWith(n, f)] != x.table.Target(n.State) {
		if next, err := n.Report(x.table, states.EventManage, ""); err == nil { // the series has retired nodes
			return next
		}
	}
	next := Succeed(x.table, n)
	if n.State != states.Deleting {
		return next
	}
	switch {
	case f.NoAutomatedClean:
		return Succeed(x.table, next)
	case x.cleaningFails(f):
		failed, _ := next.Report(x.table, states.EventFail, "")
		return failed
	default:
		return next
	}
}
