// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Verdict is the result of a request. It is empty in case of an error.
type Verdict string

const (
	// InProgress says that the work that the request started has not ended. It may be on
	// hold, in a state of [states.PhaseHold], until an operator resumes it.
	InProgress Verdict = "in progress"
	// Succeeded says that the node is in the state that the request leads to.
	Succeeded Verdict = "succeeded"
	// Failed says that the work that the request started failed, or that the node is in
	// another failed state, which someone else's request led to. The node's last error
	// says why.
	Failed Verdict = "failed"
	// Moved says that the node is in a state that the request cannot have led to;
	// someone else has moved it, before or after the work ended.
	Moved Verdict = "moved"
	// Unknown says that the node was or is in a state that the table lacks, from a server
	// newer than this module; see [states.UnknownState]. Call Outcome again later.
	Unknown Verdict = "unknown"
)

// Outcome returns the result of a request for a provision state that the API has
// accepted: before is the node at the time of the request, request its target, now the
// node at a later observation. A node without a state counts as available. Outcome uses
// the requests of the series' highest API version, and does not allocate unless it
// returns an error.
//
// A request leads to the stable state in which its work ends, or to the state that
// it moves the node to at once. An unhold leads to the state that the resumed
// work leads to. A clean also succeeds in available, see [After].
//
// Ironic moves the node before it answers 202: after a manage from enroll, a node
// in enroll has failed verification. The automated cleaning of a retired node ends
// in manageable, which is Moved.
//
// The errors are [*states.UnknownError] (not a verb), [*states.RequestError] (not
// accepted in that state), and [*machine.StateError]. Whenever openstacksdk would stop
// waiting, Outcome agrees with its result.
func Outcome(t *states.Table, before machine.Node, request string, now machine.Node) (Verdict, error) {
	if _, err := states.ParseVerb(request); err != nil {
		return "", err
	}
	x := indexOf(t)
	before, now = asShown(before), asShown(now)
	for _, n := range [...]machine.Node{before, now} {
		if n.State == states.UnknownState {
			continue
		}
		if err := x.check(n); err != nil {
			return "", err
		}
	}
	if before.State == states.UnknownState || now.State == states.UnknownState {
		return Unknown, nil
	}
	after, err := before.Request(t, request, x.highest)
	if err != nil {
		return "", err
	}
	return x.judge(after, now), nil
}

// asShown returns a node with available in place of a null state, and without an
// unknown stored target.
func asShown(n machine.Node) machine.Node {
	if n.State == states.NoState {
		n.State = states.Available
	}
	n.Target = orNone(n.Target)
	return n
}

// orNone returns a stored target, or none if it is unknown.
func orNone(target states.State) states.State {
	if target == states.UnknownState {
		return states.NoState
	}
	return target
}

// judge returns the verdict for a request that moved the node to after.
func (x *index) judge(after, now machine.Node) Verdict {
	manual := x.positionOf(after, false) != position(after.State)
	end := x.ends[after.State]
	switch {
	case now.State == end, manual && now.State == states.Manageable:
		return Succeeded
	case !x.idle(now.State):
		if !x.reach[after.State].Has(now.State) || !manual && x.positionOf(now, false) != position(now.State) {
			return Moved
		}
		return InProgress
	case x.phases[now.State] == states.PhaseFailed:
		return Failed
	case now.State == states.Enroll && (x.reach[after.State].Has(states.Enroll) ||
		now.LastError != "" && (manual || end == states.Manageable)):
		// Verification fails in enroll, and openstacksdk takes a last error there for the failure
		// of any request that leads to manageable.
		return Failed
	default:
		return Moved
	}
}
