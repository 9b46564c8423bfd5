package machine

import (
	"encoding/json"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// Node is a node's provision state, target and last error, as Ironic stores them. It is a value:
// copy it, compare it with ==, share the copies. Its JSON keys are Ironic's, and as
// in Ironic no target and no error are null.
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
	// Target is the state that the node shall be headed for, a stable one, where
	// that is not the table's: Ironic names Manageable with every event
	// of a manual cleaning, and Active with an adoption. NoState leaves it to
	// the table.
	Target states.State
	// Work says that work starts in the new state, so that the node does not
	// rest in it: the last error is cleared, and a target is kept even where
	// the new state is stable.
	Work bool
	// Power is the power state that was read, for the end of a verification. It
	// changes nothing here: hooks get it in [Transition.Power], so that a save
	// hook stores it in the same write, as Ironic does.
	Power states.Power
	// LastError is stored as the node's last error: in valid UTF-8, without
	// control characters and characters that change the direction of writing,
	// cut at 2 KiB. Empty leaves the error that the node has, or clears it where
	// work starts.
	LastError string
}

// Apply returns the node after an event, by the rules of Ironic's state machine. It
// changes nothing outside, never panics, and does not allocate when it succeeds.
// It is the low level: [Node.Request] and [Node.Report] know which input the
// conductor makes of a request and of a report.
//
// The event needs a row in the table. It moves the state; then the target is
// cleared if it is reached, becomes the new state's default target if that has
// one, and becomes in.Target if that is named. A node without a target starts
// out with its state's default. A node that rests in a stable state has none.
//
// On error the node is returned as it was. The errors are [*StateError], also
// for a stored or named target that is not a stable state, and [*EventError].
//
// Source: ironic/common/fsm.py and process_event in
// ironic/conductor/task_manager.py.
func (n Node) Apply(t *states.Table, in Input) (Node, error) {
	to, ok := t.Next(n.State, in.Event)
	if !ok || !isTarget(t, n.Target) || !isTarget(t, in.Target) {
		return n, n.refusal(t, in)
	}
	next := Node{State: to, Target: t.Target(to), LastError: n.LastError}
	if in.Work || in.Target != states.NoState {
		next.Target = n.nextTarget(t, to, in)
	}
	if in.Work || in.LastError != "" {
		next.LastError = errtext.Clean(in.LastError)
	}
	return next, nil
}

// isTarget reports whether a node can be headed for s: none or a stable state.
func isTarget(t *states.Table, s states.State) bool {
	return s == states.NoState || t.Stable().Has(s)
}

// refusal returns the error of an event that cannot be applied.
func (n Node) refusal(t *states.Table, in Input) error {
	if err := n.check(t); err != nil {
		return err
	}
	if _, ok := t.Next(n.State, in.Event); !ok {
		return newEventError(t, n.State, in.Event)
	}
	return &StateError{Series: t.Series(), State: in.Target, Target: namedTarget}
}

// nextTarget returns the target in a new state where work starts or a target is
// named. Where neither is, it is the table's: the state's default, or none in a
// stable state.
func (n Node) nextTarget(t *states.Table, to states.State, in Input) states.State {
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
		return &StateError{Series: t.Series(), State: n.Target, Target: storedTarget}
	default:
		return nil
	}
}
