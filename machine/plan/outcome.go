package plan

import (
	"github.com/ironstate/ironstate/internal/enum"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Verdict is what has become of a request.
type Verdict uint8

const (
	// NoVerdict is the zero Verdict; a Result that comes with an error has it.
	NoVerdict Verdict = iota
	// InProgress: what the request started has not ended. It may be held, in a
	// state of [states.Table.Held], and then wants a person.
	InProgress
	// Succeeded: the node is where the request leads.
	Succeeded
	// Failed: what the request started failed, or the node is in another failed
	// state, which someone else's request brought it to.
	Failed
	// Moved: the node is where what the request started cannot have led;
	// someone else has moved it, before or after the end.
	Moved
	// Unknown: the node is in a state that the table does not have, of a server
	// newer than this module ([states.UnknownState]). Look again later.
	Unknown
)

var verdictWords = &enum.Words{Type: "Verdict", Kind: "verdict", Words: []string{
	"none", "in progress", "succeeded", "failed", "moved", "unknown",
}}

// String returns the verdict in words, or a form like "Verdict(99)" for a number
// that is none.
func (v Verdict) String() string { return verdictWords.String(uint8(v)) }

// MarshalText returns the verdict in words. A number that is no verdict is a
// [*states.UnknownError].
func (v Verdict) MarshalText() ([]byte, error) { return verdictWords.Marshal(uint8(v)) }

// UnmarshalText takes what MarshalText returns; v keeps its value on error.
func (v *Verdict) UnmarshalText(text []byte) error { return enum.Unmarshal(verdictWords, v, text) }

// Result is an answer of [Outcome]. It is a value and may be shared freely.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Reason is, for Failed, the node's last error.
	Reason string `json:"reason"`
}

// Outcome answers what has become of a request for a provision state that the
// API has accepted: before is the node that it was sent to, request its word,
// now the node as it is seen. A node without a state counts as available. It
// does not allocate unless it returns an error.
//
// Where a request leads is the stable state in which its work ends, or the state
// that it leads to at once. An unhold leads where the work that it lets go on
// does. A clean also succeeds in available, see [Cleaned].
//
// Ironic moves the node before it answers 202, so that a manage from enroll that
// finds the node in enroll again has failed. The automated cleaning of a node
// that is marked as retired ends in manageable, which is Moved here.
//
// The errors are [*states.UnknownError] (no verb), [*states.RequestError] (not
// from that state), [machine.ErrNoTable], [*machine.StateError] and
// [*machine.TargetError]. Source: where openstacksdk stops waiting, it is by the
// same rules.
func Outcome(t *states.Table, before machine.Node, request string, now machine.Node) (Result, error) {
	if t == nil {
		return Result{}, machine.ErrNoTable
	}
	x := indexOf(t)
	before.State, now.State = named(before.State), named(now.State)
	if _, err := states.ParseVerb(request); err != nil {
		return Result{}, err
	}
	before.Target = orNone(before.Target)
	if err := x.check(before); err != nil {
		return Result{}, err
	}
	if now.State == states.UnknownState {
		return Result{Verdict: Unknown}, nil
	}
	now.Target = orNone(now.Target)
	if err := x.check(now); err != nil {
		return Result{}, err
	}
	after, err := before.Request(t, request, x.highest)
	if err != nil {
		return Result{}, err
	}
	verdict := x.judge(after, now)
	if verdict == Failed {
		return Result{Failed, now.LastError}, nil
	}
	return Result{Verdict: verdict}, nil
}

// orNone returns no target for one that is not known.
func orNone(target states.State) states.State {
	if target == states.UnknownState {
		return states.NoState
	}
	return target
}

// named returns the state that null is shown for.
func named(s states.State) states.State {
	if s == states.NoState {
		return states.Available
	}
	return s
}

// judge compares a node with what a request may lead to that has moved it to after.
func (x *index) judge(after, now machine.Node) Verdict {
	manual := x.at(after) != position(after.State)
	end := x.ends[after.State]
	switch {
	case now.State == end, manual && now.State == states.Manageable:
		return Succeeded
	case !x.rests(now.State):
		if !x.reach[after.State].Has(now.State) || !manual && x.at(now) != position(now.State) {
			return Moved
		}
		return InProgress
	case x.phases[now.State] == states.PhaseFailed:
		return Failed
	case now.State == states.Enroll && x.failsInEnroll(after.State, end, manual, now):
		return Failed
	default:
		return Moved
	}
}

// failsInEnroll reports whether a node in enroll says that a request has failed:
// verification ends there, and openstacksdk takes a last error for the failure
// of whatever leads to manageable.
func (x *index) failsInEnroll(first, end states.State, manual bool, now machine.Node) bool {
	return x.reach[first].Has(states.Enroll) || now.LastError != "" && (manual || end == states.Manageable)
}
