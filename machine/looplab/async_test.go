// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package looplab_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looplab/fsm"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

func async(_ context.Context, e *fsm.Event) { e.Async() }

// begin fires an event that a callback makes asynchronous.
func begin(t *testing.T, f *looplab.FSM, ctx context.Context) fsm.AsyncError {
	t.Helper()
	before := f.Machine().Node()
	var started fsm.AsyncError
	require.ErrorAs(t, f.Apply(ctx, machine.Input{Event: states.EventFail, LastError: "no answer"}, "arg"), &started)
	require.Equal(t, before, f.Machine().Node())
	require.Equal(t, before.State.String(), f.Looplab().Current())
	require.False(t, f.Can("done"))
	for _, word := range []string{"done", "rescue", "no-event"} { // looplab looks first whether an event is pending
		require.Equal(t, fsm.InTransitionError{Event: word}, f.Event(t.Context(), word))
	}
	require.ErrorIs(t, f.Apply(t.Context(), machine.Input{Event: states.EventRescue}), states.ErrNotAllowed)
	require.ErrorAs(t, f.Apply(t.Context(), machine.Input{Event: states.EventDone}), new(fsm.InTransitionError))
	return started
}

func TestAnAsynchronousTransitionIsCompletedLater(t *testing.T) {
	var r recorder
	var args []any
	f := newFSM(t, states.Verifying, fsm.Callbacks{
		"before_event": r.callback("before_event"),
		"leave_state":  async,
		"enter_enroll": func(_ context.Context, e *fsm.Event) {
			args = e.Args
			r = append(r, "enter_enroll")
		},
	}, func(c *machine.Config) { c.Save = []machine.Hook{r.save} })
	ctx, cancel := context.WithCancel(t.Context())
	started := begin(t, f, ctx)
	cancel()
	require.NoError(t, started.Ctx.Err(), "the caller's context no longer matters")

	require.NoError(t, f.Transition())
	require.Equal(t, machine.Node{State: states.Enroll, LastError: "no answer"}, f.Machine().Node())
	require.Equal(t, "enroll", f.Looplab().Current())
	require.Equal(t, recorder{"before_event", "save", "enter_enroll"}, r)
	require.Equal(t, []any{"arg"}, args)
	require.Equal(t, fsm.NotInTransitionError{}, f.Transition())
}

func TestAnAsynchronousTransitionIsCancelled(t *testing.T) {
	f := newFSM(t, states.Verifying, fsm.Callbacks{"leave_verifying": func(_ context.Context, e *fsm.Event) {
		if e.Event == "fail" {
			e.Async()
		}
	}})
	started := begin(t, f, t.Context())
	started.CancelTransition()
	require.ErrorIs(t, started.Ctx.Err(), context.Canceled)
	require.Equal(t, fsm.NotInTransitionError{}, f.Transition())
	require.Equal(t, states.Verifying, f.Machine().Node().State)
	require.NoError(t, f.Event(t.Context(), "done"))
	started.CancelTransition()
	require.Equal(t, "manageable", f.Current())
}

func TestASaveThatFailsGivesAnAsynchronousTransitionUp(t *testing.T) {
	full := errors.New("disk full")
	f := newFSM(t, states.Verifying, fsm.Callbacks{"leave_verifying": func(_ context.Context, e *fsm.Event) {
		if e.Event == "fail" {
			e.Async()
		}
	}}, func(c *machine.Config) {
		c.Save = []machine.Hook{func(_ context.Context, step machine.Transition) error {
			if step.To.State == states.Enroll {
				return full
			}
			return nil
		}}
	})
	begin(t, f, t.Context())
	require.ErrorIs(t, f.Transition(), full)
	require.Equal(t, states.Verifying, f.Machine().Node().State)
	require.NoError(t, f.Event(t.Context(), "done"))
}

// With looplab alone, a callback that fires an event here blocks forever.
func TestACallbackOfAnAsynchronousTransitionMayFire(t *testing.T) {
	f := newFSM(t, states.Verifying, fsm.Callbacks{
		"leave_verifying": async,
		"enter_enroll": func(ctx context.Context, e *fsm.Event) {
			e.Err = looplab.Of(e.FSM).Event(ctx, "manage")
		},
	})
	begin(t, f, t.Context())
	require.NoError(t, f.Transition())
	require.Equal(t, "verifying", f.Current())
}

