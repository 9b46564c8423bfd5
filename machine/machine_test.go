// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// newMachine makes a machine in a state of the newest series.
func newMachine(t *testing.T, in states.State, set ...func(*machine.Config)) *machine.Machine {
	t.Helper()
	config := machine.Config{Table: latest, Node: node(in), Name: "node-1"}
	for _, s := range set {
		s(&config)
	}
	m, err := machine.New(config)
	require.NoError(t, err)
	return m
}

func TestAMachineFollowsItsTable(t *testing.T) {
	m := newMachine(t, states.Enroll)
	require.Equal(t, "node-1", m.Name())
	require.True(t, m.Can(states.EventManage))
	require.False(t, m.Can(states.EventDeploy))
	require.Equal(t, []states.Event{states.EventManage}, slices.Collect(m.Events()))

	require.NoError(t, m.Fire(t.Context(), states.EventManage))
	require.Equal(t, machine.Node{State: states.Verifying, Target: states.Manageable}, m.Node())

	err := m.Fire(t.Context(), states.EventDeploy)
	require.ErrorIs(t, err, states.ErrNotAllowed)
	require.EqualError(t, err, `event "deploy" is not allowed in state "verifying"; allowed: done, fail`)
	require.Equal(t, states.Verifying, m.Node().State)
}

func TestNewRefusesInvalidConfigurations(t *testing.T) {
	tests := map[string]struct {
		config machine.Config
		as     any
	}{
		"no table":        {machine.Config{Node: node(states.Enroll)}, new(*machine.StateError)},
		"no state":        {machine.Config{Table: latest}, new(*machine.StateError)},
		"a foreign state": {machine.Config{Table: states.Kilo.Table(), Node: node(states.Enroll)}, new(*machine.StateError)},
		"an unstable target": {machine.Config{Table: latest, Node: machine.Node{State: states.Active, Target: states.Cleaning}},
			new(*machine.StateError)},
		"a nil hook": {machine.Config{Table: latest, Node: node(states.Enroll), Exit: []machine.Hook{nil}}, new(*machine.ConfigError)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := machine.New(test.config)
			require.ErrorAs(t, err, test.as)
			require.Nil(t, m)
		})
	}
}

func TestAMachineThatNobodyObservesReadsNoClock(t *testing.T) {
	m := newMachine(t, states.Enroll, func(c *machine.Config) {
		c.Now = func() time.Time { panic("read") }
	})
	require.NoError(t, m.Fire(t.Context(), states.EventManage))
	require.NoError(t, m.Report(t.Context(), states.EventDone, ""))
}

func TestTheNewNodeIsSeenOnceItIsSaved(t *testing.T) {
	var m *machine.Machine
	see := func(want states.State) machine.Hook {
		return func(context.Context, machine.Transition) error {
			require.Equal(t, want, m.Node().State)
			return nil
		}
	}
	m = newMachine(t, states.Enroll, func(c *machine.Config) {
		c.Guard = []machine.Hook{see(states.Enroll)}
		c.Save = []machine.Hook{func(context.Context, machine.Transition) error {
			require.Equal(t, states.Enroll, m.Node().State)
			return nil
		}}
		c.Exit = []machine.Hook{see(states.Verifying)}
		c.Enter = []machine.Hook{see(states.Verifying)}
	})
	require.NoError(t, m.Fire(t.Context(), states.EventManage))
}

// setHook has, for each kind of hook, a function that adds one to a Config.
var setHook = map[string]func(*machine.Config, func(context.Context) error){
	"guard": func(c *machine.Config, f func(context.Context) error) { c.Guard = append(c.Guard, hook(f)) },
	"save": func(c *machine.Config, f func(context.Context) error) {
		c.Save = append(c.Save, hook(f))
	},
	"exit":  func(c *machine.Config, f func(context.Context) error) { c.Exit = append(c.Exit, hook(f)) },
	"enter": func(c *machine.Config, f func(context.Context) error) { c.Enter = append(c.Enter, hook(f)) },
}

// beforeTheMove has the kinds of hooks that can still refuse a transition.
var beforeTheMove = map[string]bool{"guard": true, "save": true}

func TestACancelledContextStopsAMoveBeforeItIsSaved(t *testing.T) {
	for where, put := range setHook {
		t.Run(where, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			m := newMachine(t, states.Enroll, func(c *machine.Config) {
				put(c, func(context.Context) error { cancel(); return nil })
			})
			err := m.Fire(ctx, states.EventManage)
			if where == "guard" {
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, node(states.Enroll), m.Node())
				require.NoError(t, m.Fire(t.Context(), states.EventManage))
			} else {
				require.NoError(t, err, "what is saved has happened")
			}
			require.Equal(t, states.Verifying, m.Node().State)
			require.ErrorIs(t, m.Fire(ctx, states.EventDone), context.Canceled)
			require.NoError(t, m.Fire(t.Context(), states.EventDone))
		})
	}
}

