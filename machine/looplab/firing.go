package looplab

import (
	"context"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// A firing is what an event that was fired at an FSM takes along, in its context.
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

// firingIn returns what a step takes along: nothing, if it was fired at the
// Machine.
func (f *FSM) firingIn(ctx context.Context) *firing {
	if fr, _ := ctx.Value(firingOf{f}).(*firing); fr != nil {
		return fr
	}
	return new(firing)
}

// bare returns the context for hooks and callbacks. They may fire the next event
// with it, which must not take along what this one does.
func (f *FSM) bare(ctx context.Context) context.Context {
	return context.WithValue(ctx, firingOf{f}, (*firing)(nil))
}

func (f *FSM) bareHooks(hooks []machine.Hook) []machine.Hook {
	var bare []machine.Hook
	for _, hook := range hooks {
		bare = append(bare, func(ctx context.Context, step machine.Transition) error {
			return hook(f.bare(ctx), step)
		})
	}
	return bare
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
	if err := f.inside.Transition(); err != nil {
		return err
	}
	f.inside.SetState(from.String())
	if fr.in.Event == states.NoEvent {
		return ErrAsync
	}

	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fr.later = later
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = fr
	return fsm.AsyncError{Err: fr.err, Ctx: later, CancelTransition: func() {
		cancel()
		f.letGo(fr)
	}}
}

// heldNow returns the event that waits to be completed, if any.
func (f *FSM) heldNow() *firing {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// letGo stops holding an event, and reports whether it was held.
func (f *FSM) letGo(fr *firing) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != fr {
		return false
	}
	f.held = nil
	return true
}
