// SPDX-License-Identifier: Apache-2.0

package looplab

import (
	"errors"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Mistakes in the calling program.
var (
	errDirect = errors.New("fire at the FSM of package looplab, which looplab.Of returns, not at the one inside")
	// Transition can complete only an event that was fired at the FSM.
	errAsync = errors.New("only an event that was fired at the FSM, and not at its Machine, can be asynchronous")
)

// allowed cancels looplab's own transition once every callback has allowed it.
type allowed struct {
	err error // the fsm.Event.Err that callbacks set without cancelling
}

func (*allowed) Error() string { return "allowed by every callback" }

// A refusal joins looplab's error for a refused event with this module's more detailed
// one. It matches both.
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

// asLooplab converts an error of package machine to the error that looplab returns.
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