func TestAnAsynchronousTransitionIsCompletedOnce(t *testing.T) {
	f := newFSM(t, states.Verifying, fsm.Callbacks{"leave_verifying": async})
	begin(t, f, t.Context())
	var mu sync.Mutex
	var all sync.WaitGroup
	completed := 0
	for range 8 {
		all.Go(func() {
			if f.Transition() == nil {
				mu.Lock()
				completed++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, completed)
	require.Equal(t, "enroll", f.Current())
}

func TestAnEventOfTheMachineCannotBeAsynchronous(t *testing.T) {
	f := newFSM(t, states.Verifying, fsm.Callbacks{"leave_verifying": async})
	require.ErrorContains(t, f.Machine().Fire(t.Context(), states.EventDone), "only an event that was fired at the FSM")
	require.Equal(t, states.Verifying, f.Machine().Node().State)
	require.Equal(t, "verifying", f.Looplab().Current())
	require.Equal(t, fsm.NotInTransitionError{}, f.Transition())
	begin(t, f, t.Context())
}

// A looplab FSM completes an event from the state in which it was fired.
func TestAnAsynchronousTransitionIsDroppedOnceTheNodeIsInAnotherState(t *testing.T) {
	cleaning := machine.Node{State: states.Cleaning, Target: states.Available}
	leave := fsm.Callbacks{"leave_verifying": async}
	for name, next := range map[string]func(*testing.T, *looplab.FSM){
		"Transition": func(t *testing.T, f *looplab.FSM) {
			require.Equal(t, fsm.NotInTransitionError{}, f.Transition())
			require.Equal(t, cleaning, f.Machine().Node())
			require.NoError(t, f.Event(t.Context(), "fail"))
		},
		"Event": func(t *testing.T, f *looplab.FSM) {
			require.True(t, f.Can("fail"))
			require.NoError(t, f.Event(t.Context(), "fail"))
			require.Equal(t, fsm.NotInTransitionError{}, f.Transition())
		},
		"an event of the Machine": func(t *testing.T, f *looplab.FSM) {
			require.NoError(t, f.Machine().Fire(t.Context(), states.EventFail))
			require.Equal(t, fsm.NotInTransitionError{}, f.Transition())
		},
		"verifying again": func(t *testing.T, f *looplab.FSM) {
			require.NoError(t, f.Event(t.Context(), "fail"))
			require.NoError(t, f.Machine().SetNode(t.Context(), machine.Node{State: states.Verifying}, 8))
			require.Equal(t, fsm.NotInTransitionError{}, f.Transition())
			begin(t, f, t.Context())
			require.NoError(t, f.Machine().SetNode(t.Context(), cleaning, 9))
			require.NoError(t, f.Event(t.Context(), "fail"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFSM(t, states.Verifying, leave)
			require.ErrorAs(t, f.Event(t.Context(), "done"), new(fsm.AsyncError))
			require.NoError(t, f.Machine().SetNode(t.Context(), cleaning, 7))
			next(t, f)
			require.Equal(t, "clean failed", f.Current())
			require.Equal(t, "clean failed", f.Looplab().Current())
		})
	}

	f := newFSM(t, states.Verifying, leave)
	was := f.Machine().Node()
	require.ErrorAs(t, f.Event(t.Context(), "done"), new(fsm.AsyncError))
	require.NoError(t, f.Machine().SetNode(t.Context(), cleaning, 7))
	require.NoError(t, f.Machine().SetNode(t.Context(), was, 8))
	require.Equal(t, fsm.NotInTransitionError{}, f.Transition(), "it is another verification")
	require.Equal(t, was, f.Machine().Node())
	require.True(t, f.Can("done"))

	f = newFSM(t, states.Verifying, leave)
	require.ErrorAs(t, f.Event(t.Context(), "done"), new(fsm.AsyncError))
	read := f.Machine().Node()
	read.LastError = "by another process"
	require.NoError(t, f.Machine().SetNode(t.Context(), read, 7))
	require.NoError(t, f.Transition(), "the node is where it was")
	require.Equal(t, "manageable", f.Current())
}

func TestATransitionThatWaitsForSetNodeCompletesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		resume := make(chan struct{})
		f := newFSM(t, states.Verifying, fsm.Callbacks{"leave_verifying": async}, func(c *machine.Config) {
			c.Now = func() time.Time {
				if slow.Load() {
					<-resume
				}
				return time.Now()
			}
		})
		require.ErrorAs(t, f.Event(t.Context(), "done"), new(fsm.AsyncError))
		slow.Store(true)
		var first, second, third error
		go func() { first = f.Event(t.Context(), "fail") }()
		synctest.Wait()
		go func() { second = f.Machine().SetNode(t.Context(), machine.Node{State: states.Cleaning}, 7) }()
		synctest.Wait()
		go func() { third = f.Transition() }()
		synctest.Wait()
		slow.Store(false)
		close(resume)
		synctest.Wait()
		require.Equal(t, fsm.InTransitionError{Event: "fail"}, first)
		require.NoError(t, second)
		require.Equal(t, fsm.NotInTransitionError{}, third)
		require.Equal(t, "cleaning", f.Current())
	})
}