func TestAContextEndsTheWaitForAnotherTransition(t *testing.T) {
	saving, release := make(chan bool), make(chan bool)
	m := newMachine(t, states.Enroll, func(c *machine.Config) {
		c.Save = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
			if tr.From.State == states.Enroll {
				saving <- true
				<-release
			}
			return nil
		}}
	})
	var wg sync.WaitGroup
	wg.Go(func() { require.NoError(t, m.Fire(t.Context(), states.EventManage)) })
	<-saving

	require.Equal(t, states.Enroll, m.Node().State, "the node can be read while a save blocks")
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	require.ErrorIs(t, m.Fire(ctx, states.EventManage), context.Canceled)

	var done error
	wg.Go(func() { done = m.Fire(t.Context(), states.EventDone) })
	release <- true
	wg.Wait()
	if done != nil { // it ran before the first one, which could still be saving
		require.ErrorIs(t, done, states.ErrNotAllowed)
	}
	require.NoError(t, m.Fire(t.Context(), states.EventInspect))
}

// A machine whose hooks are free takes no ended context by chance.
func TestAnEndedContextReplacesNoNode(t *testing.T) {
	m := newMachine(t, states.Enroll, func(c *machine.Config) {
		c.Save = []machine.Hook{func(context.Context, machine.Transition) error { return nil }}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		require.ErrorIs(t, m.SetNode(ctx, machine.Node{State: states.Active}, nil), context.Canceled)
	}
	require.Equal(t, machine.Node{State: states.Enroll}, m.Node())
	require.NoError(t, m.SetNode(t.Context(), machine.Node{State: states.Active}, nil), "the hooks are not locked")
	require.Equal(t, states.Active, m.Node().State)
}

func TestConcurrentEventsAreOneAfterTheOther(t *testing.T) {
	var (
		saves []machine.Node // written without a lock: save hooks run one at a time
		table = latest
	)
	m := newMachine(t, states.Manageable, func(c *machine.Config) {
		c.History = 1 << 12
		c.Save = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
			saves = append(saves, tr.To)
			return nil
		}}
	})
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		fired int
	)
	for range 8 {
		wg.Go(func() {
			for event := range states.AllEvents() {
				if m.Fire(t.Context(), event) == nil {
					mu.Lock()
					fired++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()

	history := m.History()
	require.Len(t, history, fired)
	require.Len(t, saves, fired)
	at := node(states.Manageable)
	for i, step := range history {
		require.Equal(t, at, step.From, "each transition begins where the last ended")
		next, err := at.Apply(table, machine.Input{Event: step.Event})
		require.NoError(t, err)
		require.Equal(t, next, step.To)
		require.Equal(t, next, saves[i])
		at = next
	}
	require.Equal(t, at, m.Node())
}

func TestMovedSeesAMoveWhoseSecondHalfIsRefused(t *testing.T) {
	no := errors.New("no")
	require.True(t, machine.Moved(nil))
	require.False(t, machine.Moved(no))
	require.False(t, machine.Moved(fmt.Errorf("%w: %w", no, &machine.HookError{Hook: machine.GuardHook, Err: no})))
	elsewhere := &machine.HookError{Hook: machine.EnterHook, Moved: true, Err: no}
	require.False(t, machine.Moved(&machine.HookError{Hook: machine.SaveHook, Err: elsewhere}), "that is another machine")
	require.True(t, machine.Moved(errors.Join(no, elsewhere)))

	for _, enterFails := range []bool{false, true} {
		m := newMachine(t, states.ServiceWait, func(c *machine.Config) {
			c.Save = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
				if tr.From.State == states.ServiceFail {
					return no
				}
				return nil
			}}
			if enterFails {
				c.Enter = []machine.Hook{func(context.Context, machine.Transition) error { return no }}
			}
		})
		err := m.Request(t.Context(), "abort", latest.Series().MaxAPIVersion())
		require.ErrorIs(t, err, no)
		require.ErrorContains(t, err, `the node has moved to "service failed" and no further`)
		require.True(t, machine.Moved(err))
		require.Equal(t, states.ServiceFail, m.Node().State)
	}
}

func TestANilMachineRefusesEveryMove(t *testing.T) {
	var m *machine.Machine
	var unknown *machine.StateError
	require.ErrorAs(t, m.Request(t.Context(), "manage", 115), &unknown)
	require.ErrorAs(t, m.Report(t.Context(), states.EventDone, ""), &unknown)
	require.ErrorAs(t, m.Fire(t.Context(), states.EventManage), &unknown)
	require.ErrorAs(t, m.Apply(t.Context(), machine.Input{Event: states.EventManage}), &unknown)
	require.ErrorAs(t, m.SetNode(t.Context(), machine.Node{State: states.Enroll}, nil), &unknown)
	require.Empty(t, m.Name())
	require.Nil(t, m.Table())
	require.Equal(t, machine.Node{}, m.Node())
	require.Empty(t, m.History())
	require.False(t, m.Can(states.EventManage))
	require.Empty(t, slices.Collect(m.Events()))
}
