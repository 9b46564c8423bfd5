// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"fmt"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// promises checks what a Machine promises. The explorer of schedules reports each call of a hook, and each answer to a
// caller.
//
//  1. The state changes only by a row of the table, which guard and save hooks were shown.
//  2. Hooks see each change once and in order: guard and save hooks see one transition at a time, each from the node to
//     which the last one has led; exit hooks, then enter hooks see each transition that has happened, and no other,
//     once.
//  3. A guard or save hook that fails or panics, and a context that ends before the save, leave the old node.
//  4. The answer to a caller says truly whether its change has happened ([machine.Moved]), and it is a success only if
//     no hook has failed. The history has the transitions that have happened.
//  5. The node is the one that save hooks have stored last.
//  6. Nobody waits for ever: each caller gets an answer, and the machine serves the next one.
type promises struct {
	failf func(format string, args ...any)
	table *states.Table
	look  func() machine.Node // the node now

	mu       sync.Mutex
	node     machine.Node // as it was seen last
	stored   machine.Node // by save hooks
	happened []machine.Transition
	before   *machine.Transition // which guard and save hooks see, nil for none
	saved    bool                // it is stored
	moving   *caller             // the caller of before
	callers  []*caller
}

// caller is a caller of a Machine, and the checked part of its history.
type caller struct {
	name    string
	wants   int  // how many transitions a success has
	moves   int  // how many have happened
	exited  int  // how many of them exit hooks have seen
	entered int  // how many of them enter hooks have seen
	failed  bool // a hook has failed
	began   bool
	ended   bool // its context has
	done    bool
}

func (c *caller) String() string {
	return fmt.Sprint(c.name, c.moves, c.exited, c.entered, c.failed, c.began, c.ended, c.done)
}

// sees checks the call of a hook when it begins.
func (p *promises) sees(c *caller, kind machine.HookKind, t machine.Transition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observe()
	if to, ok := p.table.Next(t.From.State, t.Event); !ok || to != t.To.State {
		p.failf("%s: a %v hook sees that %q leads from %v to %v, which is no row", c.name, kind, t.Event, t.From.State, t.To.State)
	}
	switch kind {
	case machine.GuardHook:
		// A caller whose context has ended makes way before it is answered.
		if p.before != nil && (p.moving == c || !p.moving.ended || p.saved) {
			p.failf("%s: a guard hook sees a transition while %s has one", c.name, p.moving.name)
		}
		if t.From != p.node {
			p.failf("%s: a guard hook sees a transition from %v, and the node is in %v", c.name, t.From.State, p.node.State)
		}
		p.before, p.moving = &t, c
	case machine.SaveHook:
		if p.before == nil || p.moving != c || p.before.From != t.From || p.before.To != t.To {
			p.failf("%s: a save hook sees a transition that guard hooks have not seen", c.name)
		}
	case machine.ExitHook:
		if c.exited++; c.exited != c.moves {
			p.failf("%s: exit hooks have seen %d transitions, and %d have happened", c.name, c.exited, c.moves)
		}
	case machine.EnterHook:
		if c.entered++; c.entered != c.moves || c.exited != c.moves {
			p.failf("%s: enter hooks have seen %d transitions, exit hooks %d, and %d have happened", c.name, c.entered, c.exited, c.moves)
		}
	}
}

// saves records that a save hook has stored a transition.
func (p *promises) saves(t machine.Transition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored, p.saved = t.To, true
}

// fails records that a hook has failed.
func (p *promises) fails(c *caller, kind machine.HookKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.failed = true
	if kind == machine.GuardHook || kind == machine.SaveHook {
		p.observe()
		p.before, p.saved = nil, false
	}
}

// observe checks a change of the node. The caller holds the mutex.
func (p *promises) observe() {
	was, now := p.node, p.look()
	if now == was {
		return
	}
	p.node = now
	if p.before == nil || !p.saved || p.before.From != was || p.before.To != now {
		p.failf("the node moves from %v to %v, and hooks have not agreed", was.State, now.State)
		return
	}
	p.happened = append(p.happened, *p.before)
	p.moving.moves++
	p.before, p.saved = nil, false
}

// answered checks the answer to a caller.
func (p *promises) answered(c *caller, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observe()
	c.done = true
	if p.moving == c {
		p.before = nil
	}
	if machine.Moved(err) != (c.moves > 0) {
		p.failf("%s: is told that its change has happened: %v, and %d transitions have: %v", c.name, machine.Moved(err), c.moves, err)
	}
	if err == nil && (c.failed || c.moves != c.wants) {
		p.failf("%s: is told of a success; %d of %d transitions have happened, a hook has failed: %v", c.name, c.moves, c.wants, c.failed)
	}
	if c.exited != c.moves || c.entered != c.moves {
		p.failf("%s: %d transitions have happened; exit hooks have seen %d, enter hooks %d", c.name, c.moves, c.exited, c.entered)
	}
}

// ends checks the end of a schedule.
func (p *promises) ends(history []machine.Transition) {
	for _, c := range p.callers {
		if !c.done {
			p.failf("%s waits for ever", c.name)
		}
	}
	same := func(a, b machine.Transition) bool { return a.Event == b.Event && a.From == b.From && a.To == b.To }
	if !slices.EqualFunc(history, p.happened, same) {
		p.failf("%d transitions have happened, and the history has %d", len(p.happened), len(history))
	}
	if p.stored != p.node {
		p.failf("%v is stored, and the node is in %v", p.stored.State, p.node.State)
	}
}
