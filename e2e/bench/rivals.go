// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/anggasct/fluo"
	cocoonspace "github.com/cocoonspace/fsm"
	"github.com/felixgeelhaar/statekit"
	"github.com/filanov/stateswitch"
	"github.com/hishamk/statetrooper"
	"github.com/qmuntal/stateless"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// A step is an event of the benchmark's path and the state to which it leads.
type step struct {
	event states.Event
	to    states.State
}

// path returns the steps of the events, which begin in a state.
func path(from states.State, events []states.Event) []step {
	var steps []step
	for _, event := range events {
		from, _ = table.Next(from, event)
		steps = append(steps, step{event, from})
	}
	return steps
}

var startSteps, roundSteps = path(states.Enroll, start), path(states.Manageable, round)

// A walker is a machine that begins in enroll.
type walker struct {
	fire  func([]step) error
	state func() string
}

// bench moves the machine to manageable and then measures rounds.
func (w walker) bench(b *testing.B) {
	must(b, w.fire(startSteps))
	measureLoop(b, len(roundSteps), func() { must(b, w.fire(roundSteps)) })
}

// A rival is a way to fire events: another module, code of this package, or this module.
type rival struct {
	name   string // as the report prints it
	module string // its path; "" for code of this package and for this module
	note   string // how it differs from a machine that serializes events
	begin  func() walker
}

func (r rival) bench(b *testing.B) { r.begin().bench(b) }

// title is the rival's name with the version of its module.
func (r rival) title() string {
	if r.module == "" {
		return r.name
	}
	return r.name + " " + version(r.module)
}

const unsafeNote = "the caller serializes events"

// rivals are compared by events without hooks.
var rivals = []rival{
	{"an array", "", unsafeNote, newArray},
	{"an array under a mutex", "", "", newLocked},
	{"Node.Apply", "", "a value", newNode},
	{"Machine.Fire", "", "", func() walker { return newFire(false, false) }},
	{"looplab/fsm", "github.com/looplab/fsm", "", func() walker { return newLooplabWalker(false) }},
	{"qmuntal/stateless", "github.com/qmuntal/stateless", "", func() walker { return newStatelessWalker(stateless.FiringQueued, false) }},
	{"qmuntal/stateless", "github.com/qmuntal/stateless", "immediate mode; " + unsafeNote,
		func() walker { return newStatelessWalker(stateless.FiringImmediate, false) }},
	{"hishamk/statetrooper", "github.com/hishamk/statetrooper", "has no events: the caller gives the next state", newStatetrooper},
	{"filanov/stateswitch", "github.com/filanov/stateswitch", unsafeNote, newStateswitch},
	{"cocoonspace/fsm", "github.com/cocoonspace/fsm", unsafeNote, newCocoonspace},
	{"felixgeelhaar/statekit", "github.com/felixgeelhaar/statekit", "statecharts; a refused event is ignored", newStatekit},
	{"anggasct/fluo", "github.com/anggasct/fluo", "statecharts", newFluo},
}

var errRefused = errors.New("the event is not permitted")

// successors is the table that generated code would have: the next state by state and event.
var successors = func() (all [64][64]states.State) {
	for row := range table.Transitions() {
		all[row.From][row.Event] = row.To
	}
	return all
}()

// each fires steps by a function value. The rows of generated code, which the compiler would inline, do without it.
func each(fire func(step) error) func([]step) error {
	return func(steps []step) error {
		for _, s := range steps {
			if err := fire(s); err != nil {
				return err
			}
		}
		return nil
	}
}

func newArray() walker {
	state := states.Enroll
	return walker{func(steps []step) error {
		for _, s := range steps {
			next := successors[state][s.event]
			if next == states.NoState {
				return errRefused
			}
			state = next
		}
		return nil
	}, func() string { return state.String() }}
}

// locked is an array's state under a mutex.
type locked struct {
	mu    sync.Mutex
	state states.State
}

func (l *locked) fire(event states.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := successors[l.state][event]
	if next == states.NoState {
		return errRefused
	}
	l.state = next
	return nil
}

