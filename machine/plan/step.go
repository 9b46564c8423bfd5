package plan

import (
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// Action is the kind of a [Step]. It is empty in a Step which comes with an error.
type Action string

const (
	// Send: send the API the request for Step.Verb.
	Send Action = "send"
	// Wait: the conductor is at work; call Next again later.
	Wait Action = "wait"
	// Done: the goal is reached.
	Done Action = "done"
	// Blocked: no permitted request leads to the goal; Step.Reason says why. Call
	// Next again once a person has moved the node or widened the policy.
	Blocked Action = "blocked"
)

// Reason says why a request is not sent. It is empty for a node at the goal or on
// the way to it.
type Reason string

const (
	noReason Reason = ""
	// NeedsRetry: Step.Work failed, or was tried and ended by someone, and its
	// retries are used up. A person must look at the node, or Policy.Retries be
	// greater.
	NeedsRetry Reason = "needs retry"
	// NeedsUnhold: a hold step stopped Step.Work. A person must let the work go on
	// or end it.
	NeedsUnhold Reason = "needs unhold"
	// NeedsDestroy: every way to the goal destroys the workload, which
	// Policy.MayDestroy does not permit.
	NeedsDestroy Reason = "needs destroy"
	// NeedsVersion: every way to the goal has a request that only a higher API
	// version of the same series takes.
	NeedsVersion Reason = "needs version"
	// Overtaken: someone else moved the node while the goal's work was under way.
	// The work may have ended or not; make the wish again to have it done again.
	Overtaken Reason = "overtaken"
	// NoRoute: the series has no requests that lead from the node's state to the goal.
	NoRoute Reason = "no route"
	// UnknownState: the node's state is one that the table lacks, of a server newer
	// than this module; see [states.UnknownState].
	UnknownState Reason = "unknown state"
	// InMaintenance: the node is in maintenance, which a person must end first.
	InMaintenance Reason = "in maintenance"
	// PowerFailure: Ironic cannot read the node's power state and has set
	// maintenance, which it clears by itself once it can. The action is Wait.
	PowerFailure Reason = "power failure"
	// Protected: the node is protected, which a person must end first.
	Protected Reason = "protected"
	// Retired: the node is retired, which a person must end before it is provided.
	Retired Reason = "retired"
	// Reserved: the conductor is at work on the node and would answer 409. The
	// action is Wait.
	Reserved Reason = "reserved"
	// Associated: the node has an instance_uuid, which a person must remove before
	// the record can be deleted.
	Associated Reason = "associated"
)

// Step is an answer of [Next]. A Step is a value and may be shared freely.
type Step struct {
	Action Action `json:"action"`
	// Verb is the target of the request, for Send. Where a request is held back, it
	// is the target of that request; otherwise it is empty.
	Verb string `json:"verb"`
	// With is the field that must go with the verb, as [states.Event.Requires]
	// names it; empty where there is none.
	With string `json:"with"`
	// Version is the API version to send the verb with: the wish's, or the
	// series' highest where the wish's is higher.
	Version states.APIVersion `json:"version"`
	// Work is the work that the request starts, that is waited for, that failed or
	// that is held; NoWork where the request moves the node at once.
	Work Work `json:"work"`
	// Call says, for Wait, that the conductor itself waits for a call from outside,
	// until a timeout.
	Call bool `json:"call"`
	// Until is the state in which the work ends if it succeeds, for Wait without a
	// Reason; otherwise NoState, null in JSON.
	Until states.State `json:"until"`
	// Reason is set for Blocked, and for Wait where a request is held back.
	Reason Reason `json:"reason"`
	// Left is the number of requests still to send if all work succeeds, this one
	// included. Where Reason is set, Left is 0.
	Left int `json:"left"`
	// Progress is the wish's progress after this step. Store it at once or, for
	// Send, once the API has accepted the request: when the API refuses (the node
	// is locked, the server is down), keep the old progress and call Next again. A
	// program that dies between the request and the storing has work that is to be
	// done once done twice.
	Progress Progress `json:"progress"`
}

// String returns the step as a line for logs, as in "send clean with clean_steps"
// or "wait for cleaning to end in available".
func (s Step) String() string {
	switch s.Action {
	case Send:
		return "send " + s.request()
	case Wait:
		if s.Reason != noReason {
			return fmt.Sprintf("wait: %v, before %s", s.Reason, s.request())
		}
		return fmt.Sprintf("wait for %v to end in %v", s.Work, s.Until)
	case Blocked:
		text := "blocked: " + string(s.Reason)
		if s.Work != NoWork {
			text += " of " + s.Work.String()
		}
		if s.Verb != "" {
			text += ", before " + s.request()
		}
		return text
	default:
		return string(s.Action)
	}
}

func (s Step) request() string {
	if s.With == "" {
		return s.Verb
	}
	return s.Verb + " with " + s.With
}
