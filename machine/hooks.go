// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
)

// before calls the guard and save hooks until one fails, and returns its error.
func (m *Machine) before(ctx context.Context, t *Transition) error {
	running := new(atomic.Bool)
	running.Store(true)
	defer running.Store(false) // from then on a context that a hook has kept may move the machine
	ctx = context.WithValue(ctx, hookKey{m}, running)
	for _, guard := range m.observers.guard {
		if err := call(ctx, guard, GuardHook, t); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for _, save := range m.observers.save {
		if err := call(ctx, save, SaveHook, t); err != nil {
			return err
		}
	}
	return nil
}

// after calls all exit and enter hooks, even if some fail, and joins their errors.
func (o *observers) after(ctx context.Context, t *Transition) error {
	var errs []error
	for _, exit := range o.exit {
		if err := call(ctx, exit, ExitHook, t); err != nil {
			errs = append(errs, err)
		}
	}
	for _, enter := range o.enter {
		if err := call(ctx, enter, EnterHook, t); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// call calls a hook and returns its error or panic as a *HookError.
func call(ctx context.Context, hook Hook, kind HookKind, t *Transition) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
		if err != nil {
			err = &HookError{Node: t.Node, Hook: kind, Event: t.Event, Moved: kind == ExitHook || kind == EnterHook, Err: err}
		}
	}()
	return hook(ctx, *t)
}

// hookKey is the context key that marks the contexts of a machine's guard and save
// hooks.
type hookKey struct{ m *Machine }