func newLocked() walker {
	l := &locked{state: states.Enroll}
	return walker{func(steps []step) error {
		for _, s := range steps {
			if err := l.fire(s.event); err != nil {
				return err
			}
		}
		return nil
	}, func() string { return l.state.String() }}
}

func newNode() walker {
	node := machine.Node{State: states.Enroll}
	return walker{each(func(s step) (err error) {
		node, err = node.Apply(table, machine.Input{Event: s.event})
		return err
	}), func() string { return node.State.String() }}
}

func newFire(hooks, timed bool) walker {
	m, err := newMachine(hooks, timed)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	return walker{each(func(s step) error { return m.Fire(ctx, s.event) }), func() string { return m.Node().State.String() }}
}

func newLooplabWalker(hooks bool) walker {
	f, ctx := newLooplab(hooks), context.Background()
	return walker{each(func(s step) error { return f.Event(ctx, s.event.String()) }), f.Current}
}

func newStatelessWalker(mode stateless.FiringMode, hooks bool) walker {
	m, ctx := newStateless(mode, hooks), context.Background()
	return walker{
		each(func(s step) error { return m.FireCtx(ctx, s.event) }),
		func() string { return m.MustState().(states.State).String() },
	}
}

func newStatetrooper() walker {
	m := statetrooper.NewFSM(states.Enroll, 0)
	for row := range table.Transitions() {
		m.AddRule(row.From, row.To)
	}
	return walker{
		each(func(s step) error { _, err := m.Transition(s.to, nil); return err }),
		func() string { return m.CurrentState().String() },
	}
}

// switched implements [stateswitch.StateSwitch].
type switched struct{ state stateswitch.State }

func (s *switched) State() stateswitch.State { return s.state }

func (s *switched) SetState(state stateswitch.State) error { s.state = state; return nil }

func newStateswitch() walker {
	m := stateswitch.NewStateMachine()
	for row := range table.Transitions() {
		m.AddTransitionRule(stateswitch.TransitionRule{
			TransitionType:   stateswitch.TransitionType(row.Event.String()),
			SourceStates:     stateswitch.States{stateswitch.State(row.From.String())},
			DestinationState: stateswitch.State(row.To.String()),
		})
	}
	node := &switched{stateswitch.State(states.Enroll.String())}
	return walker{
		each(func(s step) error { return m.Run(stateswitch.TransitionType(s.event.String()), node, nil) }),
		func() string { return string(node.state) },
	}
}

func newCocoonspace() walker {
	m := cocoonspace.New(cocoonspace.State(states.Enroll))
	for row := range table.Transitions() {
		m.Transition(cocoonspace.On(cocoonspace.Event(row.Event)), cocoonspace.Src(cocoonspace.State(row.From)),
			cocoonspace.Dst(cocoonspace.State(row.To)))
	}
	return walker{each(func(s step) error {
		if !m.Event(cocoonspace.Event(s.event)) {
			return errRefused
		}
		return nil
	}), func() string { return states.State(m.Current()).String() }}
}

func newStatekit() walker {
	b := statekit.NewMachine[struct{}]("node").WithInitial(statekit.StateID(states.Enroll.String()))
	for from := range table.States().All() {
		state := b.State(statekit.StateID(from.String()))
		for row := range table.Transitions() {
			if row.From == from {
				state.On(statekit.EventType(row.Event.String())).Target(statekit.StateID(row.To.String()))
			}
		}
	}
	config, err := b.Build()
	if err != nil {
		panic(err)
	}
	m := statekit.NewInterpreter(config)
	m.Start()
	return walker{
		each(func(s step) error { m.Send(statekit.Event{Type: statekit.EventType(s.event.String())}); return nil }),
		func() string { return string(m.State().Value) },
	}
}

func newFluo() walker {
	b := fluo.NewMachine()
	b.State(states.Enroll.String()).Initial()
	for row := range table.Transitions() {
		b.State(row.From.String()).To(row.To.String()).On(row.Event.String())
	}
	m := b.Build().CreateInstance()
	if err := m.Start(); err != nil {
		panic(err)
	}
	return walker{each(func(s step) error {
		if result := m.SendEvent(s.event.String(), nil); !result.StateChanged {
			return errRefused
		}
		return nil
	}), m.CurrentState}
}
