// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"encoding/json"
	"slices"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// Node is a node's provision state, target and last error, as Ironic stores them. It
// is a value: copy it, compare it with ==, share the copies. Its JSON keys are
// Ironic's, and as in Ironic no target and no error are null. Decode JSON into a zero Node:
// encoding/json lets null leave a LastError as it is.
type Node struct {
	State     states.State `json:"provision_state"`
	Target    states.State `json:"target_provision_state"`
	LastError string       `json:"last_error"`
}

// MarshalJSON implements [json.Marshaler].
func (n Node) MarshalJSON() ([]byte, error) {
	type plain Node
	return json.Marshal(struct {
		plain
		LastError *string `json:"last_error"`
	}{plain(n), textOrNull(n.LastError)})
}

// Input is an event with its target, power state and last error.
type Input struct {
	Event states.Event
	// Target is the node's new target, a stable state, if it is not the table's:
	// Ironic names Manageable with every event of a manual cleaning, and Active with
	// an adoption. With NoState the table decides.
	Target states.State
	// Work says that work starts in the new state: the last error is cleared, and a
	// target is kept even if the new state is stable.
	Work bool
	// Power is the power state that a verification has read. It is no field of Node:
	// hooks get it in [Transition.Power], so that a save hook can store it in the same
	// write, as Ironic does.
	Power states.Power
	// LastError is stored as the node's last error: in valid UTF-8, without control
	// characters and characters that change the direction of writing, truncated to
	// 2 KiB. An empty one keeps the node's last error, or clears it if work starts.
	LastError string
}

// Apply returns the node after an event, by the rules of Ironic's state machine. It
// has no side effects, never panics, and does not allocate when it succeeds and the last
// error needs no change to be stored. It is the low level: [Node.Request] and
// [Node.Report] derive the input from a request or a report by the conductor's rules.
//
// The table must have a row for the event in the node's state. The event changes the
// state. Then the target is cleared if it is reached, is set to the new state's default
// target if that has one, and is set to in.Target if that is not NoState. A node
// without a target counts as having its state's default target. A node in a stable
// state has no target unless work starts there.
//
// On error the node is returned unchanged. The errors are [*StateError], also
// for a stored or named target that is not a stable state, and [*EventError].
//
// Source: ironic/common/fsm.py and process_event in
// ironic/conductor/task_manager.py.
func (n Node) Apply(t *states.Table, in Input) (Node, error) {
	if !n.apply(t, &in) {
		return n, n.refusal(t, in)
	}
	return n, nil
}

// apply is Apply in place. It reports whether the event can be applied, and otherwise changes nothing.
func (n *Node) apply(t *states.Table, in *Input) bool {
	to, ok := t.Next(n.State, in.Event)
	if !ok || !isTarget(t, n.Target) || !isTarget(t, in.Target) {
		return false
	}
	target := t.Target(to)
	if in.Work || in.Target != states.NoState {
		target = n.nextTarget(t, to, in)
	}
	n.State, n.Target = to, target
	if in.Work || in.LastError != "" {
		n.setLastError(in)
	}
	return true
}

// setLastError stores the last error of an input, unless it is blank and no work starts.
func (n *Node) setLastError(in *Input) {
	if text := errtext.Clean(in.LastError); in.Work || !isBlank(text) {
		n.LastError = text
	}
}

// isTarget reports whether s is a valid target: NoState or a stable state.
func isTarget(t *states.Table, s states.State) bool {
	return s == states.NoState || t.Stable().Has(s)
}

// refusal returns the error of an event that cannot be applied.
func (n Node) refusal(t *states.Table, in Input) error {
	if err := n.check(t); err != nil {
		return err
	}
	if _, ok := t.Next(n.State, in.Event); !ok {
		return &EventError{Series: t.Series(), State: n.State, Event: in.Event, Allowed: slices.Collect(t.Events(n.State))}
	}
	return &StateError{Series: t.Series(), State: in.Target, Role: NamedTarget}
}

// nextTarget returns the target in a new state if work starts or a target is named.
// Otherwise the target is the table's: the state's default, or none in a stable state.
func (n *Node) nextTarget(t *states.Table, to states.State, in *Input) states.State {
	if t.Stable().Has(to) && !in.Work {
		return states.NoState
	}
	if in.Target != states.NoState {
		return in.Target
	}
	if target := t.Target(to); target != states.NoState {
		return target
	}
	target := n.Target
	if target == states.NoState {
		target = t.Target(n.State)
	}
	if target == to {
		return states.NoState
	}
	return target
}

// check returns an error unless the table has the node's state and its target is
// none or a stable state.
func (n Node) check(t *states.Table) error {
	switch {
	case !t.States().Has(n.State):
		return &StateError{Series: t.Series(), State: n.State}
	case !isTarget(t, n.Target):
		return &StateError{Series: t.Series(), State: n.Target, Role: StoredTarget}
	default:
		return nil
	}
}
