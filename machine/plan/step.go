package plan

import (
	"fmt"

	"github.com/ironstate/ironstate/internal/enum"
	"github.com/ironstate/ironstate/states"
)

// Action is what to do now.
type Action uint8

const (
	// NoAction is the zero Action; a Step that comes with an error has it.
	NoAction Action = iota
	// Send: ask the API for Step.Verb.
	Send
	// Wait: the conductor is at work; look again later.
	Wait
	// Done: the goal is reached.
	Done
	// Blocked: nothing that the policy permits leads on; Step.Reason says why.
	// Once a person has moved the node or widened the policy, ask again.
	Blocked
)

var actionWords = &enum.Words{Type: "Action", Kind: "action", Words: []string{"none", "send", "wait", "done", "blocked"}}

// String returns the word of the constant in lower case, or a form like
// "Action(99)" for a number that is none.
func (a Action) String() string { return actionWords.String(uint8(a)) }

// MarshalText returns the word. A number that is no action is a
// [*states.UnknownError].
func (a Action) MarshalText() ([]byte, error) { return actionWords.Marshal(uint8(a)) }

// UnmarshalText takes what MarshalText returns; a keeps its value on error.
func (a *Action) UnmarshalText(text []byte) error { return enum.Unmarshal(actionWords, a, text) }

// Reason is why nothing is sent.
type Reason uint8

const (
	// NoReason: the node is at the goal, or on the way there.
	NoReason Reason = iota
	// NeedsRetry: Step.Work failed, or was tried and left by someone, and its
	// retries are used up. A person must look at the node, or Policy.Retries be
	// greater.
	NeedsRetry
	// NeedsUnhold: a hold step stopped Step.Work. A person must let it go on, or
	// end it.
	NeedsUnhold
	// NeedsDestroy: the only way destroys the workload, which Policy.MayDestroy
	// does not permit.
	NeedsDestroy
	// NeedsVersion: the only way has a request that a higher API version of the
	// same series takes.
	NeedsVersion
	// Overtaken: someone else moved the node while the goal's work was under
	// way. It may have ended or not; make the wish again to have it done again.
	Overtaken
	// NoWay: the series has no way from here to the goal.
	NoWay
	// UnknownState: the node is in a state that the table does not have, of a
	// server newer than this module ([states.UnknownState]).
	UnknownState
	// InMaintenance: the node is in maintenance, which a person must end first.
	InMaintenance
	// PowerFailure: Ironic cannot read the node's power state and has put it into
	// maintenance, which it ends itself once it can. The action is Wait.
	PowerFailure
	// Protected: the node is protected, which a person must end first.
	Protected
	// Retired: the node is retired, and is not provided.
	Retired
	// Reserved: the conductor is at work on the node and would answer 409. The
	// action is Wait.
	Reserved
)

var reasonWords = &enum.Words{Type: "Reason", Kind: "reason", Words: []string{
	"none", "needs retry", "needs unhold", "needs destroy", "needs version", "overtaken", "no way", "unknown state",
	"in maintenance", "power failure", "protected", "retired", "reserved",
}}

// String returns the reason in words, or a form like "Reason(99)" for a number
// that is none.
func (r Reason) String() string { return reasonWords.String(uint8(r)) }

// MarshalText returns the reason in words. A number that is no reason is a
// [*states.UnknownError].
func (r Reason) MarshalText() ([]byte, error) { return reasonWords.Marshal(uint8(r)) }

// UnmarshalText takes what MarshalText returns; r keeps its value on error.
func (r *Reason) UnmarshalText(text []byte) error { return enum.Unmarshal(reasonWords, r, text) }

// Step is an answer of [Next]. It is a value and may be shared freely.
type Step struct {
	Action Action `json:"action"`
	// Verb is the word to PUT, for Send. For Blocked it is the word that would
	// lead on, where there is one.
	Verb string `json:"verb"`
	// With is the field that must go with the verb, as [states.Event.Requires]
	// names it; empty where there is none.
	With string `json:"with"`
	// Version is the API version to send the verb with: the wish's, or the
	// series' highest where the wish's is higher.
	Version states.APIVersion `json:"version"`
	// Work is what the verb starts, what is waited for, or what failed or is
	// held; NoWork where a verb moves the node at once.
	Work Work `json:"work"`
	// Call says, for Wait, that the conductor itself waits for a call from
	// outside, which a timeout ends.
	Call bool `json:"call"`
	// Until is, for Wait, the state in which the work ends when it succeeds.
	Until states.State `json:"until"`
	// Reason is set for Blocked, and for Wait where the conductor is not at work
	// on the node's state.
	Reason Reason `json:"reason"`
	// Left is the number of requests still to send, this one included, if all
	// work succeeds. For Blocked it is 0.
	Left int `json:"left"`
	// Progress is the wish's progress after this step. Store it at once or, for
	// Send, once the API has accepted the request: when it refuses (a locked
	// node, a server that is down), keep the old one and ask Next again. A
	// program that dies in between sends work that is to be done once again.
	Progress Progress `json:"progress"`
}

// String returns the step as a line for logs, as in "send clean with clean_steps"
// or "wait for cleaning to end in available".
func (s Step) String() string {
	switch s.Action {
	case Send:
		return "send " + s.request()
	case Wait:
		if s.Reason != NoReason {
			return fmt.Sprintf("wait: %v, before %s", s.Reason, s.request())
		}
		return fmt.Sprintf("wait for %v to end in %v", s.Work, s.Until)
	case Blocked:
		text := "blocked: " + s.Reason.String()
		if s.Work != NoWork {
			text += " of " + s.Work.String()
		}
		if s.Verb != "" {
			text += ", before " + s.request()
		}
		return text
	default:
		return s.Action.String()
	}
}

func (s Step) request() string {
	if s.With == "" {
		return s.Verb
	}
	return s.Verb + " with " + s.With
}
