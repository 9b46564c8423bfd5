package looplab

import (
	"errors"
	"fmt"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

var (
	// ErrDirect: an event was fired at the looplab FSM inside of an [FSM].
	ErrDirect = errors.New("fire at the FSM of package looplab, which looplab.Of returns, not at the one inside")
	// ErrAsync: a callback called Async for an event that was fired at the
	// Machine. [FSM.Transition] can complete only what was fired at the FSM.
	ErrAsync = errors.New("only an event that was fired at the FSM can be asynchronous")
	// ErrCallback: a key of fsm.Callbacks does not say when to call it. The error
	// is a [*CallbackError].
	ErrCallback = errors.New("unknown key of a callback")
)

// CallbackError says that a key of fsm.Callbacks names no state or event of any
// series, or means what another key means too. It matches [ErrCallback], and in the
// first case [states.ErrUnknown].
type CallbackError struct {
	Key   string
	Twice bool // another key means the same
}

// Error quotes the key and tells what would have been right.
func (e *CallbackError) Error() string {
	if e.Twice {
		return fmt.Sprintf("callback %q: another key means the same", e.Key)
	}
	return fmt.Sprintf("callback %q: want before_, leave_, enter_ or after_ with a state or an event, or just one of these", e.Key)
}

// Is reports whether target is [ErrCallback] or, unless the key is there twice,
// [states.ErrUnknown].
func (e *CallbackError) Is(target error) bool {
	return target == ErrCallback || target == states.ErrUnknown && !e.Twice
}

// allowed cancels looplab's own transition once every callback has allowed it.
type allowed struct {
	err error // what they left in fsm.Event.Err without cancelling
}

func (*allowed) Error() string { return "allowed by every callback" }

// A refusal is looplab's error for an event that is refused, and this module's
// error, which says more. It matches both.
type refusal struct {
	looplab error
	ours    error
}

func (r *refusal) Error() string { return r.looplab.Error() }

// Unwrap returns both errors.
func (r *refusal) Unwrap() []error { return []error{r.looplab, r.ours} }

// Is reports whether target is [states.ErrNotAllowed] and the table refused the
// event.
func (r *refusal) Is(target error) bool {
	return target == states.ErrNotAllowed && errors.As(r.ours, new(*machine.EventError))
}

// asLooplab returns what looplab answers where package machine answers err.
func asLooplab(t *states.Table, err error) error {
	switch err := err.(type) {
	case *machine.EventError:
		if !knows(t, err.Event) {
			return &refusal{fsm.UnknownEventError{Event: err.Event.String()}, err}
		}
		return &refusal{fsm.InvalidEventError{Event: err.Event.String(), State: err.State.String()}, err}
	case *machine.HookError:
		switch cause := err.Err.(type) {
		case fsm.CanceledError, fsm.AsyncError, fsm.InTransitionError, fsm.NotInTransitionError:
			return cause
		}
	}
	return err
}

func knows(t *states.Table, event states.Event) bool {
	for row := range t.Transitions() {
		if row.Event == event {
			return true
		}
	}
	return false
}
