// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"time"

	"github.com/looplab/fsm"
	"github.com/qmuntal/stateless"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

var noHook = []machine.Hook{func(context.Context, machine.Transition) error { return nil }}

// newMachine returns a Machine for comparison with the peers. Like them it does not read
// the clock for a transition, unless timed is set.
func newMachine(hooks, timed bool) (*machine.Machine, error) {
	config := machine.Config{Table: table, Node: machine.Node{State: states.Enroll}}
	if !timed {
		config.Now = func() time.Time { return time.Time{} }
	}
	if hooks {
		config.Exit, config.Enter = noHook, noHook
	}
	return machine.New(config)
}

func makeMachine(b *testing.B) {
	measureLoop(b, 1, func() {
		_, err := newMachine(false, true)
		must(b, err)
	})
}

// looplabRows are built once, because a real service has its rows as a literal.
var looplabRows = looplab.Events(table)

func newLooplab(hooks bool) *fsm.FSM {
	var callbacks fsm.Callbacks
	if hooks {
		none := func(context.Context, *fsm.Event) {}
		callbacks = fsm.Callbacks{"leave_state": none, "enter_state": none}
	}
	return fsm.NewFSM(states.Enroll.String(), looplabRows, callbacks)
}

func makeLooplab(b *testing.B) {
	measureLoop(b, 1, func() { newLooplab(false) })
}

// newStateless returns a stateless machine whose states and events are small integers:
// stateless is faster with integers than with strings.
func newStateless(mode stateless.FiringMode, hooks bool) *stateless.StateMachine {
	m := stateless.NewStateMachineWithMode(states.Enroll, mode)
	for row := range table.Transitions() {
		m.Configure(row.From).Permit(row.Event, row.To)
	}
	if hooks {
		none := func(context.Context, ...any) error { return nil }
		for s := range table.States().All() {
			m.Configure(s).OnExit(none).OnEntry(none)
		}
	}
	return m
}

func makeStateless(b *testing.B) {
	measureLoop(b, 1, func() { newStateless(stateless.FiringQueued, false) })
}
