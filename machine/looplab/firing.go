// SPDX-License-Identifier: Apache-2.0

package looplab

import (
	"context"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// A firing is an event that was fired at an FSM. Its context carries it to the
// hooks.
type firing struct {
	in        machine.Input
	args      []any
	completes *firing         // the pending firing that this one completes
	err       error           // the fsm.Event.Err that callbacks set without cancelling
	later     context.Context // the context with which Transition completes a pending event
	moves     uint64          // Machine.Moves when a pending event was fired
}

type firingOf struct{ f *FSM }

func (f *FSM) fire(ctx context.Context, fr *firing) error {
	return f.machine.Apply(context.WithValue(ctx, firingOf{f}, fr), fr.in)
}

// firingIn returns the firing in a hook's context, or an empty one if the event was
// fired at the Machine.
func (f *FSM) firingIn(ctx context.Context) *firing {
	if fr, _ := ctx.Value(firingOf{f}).(*firing); fr != nil {
		return fr
	}
	return new(firing)
}

// withoutFiring returns the context for hooks and callbacks. They may use it to fire
// the next event, which has its own arguments.
func (f *FSM) withoutFiring(ctx context.Context) context.Context {
	return context.WithValue(ctx, firingOf{f}, (*firing)(nil))
}

func (f *FSM) plainHooks(hooks []machine.Hook) []machine.Hook {
	var plain []machine.Hook
	for _, hook := range hooks {
		plain = append(plain, func(ctx context.Context, step machine.Transition) error {
			return hook(f.withoutFiring(ctx), step)
		})
	}
	return plain
}

// Transition completes an event whose leave callback called Async, and for which
// Event returned an fsm.AsyncError. Until then the node stays in its state, and other
// events that its state has are refused with fsm.InTransitionError. Transition runs the guard and save
// hooks, and the callbacks that follow the move.
//
// It returns the errors of [FSM.Event], and fsm.NotInTransitionError if there is
// nothing to complete, for instance after CancelTransition of the AsyncError, or once
// [machine.Machine.SetNode] has changed the node's state or target, which discards the
// event even if another SetNode changes them back. If a hook refuses, the event is
// discarded and nothing has happened.
func (f *FSM) Transition() error {
	pending := f.pendingNow()
	if pending == nil {
		return fsm.NotInTransitionError{}
	}
	second := &firing{in: pending.in, args: pending.args, err: pending.err, completes: pending}
	return asLooplab(f.table, f.fire(pending.later, second))
}

// postpone keeps an asynchronous event until Transition completes it.
func (f *FSM) postpone(ctx context.Context, from states.State, fr *firing) error {
	// If its own asynchronous transition stayed open, looplab would refuse all events.
	if err := f.inner.Transition(); err != nil {
		return err
	}
	f.inner.SetState(from.String())
	if fr.in.Event == states.NoEvent {
		return errAsync
	}

	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fr.later, fr.moves = later, f.machine.Moves()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = fr
	return fsm.AsyncError{Err: fr.err, Ctx: later, CancelTransition: func() {
		cancel()
		f.release(fr)
	}}
}

// pendingNow returns the pending event, nil if there is none. It drops one that SetNode has left behind.
func (f *FSM) pendingNow() *firing {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending != nil && f.leftBehind(f.pending) {
		f.pending = nil
	}
	return f.pending
}

// leftBehind reports whether SetNode has changed the node's state or target since a pending event was fired.
func (f *FSM) leftBehind(fr *firing) bool { return f.machine.Moves() != fr.moves }

// release drops a pending event, and reports whether it was pending and can be completed.
func (f *FSM) release(fr *firing) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending != fr {
		return false
	}
	f.pending = nil
	return !f.leftBehind(fr)
}
