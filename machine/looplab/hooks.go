// SPDX-License-Identifier: Apache-2.0

package looplab

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
)

// callerOf is the key of the caller's context. Looplab gets a context without cancellation, since a cancelled one would
// block it for ever.
type callerOf struct{}

// runGuards is a guard hook. It runs the callbacks that may cancel an event, unless they have allowed it already and
// Transition completes it.
func (f *FSM) runGuards(ctx context.Context, step machine.Transition) error {
	fr := f.firingIn(ctx)
	switch {
	case fr.completes != nil && f.release(fr.completes):
		return nil
	case fr.completes != nil:
		return fsm.NotInTransitionError{}
	case f.pendingNow() != nil:
		return fsm.InTransitionError{Event: step.Event.String()}
	}
	err := f.runCallbacks(ctx, step, fr.args)
	var yes *allowed
	var async fsm.AsyncError
	switch {
	case errors.As(err, &yes):
		fr.err = yes.err
		return nil
	case errors.As(err, &async):
		fr.err = async.Err
		return f.postpone(ctx, step.From.State, fr)
	default:
		return err
	}
}

// runCallbacks runs the callbacks that may cancel an event. The error is an *allowed if all allow it, and an
// fsm.AsyncError if one postpones it.
func (f *FSM) runCallbacks(ctx context.Context, step machine.Transition, args []any) error {
	f.inner.SetState(step.From.State.String())
	marked := context.WithValue(context.WithoutCancel(ctx), callerOf{}, f.withoutFiring(ctx))
	return f.inner.Event(marked, step.Event.String(), args...)
}

// guards returns the callbacks of the inner looplab FSM.
func (f *FSM) guards() fsm.Callbacks {
	guards := fsm.Callbacks{
		"before_event": guard(f.callbacks[trigger{when: before}]),
		"leave_state": func(_ context.Context, e *fsm.Event) {
			e.Cancel(&allowed{e.Err})
		},
	}
	for p, callback := range f.callbacks {
		if p.when == before && p.word != "" {
			guards["before_"+p.word] = guard(callback)
		}
	}
	for s := range f.table.States().All() {
		one, every := f.callbacks[trigger{leave, s.String()}], f.callbacks[trigger{when: leave}]
		if one != nil || every != nil {
			guards["leave_"+s.String()] = guard(one, every)
		}
	}
	return guards
}

// guard returns a callback that calls the callbacks that are not nil until one
// cancels. It turns a panic into a cancellation, and cancels an event that was fired
// at the looplab FSM itself.
func guard(callbacks ...fsm.Callback) fsm.Callback {
	return func(ctx context.Context, e *fsm.Event) {
		caller, ok := ctx.Value(callerOf{}).(context.Context)
		if !ok {
			e.Cancel(errDirect)
			return
		}
		for _, callback := range callbacks {
			if callback != nil {
				call(caller, callback, e)
			}
			if ctx.Err() != nil { // the callback has called e.Cancel
				return
			}
		}
	}
}

func call(ctx context.Context, callback fsm.Callback, e *fsm.Event) {
	defer func() {
		if value := recover(); value != nil {
			e.Cancel(&machine.PanicError{Value: value, Stack: debug.Stack()})
		}
	}()
	callback(ctx, e)
}

// mirrorState is the last save hook, after which nothing can refuse the transition.
func (f *FSM) mirrorState(_ context.Context, step machine.Transition) error {
	f.inner.SetState(step.To.State.String())
	return nil
}

// notify is an enter hook: it runs the callbacks that follow the move.
func (f *FSM) notify(ctx context.Context, step machine.Transition) error {
	e := blank()
	e.FSM = f.inner
	e.Event = step.Event.String()
	e.Src = step.From.State.String()
	e.Dst = step.To.State.String()
	fr := f.firingIn(ctx)
	e.Args, e.Err = fr.args, fr.err
	for _, p := range [...]trigger{{enter, e.Dst}, {when: enter}, {after, e.Event}, {when: after}} {
		if callback := f.callbacks[p]; callback != nil {
			callback(f.withoutFiring(ctx), &e)
		}
	}
	return e.Err
}

// blank returns an event whose Cancel can be called; only looplab can create one.
var blank = sync.OnceValue(func() fsm.Event {
	var made fsm.Event
	once := fsm.NewFSM("from", fsm.Events{{Name: "make", Src: []string{"from"}, Dst: "to"}}, fsm.Callbacks{
		"enter_to": func(_ context.Context, e *fsm.Event) { made = *e },
	})
	_ = once.Event(context.Background(), "make")
	return made
})
