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
	// ErrCallback: a callback cannot be told when to be called. The error is a
	// [*CallbackError].
	ErrCallback = errors.New("callback without a place")
)

// CallbackError says that a key of fsm.Callbacks names no state or event of any
// series, or means what another key means too. It matches [ErrCallback].
type CallbackError struct {
	Key   string
	Twice bool // another key means the same
}

func (e *CallbackError) Error() string {
	if e.Twice {
		return fmt.Sprintf("callback %q: another key means the same", e.Key)
	}
	return fmt.Sprintf("callback %q: want before_, leave_, enter_ or after_ with a state or an event, or just one of these", e.Key)
}

// Is reports whether target is [ErrCallback].
func (e *CallbackError) Is(target error) bool { return target == ErrCallback }

// agreed is what the callbacks' agreement to an event looks like to looplab.
type agreed struct {
	err error // what they left in fsm.Event.Err without cancelling
}

func (*agreed) Error() string { return "the callbacks have agreed" }

// asLooplab returns what looplab answers where package machine answers err.
func asLooplab(t *states.Table, err error) error {
	switch err := err.(type) {
	case *machine.EventError:
		if !knows(t, err.Event) {
			return fsm.UnknownEventError{Event: err.Event.String()}
		}
		return fsm.InvalidEventError{Event: err.Event.String(), State: err.State.String()}
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
