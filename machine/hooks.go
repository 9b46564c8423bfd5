package machine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
)

// before calls the guard and save hooks until one fails, and returns its error.
func (o *observers) before(ctx context.Context, t *Transition) error {
	for _, guard := range o.guard {
		if err := call(ctx, guard, t); err != nil {
			return &HookError{Node: t.Node, Hook: "guard", Event: t.Event, Err: err}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, save := range o.save {
		if err := call(ctx, save, t); err != nil {
			return &HookError{Node: t.Node, Hook: "save", Event: t.Event, Err: err}
		}
	}
	return nil
}

// after calls all exit and enter hooks, even if some fail, and joins their errors.
func (o *observers) after(ctx context.Context, t *Transition) error {
	var errs []error
	for next := 0; next < len(o.moved); {
		var err error
		if next, err = o.afterFrom(ctx, t, next); err != nil {
			errs = append(errs, err)
		}
	}
	if errs == nil {
		return nil
	}
	return errors.Join(errs...)
}

// afterFrom calls the exit and enter hooks from an index on until one fails, and
// returns the index after the last hook called.
func (o *observers) afterFrom(ctx context.Context, t *Transition, first int) (next int, err error) {
	next = first
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
		if err != nil {
			err = &HookError{Node: t.Node, Hook: o.kind(next - 1), Event: t.Event, Moved: true, Err: err}
		}
	}()
	for next < len(o.moved) && err == nil {
		hook := o.moved[next]
		next++
		err = hook(ctx, *t)
	}
	return next, err
}

// kind returns the kind of the hook with an index in moved.
func (o *observers) kind(i int) string {
	if i < o.exits {
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

// hookKey is the context key that marks the contexts of a machine's guard and save
// hooks.
type hookKey struct{ m *Machine }

// enterHooks returns the context for guard and save hooks, and the function to call
// after them: from then on a context that a hook has kept may move the machine.
func enterHooks(ctx context.Context, m *Machine) (context.Context, func()) {
	running := new(atomic.Bool)
	running.Store(true)
	return context.WithValue(ctx, hookKey{m}, running), func() { running.Store(false) }
}

func inHook(ctx context.Context, m *Machine) bool {
	running, ok := ctx.Value(hookKey{m}).(*atomic.Bool)
	return ok && running.Load()
}
