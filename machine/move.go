// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/ironstate/ironstate/states"
)

// Request moves the node as [Node.Request] does, and runs the hooks. It returns the
// errors of Node.Request and of [Machine.Apply].
//
// As there, a client's "manage" in Cleaning and "clean" in Deleting end running work. A service
// that runs work asks package admission first, with Reserved set until the work has ended.
//
// The abort of a service is two transitions, and each runs the hooks. If the first has
// happened and the second is refused, the node is in ServiceFail; the second is also refused,
// with a [*SupersededError], if another caller has moved the node since the first.
func (m *Machine) Request(ctx context.Context, target string, v states.APIVersion) error {
	s := Sequence{m: m}
	return s.Request(ctx, target, v)
}

// Report moves the node as [Node.Report] does, and runs the hooks. It returns the errors
// of Node.Report and of [Machine.Apply].
func (m *Machine) Report(ctx context.Context, event states.Event, lastError string) error {
	return m.move(ctx, func(n Node) (Input, error) { return n.reported(m.table, event, lastError) })
}

// Fire is [Machine.Apply] with only an event.
func (m *Machine) Fire(ctx context.Context, event states.Event) error {
	return m.Apply(ctx, Input{Event: event})
}

// Apply moves the node as [Node.Apply] does and runs the hooks in the order of the
// package comment. It is the low level: [Machine.Request] and [Machine.Report] derive
// the input from a request or a report by the conductor's rules.
//
// The errors of Node.Apply, the context's error, and a [*HookError] of a guard or save
// hook mean that nothing has happened. A HookError of an exit or enter hook (several are
// joined) means that the node is in its new state. [Moved] tells which. A hook's panic
// is a [*PanicError] in a HookError.
//
// A context that ends before the save hooks have run stops the transition; after that
// only the hooks see that it has ended.
func (m *Machine) Apply(ctx context.Context, in Input) error {
	if m == nil || m.observers != nil {
		return m.move(ctx, func(Node) (Input, error) { return in, nil })
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	err := m.step(&in)
	m.mu.Unlock() // Node.Apply does not panic
	return err
}

// Moved reports whether the node has moved, given the error of a move: it has also
// moved if only exit or enter hooks failed, or the second transition of a request.
func Moved(err error) bool { return err == nil || hasMoved(err) }

func hasMoved(err error) bool {
	switch err := err.(type) {
	case *HookError:
		return err.Moved
	case *secondError:
		return true
	case interface{ Unwrap() error }:
		return hasMoved(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range err.Unwrap() {
			if hasMoved(part) {
				return true
			}
		}
	}
	return false
}

// secondError says that the first transition of a request has happened and the second
// has not.
type secondError struct{ err error }

func (e *secondError) Error() string {
	return fmt.Sprintf("the node has moved to %q and no further: %v", states.ServiceFail, e.err)
}

func (e *secondError) Unwrap() error { return e.err }

// move applies the input that derive returns for the node, and runs the hooks.
func (m *Machine) move(ctx context.Context, derive func(Node) (Input, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m == nil {
		return Node{}.check(nil)
	}
	if m.observers != nil {
		var t Transition
		if err := m.commit(ctx, derive, &t); err != nil {
			return err
		}
		return m.observers.after(ctx, &t)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	in, err := derive(m.node)
	if err != nil {
		return err
	}
	return m.step(&in)
}

// step applies an input to the node of a machine without observers. The caller holds mu.
func (m *Machine) step(in *Input) error {
	if !m.node.apply(m.table, in) {
		return m.node.refusal(m.table, *in)
	}
	m.count++
	return nil
}

// commit is the part of move until the new node is visible, for a machine with observers. It fills in the transition.
// Without guard and save hooks it is one critical section; with them, hooksMu keeps other moves out while they run.
func (m *Machine) commit(ctx context.Context, derive func(Node) (Input, error), t *Transition) error {
	hooked := m.observers.hooksMu != nil
	if hooked {
		if err := m.lockHooks(ctx); err != nil {
			return err
		}
		defer m.unlockHooks()
	}
	t.Time = m.observers.now()
	m.mu.Lock()
	err := m.next(derive, t)
	if err == nil && hooked {
		m.mu.Unlock() // the hooks may read the node or end the goroutine
		err = m.before(ctx, t)
		m.mu.Lock()
	}
	if err == nil {
		m.node = t.To
		m.count++
		if m.observers.history.most > 0 {
			m.observers.history.add(*t)
		}
	}
	m.mu.Unlock()
	return err
}

// next fills in the transition by the input that derive returns. The caller holds mu.
func (m *Machine) next(derive func(Node) (Input, error), t *Transition) error {
	in, err := derive(m.node)
	if err != nil {
		return err
	}
	to, err := m.node.Apply(m.table, in)
	if err != nil {
		return err
	}
	t.Node, t.Token, t.Event, t.Power = m.name, m.token, in.Event, in.Power
	t.From, t.To = m.node, to
	t.Status = statusOf(m.table, t.From.State, in.Event, to.State)
	return nil
}

// lockHooks waits until no guard or save hook runs. Waiting callers proceed in the
// order of their calls.
func (m *Machine) lockHooks(ctx context.Context) error {
	if running, ok := ctx.Value(hookKey{m}).(*atomic.Bool); ok && running.Load() {
		return errInHook
	}
	select {
	case m.observers.hooksMu <- struct{}{}:
		err := ctx.Err() // it may have ended, too
		if err != nil {
			m.unlockHooks()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Machine) unlockHooks() { <-m.observers.hooksMu }

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
