// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"errors"
	"sync"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// assumptions has the assumptions that a schedule breaks: the rule for save hooks, or the Machine itself.
type assumptions struct {
	lies    bool     // a save hook that fails may have stored
	machine *defects // of a machine in place of the real one; nil for none
}

// defects has the defects of a machine.
type defects struct {
	unlocked  bool // hooks of two callers run at once
	early     bool // it moves before the save hooks
	stubborn  bool // it moves although a hook has refused
	astray    bool // it moves to another state than the hooks have seen
	hasty     bool // it calls the exit hooks before it moves
	halfway   bool // it does not call the enter hooks once an exit hook has failed
	repeats   bool // it calls the enter hooks twice
	silent    bool // it keeps the failures of exit and enter hooks to itself
	dishonest bool // it says of these failures that nothing has happened
	stuck     bool // it serves nobody after a failed hook
	oblivious bool // it has no history
}

// broken are the assumptions by their names.
var broken = map[string]assumptions{
	"none":                                          {},
	"a save hook that stores and fails":             {lies: true},
	"a machine without defects":                     {machine: &defects{}},
	"a machine without a lock":                      {machine: &defects{unlocked: true}},
	"a machine that moves too early":                {machine: &defects{early: true}},
	"a machine that moves against its hooks":        {machine: &defects{stubborn: true}},
	"a machine that goes astray":                    {machine: &defects{astray: true}},
	"a machine that calls exit hooks too early":     {machine: &defects{hasty: true}},
	"a machine that leaves hooks out":               {machine: &defects{halfway: true}},
	"a machine that repeats hooks":                  {machine: &defects{repeats: true}},
	"a machine that keeps failures to itself":       {machine: &defects{silent: true}},
	"a machine that does not say that it has moved": {machine: &defects{dishonest: true}},
	"a machine that stays locked":                   {machine: &defects{stuck: true}},
	"a machine without a history":                   {machine: &defects{oblivious: true}},
}

// derive returns the event and the next node of a request or a report.
type derive func(machine.Node) (states.Event, machine.Node, error)

// brokenMachine is a plain machine with defects.
type brokenMachine struct {
	defects
	config machine.Config
	turn   chan struct{} // full while guard and save hooks run

	mu      sync.Mutex
	node    machine.Node
	history []machine.Transition
}

func (m *brokenMachine) Request(ctx context.Context, target string, v states.APIVersion) error {
	return m.move(ctx, func(n machine.Node) (states.Event, machine.Node, error) {
		event, err := m.config.Table.Request(n.State, target, v)
		if err != nil {
			return event, n, err
		}
		next, err := n.Request(m.config.Table, target, v)
		return event, next, err
	})
}

func (m *brokenMachine) Report(ctx context.Context, event states.Event, lastError string) error {
	return m.move(ctx, func(n machine.Node) (states.Event, machine.Node, error) {
		next, err := n.Report(m.config.Table, event, lastError)
		return event, next, err
	})
}

func (m *brokenMachine) Node() machine.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node
}

func (m *brokenMachine) History() []machine.Transition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.history
}

func (m *brokenMachine) set(t machine.Transition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node = t.To; m.astray {
		m.node.State = states.Active
	}
	if !m.oblivious {
		m.history = append(m.history, t)
	}
}

func (m *brokenMachine) move(ctx context.Context, next derive) error {
	t, err := m.commit(ctx, next)
	if err != nil {
		return err
	}
	var errs []error
	if !m.hasty {
		errs = append(errs, m.call(ctx, machine.ExitHook, t))
	}
	if errs == nil || errs[0] == nil || !m.halfway {
		errs = append(errs, m.call(ctx, machine.EnterHook, t))
	}
	if m.repeats {
		errs = append(errs, m.call(ctx, machine.EnterHook, t))
	}
	if m.silent {
		return nil
	}
	return errors.Join(errs...)
}

func (m *brokenMachine) commit(ctx context.Context, next derive) (t machine.Transition, err error) {
	if !m.unlocked {
		select {
		case m.turn <- struct{}{}:
		case <-ctx.Done():
			return t, ctx.Err()
		}
		defer func() {
			if err == nil || !m.stuck {
				<-m.turn
			}
		}()
	}
	t.From = m.Node()
	if t.Event, t.To, err = next(t.From); err != nil {
		return t, err
	}
	if m.early {
		m.set(t)
	}
	if m.hasty {
		_ = m.call(ctx, machine.ExitHook, t)
	}
	for _, kind := range []machine.HookKind{machine.GuardHook, machine.SaveHook} {
		if err = m.call(ctx, kind, t); err == nil && kind == machine.GuardHook {
			err = ctx.Err()
		}
		if err != nil && !m.stubborn {
			return t, err
		}
	}
	m.set(t)
	return t, nil
}

// call calls the hook of a kind.
func (m *brokenMachine) call(ctx context.Context, kind machine.HookKind, t machine.Transition) (err error) {
	hooks := map[machine.HookKind][]machine.Hook{
		machine.GuardHook: m.config.Guard, machine.SaveHook: m.config.Save, machine.ExitHook: m.config.Exit, machine.EnterHook: m.config.Enter,
	}
	defer func() {
		if value := recover(); value != nil {
			err = errFault
		}
		if err != nil {
			moved := !m.dishonest && (kind == machine.ExitHook || kind == machine.EnterHook)
			err = &machine.HookError{Hook: kind, Event: t.Event, Moved: moved, Err: err}
		}
	}()
	return hooks[kind][0](ctx, t)
}
