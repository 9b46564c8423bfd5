// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package looplab_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/looplab/fsm"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

func TestTheEventAndStatesInACallback(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "caller's")
	left := errors.New("left by leave_")
	var f *looplab.FSM
	seen := 0
	check := func(ctx context.Context, e *fsm.Event) {
		seen++
		require.Equal(t, "caller's", ctx.Value(key{}))
		require.Equal(t, []string{"manage", "enroll", "verifying"}, []string{e.Event, e.Src, e.Dst})
		require.Equal(t, []any{1, "two"}, e.Args)
		require.Same(t, f, looplab.Of(e.FSM))
	}
	f = newFSM(t, states.Enroll, fsm.Callbacks{
		"before_manage": check,
		"leave_enroll": func(ctx context.Context, e *fsm.Event) {
			check(ctx, e)
			e.Err = left
		},
		"enter_verifying": func(ctx context.Context, e *fsm.Event) {
			check(ctx, e)
			require.Equal(t, left, e.Err)
			require.Equal(t, "verifying", e.FSM.Current())
			require.Equal(t, "verifying", f.Current())
		},
		"after_manage": check,
	})
	err := f.Event(ctx, "manage", 1, "two")
	require.ErrorIs(t, err, left)
	require.Equal(t, 4, seen)
	require.Equal(t, "verifying", f.Current())
}

func TestACallbackMayFire(t *testing.T) {
	var args [][]any
	var f *looplab.FSM
	f = newFSM(t, states.Enroll, fsm.Callbacks{
		"enter_verifying": func(ctx context.Context, e *fsm.Event) {
			e.Err = f.Event(ctx, "done", "inner")
		},
		"enter_manageable": func(ctx context.Context, _ *fsm.Event) {
			require.NoError(t, f.Machine().Fire(ctx, states.EventProvide))
		},
		"after_event": func(_ context.Context, e *fsm.Event) { args = append(args, e.Args) },
	})
	require.NoError(t, f.Event(t.Context(), "manage", "outer"))
	require.Equal(t, "cleaning", f.Current())
	require.Equal(t, [][]any{nil, {"inner"}, {"outer"}}, args)
}

// An event that is fired from a hook has its own arguments only.
func TestArgumentsStayWithTheirEvent(t *testing.T) {
	left := []states.Event{states.EventFail, states.EventManage}
	var f *looplab.FSM
	next := func(ctx context.Context, _ machine.Transition) error {
		if len(left) == 0 {
			return nil
		}
		event := left[0]
		left = left[1:]
		return f.Machine().Fire(ctx, event)
	}
	var args [][]any
	f = newFSM(t, states.Enroll, fsm.Callbacks{
		"after_event": func(_ context.Context, e *fsm.Event) { args = append(args, append([]any{e.Event}, e.Args...)) },
	}, func(c *machine.Config) { c.Enter = []machine.Hook{next} })
	require.NoError(t, f.Event(t.Context(), "manage", "mine"))
	require.Equal(t, [][]any{{"manage"}, {"fail"}, {"manage", "mine"}}, args)
}

func TestACallbackThatMayCancelMustNotFire(t *testing.T) {
	var inner error
	f := newFSM(t, states.Enroll, fsm.Callbacks{
		"leave_enroll": func(ctx context.Context, e *fsm.Event) {
			inner = looplab.Of(e.FSM).Event(ctx, "manage")
		},
	})
	require.NoError(t, f.Event(t.Context(), "manage"))
	require.ErrorContains(t, inner, "a guard or save hook cannot move its own machine")
}

func TestAPanicIsAnError(t *testing.T) {
	cause := errors.New("broken")
	for key, moved := range map[string]bool{
		"before_manage": false, "before_event": false, "leave_enroll": false, "leave_state": false,
		"enter_verifying": true, "enter_state": true, "after_manage": true, "after_event": true,
	} {
		t.Run(key, func(t *testing.T) {
			f := newFSM(t, states.Enroll, fsm.Callbacks{key: func(context.Context, *fsm.Event) { panic(cause) }})
			err := f.Event(t.Context(), "manage")
			require.ErrorAs(t, err, new(*machine.PanicError))
			require.ErrorIs(t, err, cause)
			var panicked *machine.PanicError
			require.ErrorAs(t, err, &panicked)
			require.Contains(t, string(panicked.Stack), "TestAPanicIsAnError")
			require.Equal(t, moved, f.Is("verifying"))
			require.Equal(t, f.Current(), f.Looplab().Current())
		})
	}
}

func TestCancelAfterTheMoveIsAnErrorOnly(t *testing.T) {
	late := errors.New("too late")
	f := newFSM(t, states.Enroll, fsm.Callbacks{
		"enter_verifying": func(_ context.Context, e *fsm.Event) { e.Cancel(late) },
	})
	require.ErrorIs(t, f.Event(t.Context(), "manage"), late)
	require.Equal(t, "verifying", f.Current())
	require.NoError(t, f.Event(t.Context(), "done"))
}

func TestAFailingSaveChangesNothing(t *testing.T) {
	full := errors.New("disk full")
	fail := true
	var f *looplab.FSM
	f = newFSM(t, states.Enroll, nil, func(c *machine.Config) {
		c.Save = []machine.Hook{func(context.Context, machine.Transition) error {
			require.Equal(t, "enroll", f.Looplab().Current())
			if fail {
				return full
			}
			return nil
		}}
	})
	require.ErrorIs(t, f.Event(t.Context(), "manage"), full)
	require.Equal(t, "enroll", f.Current())
	require.Equal(t, "enroll", f.Looplab().Current())
	fail = false
	require.NoError(t, f.Event(t.Context(), "manage"))
	require.Equal(t, "verifying", f.Looplab().Current())
}

// With the race detector this test shows that an FSM is safe for concurrent use.
func TestManyGoroutinesFire(t *testing.T) {
	var mu sync.Mutex
	entered := make(map[string]int)
	count := func(_ context.Context, e *fsm.Event) {
		mu.Lock()
		defer mu.Unlock()
		entered[e.Event+" "+e.Dst]++
	}
	f := newFSM(t, states.Available, fsm.Callbacks{
		"enter_manageable": count, "enter_cleaning": count, "enter_available": count,
	})
	moves := make(map[string]int)
	to := map[string]string{"manage": "manageable", "provide": "cleaning", "done": "available"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 300 {
				event := []string{"manage", "provide", "done"}[i%3]
				f.Can(event)
				f.Looplab().Can(event)
				f.Looplab().Current()
				if f.Event(t.Context(), event) == nil {
					mu.Lock()
					moves[event+" "+to[event]]++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, moves, entered)
	require.Equal(t, f.Current(), f.Looplab().Current())
}
