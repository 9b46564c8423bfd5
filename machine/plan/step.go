// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// Action is the kind of a [Step]. It is empty in a Step that is returned with an error.
type Action string

const (
	// Send says that the caller sends the API the request for Step.Verb.
	Send Action = "send"
	// Wait says that the conductor is at work. The caller calls Next again later.
	Wait Action = "wait"
	// Done says that the goal is reached.
	Done Action = "done"
	// Blocked says that no permitted request leads to the goal; Step.Reason says why. The
	// caller calls Next again once an operator has moved the node or widened the policy.
	Blocked Action = "blocked"
)

// Reason says why a request is not sent. It is empty if the goal is reached or if the
// plan sends a request or waits for work to end.
type Reason string

const (
	noReason Reason = ""
	// NeedsRetry says that Step.Work failed, or was tried and ended by someone, and that
	// its retries are used up. An operator must examine the node, or increase
	// Policy.Retries.
	NeedsRetry Reason = "needs retry"
	// NeedsUnhold says that a hold step stopped Step.Work. An operator must resume the work or
	// end it.
	NeedsUnhold Reason = "needs unhold"
	// NeedsDestroy says that every route to the goal destroys the workload, which
	// Policy.MayDestroy does not permit.
	NeedsDestroy Reason = "needs destroy"
	// NeedsVersion says that every route to the goal has a request that only a higher API
	// version of the same series accepts.
	NeedsVersion Reason = "needs version"
	// Overtaken says that another client moved the node before the goal's work had ended.
	// The work may have ended or not; reset the Progress to repeat it.
	Overtaken Reason = "overtaken"
	// NoRoute says that the series has no requests that lead from the node's state to the goal.
	// There are none from [states.UnknownState], a state of a server newer than the
	// table.
	NoRoute Reason = "no route"
	// Refused says that Ironic refuses the request for the field of the node's record that
	// Step.Field names. An operator must change that field first, unless the action is
	// Wait. If the next request would destroy a workload, it may be a later one of the
	// route, or the cleaning after the tear-down.
	Refused Reason = "refused"
)

// Step is an answer of [Next]. A Step is a value and may be shared freely.
type Step struct {
	Action Action `json:"action"`
	// Verb is the target of the request, for Send. For a request
	// that is not sent, it is that request's target; otherwise it is empty.
	Verb string `json:"verb"`
	// With is the field that the request must carry with the verb, from
	// [states.Event.Requires]; empty if there is none.
	With string `json:"with"`
	// Version is the API version to send the verb with: Desired's, or the
	// series' highest if that is higher.
	Version states.APIVersion `json:"version"`
	// Work is the work that the request starts, that the plan waits for, that failed
	// or that is on hold. It is NoWork if the request moves the node at once.
	Work states.Work `json:"work"`
	// Try is how often Work was started since the goal was last reached, this
	// request included. Failed work that the plan did not start counts as started
	// once.
	Try int `json:"try"`
	// Call says, for Wait, that the conductor itself waits for a call from outside, up
	// to a timeout.
	Call bool `json:"call"`
	// Until is the state in which the work ends if it succeeds, for Wait without a
	// Reason; otherwise NoState, null in JSON. For a tear-down it is CleanFail if the
	// node's fields make the cleaning after it fail.
	Until states.State `json:"until"`
	// Reason is set for Blocked, and for Wait if there is a request to send later.
	Reason Reason `json:"reason"`
	// Field is set if Reason is Refused: the field of the node's record for which
	// Ironic refuses the request. It is "maintenance", "protected", "retired",
	// "reservation" or "instance_uuid"; or "fault" for a power failure, which ends by
	// itself, as a reservation does.
	Field string `json:"field"`
	// Left is the number of requests still to send if all work succeeds, this one
	// included, and none is refused. If Reason is set, Left is 0.
	Left int `json:"left"`
	// Progress is Desired's progress after this step. Store it at once or, for
	// Send, once the API has accepted the request: if the API refuses (the node is
	// locked, the server is down), keep the old progress and call Next again. If a
	// program dies between the request and the storing, work that must be done once
	// is done twice.
	Progress Progress `json:"progress"`
}

// String returns the step as a line for logs, such as "send clean with clean_steps"
// or "wait for cleaning to end in available".
func (s Step) String() string {
	switch s.Action {
	case Send:
		return "send " + s.request()
	case Wait:
		if s.Reason != noReason {
			return fmt.Sprintf("wait: %s, before %s", s.reason(), s.request())
		}
		return fmt.Sprintf("wait for %v to end in %v", s.Work.Working(), s.Until)
	case Blocked:
		text := "blocked: " + s.reason()
		if s.Work != states.NoWork {
			text += " of " + s.Work.Working().String()
		}
		if s.Verb != "" {
			text += ", before " + s.request()
		}
		return text
	default:
		return string(s.Action)
	}
}

func (s Step) reason() string {
	if s.Reason != Refused {
		return string(s.Reason)
	}
	return fmt.Sprintf("%s by %s", s.Reason, s.Field)
}

func (s Step) request() string {
	if s.With == "" {
		return s.Verb
	}
	return s.Verb + " with " + s.With
}
