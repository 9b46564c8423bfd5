package plan

import (
	"slices"

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
)

var verdictWords = []string{"none", "in progress", "succeeded", "failed", "moved"}

// String returns the verdict in words, or a form like "Verdict(99)" for a number
// that is none.
func (v Verdict) String() string { return word(verdictWords, uint8(v), "Verdict") }

// MarshalText returns String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

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
// The errors are [*states.UnknownError] (no verb), [*machine.EventError] (not
// from that state), [machine.ErrNoTable], [*machine.StateError] and
// [*machine.TargetError]. Source: where openstacksdk stops waiting, it is by the
// same rules.
func Outcome(t *states.Table, before machine.Node, request string, now machine.Node) (Result, error) {
	if t == nil {
		return Result{}, machine.ErrNoTable
	}
	b := bookOf(t)
	before.State, now.State = named(before.State), named(now.State)
	event, err := states.ParseVerb(request)
	if err != nil {
		return Result{}, err
	}
	first, ok := t.Next(before.State, event)
	if !ok || !b.knows(before) || !b.knows(now) {
		return Result{}, b.refuse(before, event, now)
	}
	switch b.judge(before, event, first, now) {
	case Failed:
		return Result{Failed, now.LastError}, nil
	case Succeeded:
		return Result{Verdict: Succeeded}, nil
	case InProgress:
		return Result{Verdict: InProgress}, nil
	default:
		return Result{Verdict: Moved}, nil
	}
}

// named returns the state that null is shown for.
func named(s states.State) states.State {
	if s == states.NoState {
		return states.Available
	}
	return s
}

// refuse returns the first error of an Outcome.
func (b *book) refuse(before machine.Node, event states.Event, now machine.Node) error {
	for _, n := range [...]machine.Node{before, now} {
		if err := b.check(n); err != nil {
			return err
		}
	}
	return &machine.EventError{
		Series: b.table.Series(), State: before.State, Event: event, Allowed: slices.Collect(b.table.Events(before.State)),
	}
}

// judge compares a node with what an event that led to first may lead to.
func (b *book) judge(before machine.Node, event states.Event, first states.State, now machine.Node) Verdict {
	_, manual := b.manually(first)
	manual = manual && (event == states.EventClean || b.at(before.State, before.Target) != place(before.State))
	end := b.ends[first]
	switch {
	case now.State == end, manual && now.State == states.Manageable:
		return Succeeded
	case b.kinds[now.State] != resting:
		if !b.reach[first].Has(now.State) || !manual && b.at(now.State, now.Target) != place(now.State) {
			return Moved
		}
		return InProgress
	case b.failed.Has(now.State):
		return Failed
	case now.State == states.Enroll && b.failsInEnroll(first, end, manual, now):
		return Failed
	default:
		return Moved
	}
}

// failsInEnroll reports whether a node in enroll says that a request has failed:
// verification ends there, and openstacksdk takes a last error for the failure
// of whatever leads to manageable.
func (b *book) failsInEnroll(first, end states.State, manual bool, now machine.Node) bool {
	return b.reach[first].Has(states.Enroll) || now.LastError != "" && (manual || end == states.Manageable)
}
