package machine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
)

// ask calls the guard and save hooks and returns the first error.
func (m *Machine) ask(ctx context.Context, t Transition) error {
	for _, guard := range m.guard {
		if err := call(ctx, guard, t); err != nil {
			return &HookError{Node: t.Node, Hook: "guard", Event: t.Event, Err: err}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, save := range m.save {
		hook := func(ctx context.Context, t Transition) error { return save(ctx, t.From, t.To) }
		if err := call(ctx, hook, t); err != nil {
			return &HookError{Node: t.Node, Hook: "save", Event: t.Event, Err: err}
		}
	}
	return nil
}

// tell calls all exit and enter hooks and returns their errors, joined.
func (m *Machine) tell(ctx context.Context, t Transition) error {
	var errs []error
	for _, exit := range m.exit {
		if err := call(ctx, exit, t); err != nil {
			errs = append(errs, &HookError{Node: t.Node, Hook: "exit", Event: t.Event, Moved: true, Err: err})
		}
	}
	for _, enter := range m.enter {
		if err := call(ctx, enter, t); err != nil {
			errs = append(errs, &HookError{Node: t.Node, Hook: "enter", Event: t.Event, Moved: true, Err: err})
		}
	}
	return errors.Join(errs...)
}

// call calls a hook and returns its panic as an error.
func call(ctx context.Context, hook Hook, t Transition) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return hook(ctx, t)
}

// turnOf is the key under which a context carries that a guard or save hook of
// its machine runs.
type turnOf struct{ m *Machine }

// enterTurn returns the context for guard and save hooks, and the function that
// says that they are through: a context that a hook has kept is good for firing
// from then on.
func enterTurn(ctx context.Context, m *Machine) (context.Context, func()) {
	running := new(atomic.Bool)
	running.Store(true)
	return context.WithValue(ctx, turnOf{m}, running), func() { running.Store(false) }
}

func inTurn(ctx context.Context, m *Machine) bool {
	running, ok := ctx.Value(turnOf{m}).(*atomic.Bool)
	return ok && running.Load()
}
