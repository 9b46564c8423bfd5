// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// The rules of Ironic's conductor: which event, target and last error follow from a
// request or a report. Source: ironic/conductor/manager.py, cleaning.py and
// deployments.py.

// aborted returns the last error of a node whose work was aborted in a state.
//
// Source: get_last_error in ironic/conductor/cleaning.py and its counterparts in
// servicing.py, deployments.py and inspection.py.
func aborted(in states.State) string {
	switch in.Work() { // the texts are constants, since Request does not allocate
	case states.WorkClean:
		return "By request, the clean operation was aborted"
	case states.WorkService:
		return "By request, the service operation was aborted"
	case states.WorkInspect:
		return "Inspection was aborted by request."
	case states.WorkDeploy:
		return "By request, the deploy operation was aborted"
	default:
		return "By request, the operation was aborted"
	}
}

// noReason is the last error of a node whose work failed without an error text. A failure always leaves one, since
// clients take a node without a last error for one whose work succeeded.
const noReason = "The work failed, and no reason was reported."

// Request returns the node after a client's request for a provision state: PUT
// /v1/nodes/NODE/states/provision {"target": target} at version v. It also sets the
// target of a manual cleaning, and clears an obsolete last error.
//
// Request knows of no reservation, with which Ironic answers 409 while its conductor is at
// work: here "manage" in Cleaning and "clean" in Deleting end that work, since the conductor's
// own events have these names. A service that runs work asks Rules.Provision of package
// admission first, with Reserved set until the work has ended.
//
// Since 2025.2 the abort of a service is two transitions, through ServiceFail to
// Active. Every other request is one transition.
//
// The error is a [*states.RequestError], the API's answer, or a [*StateError] for a nil
// table and for a stored target that is not a stable state. The node is then returned
// unchanged. Request does not allocate when it succeeds.
func (n Node) Request(t *states.Table, target string, v states.APIVersion) (Node, error) {
	in, err := n.requested(t, target, v)
	if err != nil {
		return n, err
	}
	next, err := n.Apply(t, in)
	if err == nil && n.abortsTwice(t, in.Event) {
		return next.Apply(t, serviceAborted)
	}
	return next, err
}

// Report returns the node after a report of the conductor or of the hardware about the work of the node's state: done,
// fail, wait, resume or hold, with the text of the error if there is one; a failure that would leave no last error gets
// a plain one. The event and the target that follow depend on the work: done of a tear-down begins cleaning, done of a
// manual cleaning ends in Manageable, and a manual cleaning keeps its target through waits, holds and failures.
//
// The conductor's own events may be reported by name as well: EventManage in
// Cleaning, which ends the automated cleaning of a retired node in Manageable, and
// EventClean in Deleting.
//
// The error is an [*EventError] for an event that only a client requests or that has
// no row in the node's state, otherwise a [*StateError]. The node is then returned
// unchanged. Report does not allocate when it succeeds and lastError needs no change to be stored, see [Input].
//
// Ironic's built-in hold and wait steps, and unhold, drop the target of a manual
// cleaning, which then ends in Available. Report keeps the target.
func (n Node) Report(t *states.Table, event states.Event, lastError string) (Node, error) {
	in, err := n.reported(t, event, lastError)
	if err != nil {
		return n, err
	}
	return n.Apply(t, in)
}

// requested returns the input that follows from a request. If [Node.abortsTwice], the
// input serviceAborted follows.
func (n Node) requested(t *states.Table, target string, v states.APIVersion) (Input, error) {
	if t == nil {
		return Input{}, n.check(t)
	}
	event, err := t.Request(n.State, target, v)
	if err != nil {
		return Input{}, err
	}
	// Ironic begins work with an event to which it gives a callback, see do_provisioning_action in
	// ironic/conductor/manager.py.
	in := Input{Event: event, Work: true}
	switch event {
	case states.EventManage: // which verifies a node of Enroll alone
		in.Work = n.State == states.Enroll
	case states.EventClean:
		in.Target = states.Manageable
	case states.EventUnhold: // after which a cleaning and a deployment wait for a heartbeat
		in.Work = n.State == states.ServiceHold
		in.Target = n.manualTarget(t)
	case states.EventAbort:
		in.Target = n.manualTarget(t)
		in.Work = n.State == states.RescueWait // Work clears the last error, as Ironic does
		if !in.Work {
			in.LastError = aborted(n.State)
		}
	}
	return in, nil
}

// serviceAborted is the second input of an aborted service. Ironic's first event is
// fail; here it is abort, which leads to the same state and shows guards the request.
var serviceAborted = Input{Event: states.EventAbort, LastError: aborted(states.ServiceFail)}

// abortsTwice reports whether the event is an abort that leads through ServiceFail
// to Active.
func (n Node) abortsTwice(t *states.Table, event states.Event) bool {
	if event != states.EventAbort || n.State != states.ServiceWait && n.State != states.ServiceHold {
		return false
	}
	_, ok := t.Next(states.ServiceFail, states.EventAbort)
	return ok
}

// reported returns the input that follows from a report.
func (n Node) reported(t *states.Table, event states.Event, lastError string) (Input, error) {
	if err := n.check(t); err != nil {
		return Input{}, err
	}
	in := Input{Event: event, Target: n.manualTarget(t), LastError: lastError}
	if event == states.EventFail && n.LastError == "" && isBlank(errtext.Clean(lastError)) {
		in.LastError = noReason
	}
	switch {
	case event == states.EventDone && n.State == states.Deleting:
		in.Event = states.EventClean
	case event == states.EventDone && n.State == states.Cleaning && in.Target != states.NoState:
		in.Event = states.EventManage
	case event == states.EventFail && n.State == states.Deleting && t.Series() < states.Stein:
		in.Event = states.EventError
	}
	if !isReport(t, n.State, in.Event) {
		return Input{}, &EventError{Series: t.Series(), State: n.State, Event: event, Allowed: reports(t, n.State)}
	}
	return in, nil
}

// isBlank reports whether a text has nothing to read.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// isReport reports whether the conductor fires an event in a state.
func isReport(t *states.Table, from states.State, event states.Event) bool {
	to, ok := t.Next(from, event)
	return ok && !t.IsRequest(states.Transition{From: from, Event: event, To: to})
}

// reports returns the events that [Node.Report] accepts in a state.
func reports(t *states.Table, from states.State) []states.Event {
	var events []states.Event
	if from == states.Deleting {
		events = append(events, states.EventDone)
	}
	for event := range t.Events(from) {
		if isReport(t, from, event) {
			events = append(events, event)
		}
	}
	return events
}

// manualTarget returns Manageable for a node in a manual cleaning, which exists since
// Mitaka, and NoState for any other node.
func (n Node) manualTarget(t *states.Table) states.State {
	if n.Target != states.Manageable || !states.WorkClean.InProgress().Has(n.State) {
		return states.NoState
	}
	if _, ok := t.Next(states.Cleaning, states.EventManage); !ok {
		return states.NoState
	}
	return states.Manageable
}
