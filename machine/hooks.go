package machine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
)

// ask calls the guard and save hooks and returns the first error.
func (w *watch) ask(ctx context.Context, t *Transition) error {
	for _, guard := range w.guard {
		if err := call(ctx, guard, t); err != nil {
			return &HookError{Node: t.Node, Hook: "guard", Event: t.Event, Err: err}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, save := range w.save {
		hook := func(ctx context.Context, t Transition) error { return save(ctx, t.From, t.To) }
		if err := call(ctx, hook, t); err != nil {
			return &HookError{Node: t.Node, Hook: "save", Event: t.Event, Err: err}
		}
	}
	return nil
}

// tell calls all exit and enter hooks and returns their errors, joined.
func (w *watch) tell(ctx context.Context, t *Transition) error {
	var errs []error
	for next := 0; next < len(w.told); {
		var err error
		if next, err = w.tellFrom(ctx, t, next); err != nil {
			errs = append(errs, err)
		}
	}
	if errs == nil {
		return nil
	}
	return errors.Join(errs...)
}

// tellFrom calls hooks until one fails, and returns which one would be next.
func (w *watch) tellFrom(ctx context.Context, t *Transition, first int) (next int, err error) {
	next = first
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
		if err != nil {
			err = &HookError{Node: t.Node, Hook: w.place(next - 1), Event: t.Event, Moved: true, Err: err}
		}
	}()
	for next < len(w.told) && err == nil {
		hook := w.told[next]
		next++
		err = hook(ctx, *t)
	}
	return next, err
}

// place returns the place of one of the hooks that are told.
func (w *watch) place(i int) string {
	if i < w.exits {
		return "exit"
	}
	return "enter"
}

// call calls a hook and returns its panic as an error.
func call(ctx context.Context, hook Hook, t *Transition) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return hook(ctx, *t)
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
