// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"iter"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Route ranges over the steps from a node to a goal if all work succeeds and an operator resumes held work, each
// with the node before the step. The last step is Done, or its Reason says why the goal is not reached. The fields of the node's record do not change on the route. The errors are those of [Next].
func Route(t *states.Table, n machine.Node, w Desired) (iter.Seq2[machine.Node, Step], error) {
	if _, err := Next(t, n, w); err != nil {
		return nil, err
	}
	return func(yield func(machine.Node, Step) bool) {
		n, w := n, w
		for {
			step, _ := Next(t, n, w) // has no error for a node to which the table leads
			if !yield(n, step) || step.Action == Done {
				return
			}
			switch {
			case step.Action == Send, step.Reason == NeedsUnhold:
				next, err := n.Request(t, step.Verb, step.Version)
				if err != nil { // the version has no unhold
					return
				}
				n = next
			case step.Action == Wait && step.Reason == "":
				n = Succeed(t, n)
			default:
				return
			}
			w.Progress = step.Progress
		}
	}, nil
}

// Succeed returns the node after the next transition of work that succeeds: the work of its state ends, or its wait
// ends and the work continues. It returns n if the node is in any other state.
func Succeed(t *states.Table, n machine.Node) machine.Node {
	if phase := t.Phase(n.State); phase != states.PhaseWorking && phase != states.PhaseWaiting {
		return n
	}
	for _, event := range []states.Event{states.EventDone, states.EventResume} {
		if next, err := n.Report(t, event, ""); err == nil {
			return next
		}
	}
	return n
}
