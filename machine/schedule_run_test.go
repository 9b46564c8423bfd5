// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// mover is a Machine, or a broken one.
type mover interface {
	Request(ctx context.Context, target string, v states.APIVersion) error
	Report(ctx context.Context, event states.Event, lastError string) error
	Node() machine.Node
	History() []machine.Transition
}

// scheduleScenario is a scenario for the explorer of schedules: the callers of one Machine with a hook of each kind.
type scheduleScenario struct {
	name    string
	faults  int // that may happen in one schedule
	node    machine.Node
	callers []scheduleCaller
}

func (sc scheduleScenario) String() string { return fmt.Sprintf("%s: %d faults", sc.name, sc.faults) }

// scheduleCaller is a caller that calls once.
type scheduleCaller struct {
	text  string
	wants int // how many transitions a success has
	do    func(ctx context.Context, m mover) error
}

// scheduleRun is one run of the callers by one schedule. Every goroutine stops at its call of a hook until a choice
// lets it go on.
type scheduleRun struct {
	*schedules.Gate
	promises
	t        *testing.T
	scenario scheduleScenario
	broken   assumptions
	m        mover
	cancels  []context.CancelFunc
	over     bool
}

type callerKey struct{}

func startSchedule(t *testing.T, sc scheduleScenario, broken assumptions) *scheduleRun {
	s := &scheduleRun{Gate: schedules.NewGate(sc.faults), t: t, scenario: sc, broken: broken}
	s.promises = promises{failf: s.Fail, table: latest, node: sc.node, stored: sc.node, look: func() machine.Node { return s.m.Node() }}
	c := machine.Config{
		Table: latest, Node: sc.node, History: 100,
		Guard: []machine.Hook{s.hook(machine.GuardHook)}, Save: []machine.Hook{s.hook(machine.SaveHook)},
		Exit: []machine.Hook{s.hook(machine.ExitHook)}, Enter: []machine.Hook{s.hook(machine.EnterHook)},
	}
	if broken.machine != nil {
		s.m = &brokenMachine{defects: *broken.machine, config: c, node: c.Node, turn: make(chan struct{}, 1)}
	} else {
		m, err := machine.New(c)
		require.NoError(t, err)
		s.m = m
	}
	for i, c := range sc.callers {
		s.callers = append(s.callers, &caller{name: fmt.Sprint("caller ", i+1), wants: c.wants})
		s.cancels = append(s.cancels, func() {})
	}
	return s
}

// hook returns a hook that waits.
func (s *scheduleRun) hook(kind machine.HookKind) machine.Hook {
	return func(ctx context.Context, t machine.Transition) error {
		c, ok := ctx.Value(callerKey{}).(*caller)
		if !ok || s.Closed() { // the caller at the end
			return nil
		}
		s.Touch("machine", true)
		s.sees(c, kind, t)
		name := fmt.Sprintf("%v hook of %q from %v", kind, t.Event, t.From.State)
		call := &schedules.Call{By: c.name, Name: name, Object: "hooks of " + c.name, Panics: true}
		call.Writes = kind == machine.SaveHook && s.broken.lies
		call.Do = func() (string, error) {
			if kind == machine.SaveHook {
				s.Touch("machine", true)
				s.saves(t)
			}
			return "", nil
		}
		err := s.Call(context.WithoutCancel(ctx), call)
		if err != nil && !s.Closed() {
			s.Touch("machine", true)
			s.fails(c, kind)
		}
		if errors.Is(err, schedules.ErrPanic) {
			panic(err)
		}
		return err
	}
}

// Choices returns the choices of a state.
func (s *scheduleRun) Choices() []schedules.Choice {
	all := s.Done()
	for i, c := range s.callers {
		if !c.began {
			all = append(all, schedules.Choice{Name: c.name + ": " + s.scenario.callers[i].text, Do: func() { s.ask(i) }})
		}
	}
	all = append(all, s.Faulty()...)
	for i, c := range s.callers {
		if s.Faults() > 0 && c.began && !c.ended && !c.done {
			all = append(all, schedules.Choice{Name: c.name + ": its context ends", Fault: true, Do: func() { s.end(i) }})
		}
	}
	if !slices.ContainsFunc(all, func(c schedules.Choice) bool { return !c.Fault }) {
		all = append(all, schedules.Choice{Name: schedules.Passes, Do: func() { s.over = s.Pass(time.Hour) }})
	}
	return all
}

// ask lets a caller call.
func (s *scheduleRun) ask(i int) {
	c := s.callers[i]
	c.began = true
	s.Touch("machine", true)
	s.Touch("process "+c.name, true)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), callerKey{}, c))
	s.cancels[i] = cancel
	s.Go(c.name, func() string {
		err := s.scenario.callers[i].do(ctx, s.m)
		if s.Closed() {
			return ""
		}
		s.Touch("machine", true)
		s.answered(c, err)
		return fmt.Sprint(err)
	})
}

// end ends the context of a caller.
func (s *scheduleRun) end(i int) {
	s.Touch("machine", true)
	s.Touch("process "+s.callers[i].name, true)
	s.callers[i].ended = true
	s.cancels[i]()
}

// Key returns a hash of the state.
func (s *scheduleRun) Key() uint64 {
	return s.Gate.Key(s.m.Node(), s.node, s.stored, s.happened, s.saved, s.before != nil, s.moving, s.callers)
}

// Over reports whether nothing is left that could happen.
func (s *scheduleRun) Over() bool { return s.over }

// CheckEnd checks the last state, and whether the machine serves another caller.
func (s *scheduleRun) CheckEnd() {
	s.ends(s.m.History())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for event := range latest.Events(s.m.Node().State) {
		if err := s.m.Report(ctx, event, ""); errors.Is(err, context.DeadlineExceeded) {
			s.Fail("the machine serves nobody any more")
		}
	}
}

// Ending describes the last state.
func (s *scheduleRun) Ending() string { return fmt.Sprint(s.node, len(s.happened), s.callers) }

// Close ends all goroutines.
func (s *scheduleRun) Close() { s.Gate.Close(s.cancels...) }
