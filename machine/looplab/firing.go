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
	completes *firing         // the held one that this is the second half of
	err       error           // what callbacks left in fsm.Event.Err without cancelling
	later     context.Context // set when it is held: what to complete it with
}

type firingOf struct{ f *FSM }

func (f *FSM) fire(ctx context.Context, fr *firing) error {
	return f.machine.FireInput(context.WithValue(ctx, firingOf{f}, fr), fr.in)
}

// firingIn returns the firing that a step's context carries, an empty one where the
// step was fired at the Machine.
func (f *FSM) firingIn(ctx context.Context) *firing {
	if fr, _ := ctx.Value(firingOf{f}).(*firing); fr != nil {
		return fr
	}
	return new(firing)
}

// withoutFiring returns the context for hooks and callbacks. They may fire the next event
// with it, which has its own arguments.
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
// Event returned an fsm.AsyncError. Until then the node stays where it was, and
// other events are refused with fsm.InTransitionError. The guard and save hooks,
// and the callbacks that enter, run now.
//
// Its errors are those of [FSM.Event], and fsm.NotInTransitionError when there is
// nothing to complete, as after CancelTransition of the AsyncError. When a hook
// refuses, the event is given up, and nothing has happened.
func (f *FSM) Transition() error {
	if f.Machine() == nil {
		return errNotMade
	}
	held := f.heldNow()
	if held == nil {
		return fsm.NotInTransitionError{}
	}
	second := &firing{in: held.in, args: held.args, err: held.err, completes: held}
	return asLooplab(f.table, f.fire(held.later, second))
}

// hold keeps an event that a callback wants completed later.
func (f *FSM) hold(ctx context.Context, from states.State, fr *firing) error {
	// Left in its own asynchronous transition, looplab would refuse all events.
	if err := f.inner.Transition(); err != nil {
		return err
	}
	f.inner.SetState(from.String())
	if fr.in.Event == states.NoEvent {
		return errAsync
	}

	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fr.later = later
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = fr
	return fsm.AsyncError{Err: fr.err, Ctx: later, CancelTransition: func() {
		cancel()
		f.release(fr)
	}}
}

// heldNow returns the event that waits to be completed, if any.
func (f *FSM) heldNow() *firing {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// release stops holding an event, and reports whether it was held.
func (f *FSM) release(fr *firing) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != fr {
		return false
	}
	f.held = nil
	return true
}
