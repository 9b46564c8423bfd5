package plan

import (
	"fmt"

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

var actionWords = []string{"none", "send", "wait", "done", "blocked"}

// String returns the word of the constant in lower case, or a form like
// "Action(99)" for a number that is none.
func (a Action) String() string { return word(actionWords, uint8(a), "Action") }

// MarshalText returns String.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Argument is what a request must carry beside its verb. The constants' words
// are the names of the request's fields.
type Argument uint8

const (
	// NoArgument: the verb is enough.
	NoArgument Argument = iota
	// CleanSteps ("clean_steps") goes with clean.
	CleanSteps
	// ServiceSteps ("service_steps") goes with service.
	ServiceSteps
	// RescuePassword ("rescue_password") goes with rescue; it must not be blank.
	RescuePassword
)

var argumentWords = []string{"none", "clean_steps", "service_steps", "rescue_password"}

// String returns the field's name, or a form like "Argument(99)" for a number
// that is none.
func (a Argument) String() string { return word(argumentWords, uint8(a), "Argument") }

// MarshalText returns String.
func (a Argument) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func argumentOf(e states.Event) Argument {
	switch e {
	case states.EventClean:
		return CleanSteps
	case states.EventService:
		return ServiceSteps
	case states.EventRescue:
		return RescuePassword
	default:
		return NoArgument
	}
}

// Reason is why a step is Blocked.
type Reason uint8

const (
	// NoReason: the step is not Blocked.
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
)

var reasonWords = []string{
	"none", "needs retry", "needs unhold", "needs destroy", "needs version", "overtaken", "no way",
}

// String returns the reason in words, or a form like "Reason(99)" for a number
// that is none.
func (r Reason) String() string { return word(reasonWords, uint8(r), "Reason") }

// MarshalText returns String.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Step is an answer of [Next]. It is a value and may be shared freely.
type Step struct {
	Action Action `json:"action"`
	// Verb is the word to PUT, for Send. For Blocked it is the word that would
	// lead on, where there is one.
	Verb string `json:"verb"`
	// With is what must go with the verb.
	With Argument `json:"with"`
	// Work is what the verb starts, what is waited for, or what failed or is
	// held; NoWork where a verb moves the node at once.
	Work Work `json:"work"`
	// Call says, for Wait, that the conductor itself waits for a call from
	// outside, which a timeout ends.
	Call bool `json:"call"`
	// Until is, for Wait, the state in which the work ends when it succeeds.
	Until states.State `json:"until"`
	// Reason is set for Blocked.
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
	if s.With == NoArgument {
		return s.Verb
	}
	return s.Verb + " with " + s.With.String()
}
