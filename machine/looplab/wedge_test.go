// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package looplab_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/looplab/fsm"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

// A mishap is a fault during the event manage in enroll.
type mishap struct {
	callbacks func(cancel context.CancelFunc) fsm.Callbacks
	ended     bool // the context has ended before the event is fired
	wedges    bool // looplab alone then refuses every event
}

var mishaps = map[string]mishap{
	"the context has ended": {
		ended:  true,
		wedges: true,
	},
	"the context ends in before_": {
		callbacks: func(cancel context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"before_manage": func(context.Context, *fsm.Event) { cancel() }}
		},
		wedges: true,
	},
	"the context ends in leave_": {
		callbacks: func(cancel context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"leave_enroll": func(context.Context, *fsm.Event) { cancel() }}
		},
		wedges: true,
	},
	"the context ends in leave_state": {
		callbacks: func(cancel context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"leave_state": func(context.Context, *fsm.Event) { cancel() }}
		},
		wedges: true,
	},
	"leave_ panics": {
		callbacks: func(context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"leave_enroll": func(context.Context, *fsm.Event) { panic("broken") }}
		},
		wedges: true,
	},
	"leave_state panics": {
		callbacks: func(context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"leave_state": func(context.Context, *fsm.Event) { panic("broken") }}
		},
		wedges: true,
	},
	"leave_ cancels and panics": {
		callbacks: func(context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"leave_enroll": func(_ context.Context, e *fsm.Event) {
				e.Cancel(errors.New("no"))
				panic("broken")
			}}
		},
		wedges: true,
	},
	"leave_ calls Async and panics": {
		callbacks: func(context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"leave_enroll": func(_ context.Context, e *fsm.Event) {
				e.Async()
				panic("broken")
			}}
		},
		wedges: true,
	},
	"an asynchronous transition is cancelled": {
		callbacks: func(context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"leave_enroll": func(_ context.Context, e *fsm.Event) { e.Async() }}
		},
		wedges: true,
	},
	"before_ panics": {
		callbacks: func(context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"before_manage": func(context.Context, *fsm.Event) { panic("broken") }}
		},
	},
	"before_ cancels": {
		callbacks: func(context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"before_manage": func(_ context.Context, e *fsm.Event) { e.Cancel() }}
		},
	},
	"leave_ cancels": {
		callbacks: func(context.CancelFunc) fsm.Callbacks {
			return fsm.Callbacks{"leave_enroll": func(_ context.Context, e *fsm.Event) { e.Cancel() }}
		},
	},
}

// happen fires manage with the fault and once more without it. It returns both errors.
func (m mishap) happen(t *testing.T, build func(fsm.Callbacks) likeFSM) (trouble, next error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if m.ended {
		cancel()
	}
	well := false
	callbacks := fsm.Callbacks{}
	if m.callbacks != nil {
		for key, callback := range m.callbacks(cancel) {
			callbacks[key] = func(ctx context.Context, e *fsm.Event) {
				if !well {
					callback(ctx, e)
				}
			}
		}
	}
	f := build(callbacks)

	trouble = fireAnyway(ctx, f)
	var async fsm.AsyncError
	if errors.As(trouble, &async) {
		async.CancelTransition()
		_ = f.Transition()
	}
	require.Error(t, trouble)
	require.Equal(t, "enroll", f.Current())
	well = true
	return trouble, f.Event(t.Context(), "manage")
}

// fireAnyway fires manage and returns a panic of looplab as an error.
func fireAnyway(ctx context.Context, f likeFSM) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v", value)
		}
	}()
	return f.Event(ctx, "manage")
}

func TestLooplabAloneRefusesEventsForGood(t *testing.T) {
	for name, m := range mishaps {
		t.Run(name, func(t *testing.T) {
			plain := func(callbacks fsm.Callbacks) likeFSM {
				return fsm.NewFSM("enroll", looplab.Events(latest), callbacks)
			}
			_, err := m.happen(t, plain)
			if m.wedges {
				require.Equal(t, fsm.InTransitionError{Event: "manage"}, err)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestAnFSMTakesTheNextEvent(t *testing.T) {
	for name, m := range mishaps {
		t.Run(name, func(t *testing.T) {
			var f *looplab.FSM
			guarded := func(callbacks fsm.Callbacks) likeFSM {
				f = newFSM(t, states.Enroll, callbacks)
				return f
			}
			_, err := m.happen(t, guarded)
			require.NoError(t, err)
			require.Equal(t, states.Verifying, f.Machine().Node().State)
			require.Equal(t, states.Manageable, f.Machine().Node().Target)
			require.Equal(t, "verifying", f.Looplab().Current())
			require.True(t, f.Looplab().Can("done"))
		})
	}
}

// The context ends at a random moment. The event must have happened completely or not
// at all.
func TestAContextThatEndsAtAnyMoment(t *testing.T) {
	f := newFSM(t, states.Available, fsm.Callbacks{
		"leave_state": func(context.Context, *fsm.Event) { runtime.Gosched() },
		"enter_state": func(context.Context, *fsm.Event) { runtime.Gosched() },
	})
	moved := 0
	for i := range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range i % 16 {
				runtime.Gosched()
			}
			cancel()
		}()
		event, to := "manage", "manageable"
		if f.Is("manageable") {
			event, to = "provide", "cleaning"
		} else if f.Is("cleaning") {
			event, to = "done", "available"
		}
		from := f.Current()
		err := f.Event(ctx, event)
		<-done
		if err == nil {
			moved++
			require.Equal(t, to, f.Current())
			continue
		}
		require.Equal(t, context.Canceled, err)
		require.Equal(t, from, f.Current())
		require.Equal(t, from, f.Looplab().Current())
	}
	t.Logf("%d of 2000 events came before their context's end", moved)
}

func TestACallbackCannotMoveTheMachineByTheInnerFSM(t *testing.T) {
	f := newFSM(t, states.Enroll, fsm.Callbacks{
		"enter_state": func(_ context.Context, e *fsm.Event) { e.FSM.SetState("nonsense") },
	})
	require.NoError(t, f.Event(t.Context(), "manage"))
	require.Equal(t, "nonsense", f.Looplab().Current())
	require.Equal(t, "verifying", f.Current())
	require.NoError(t, f.Event(t.Context(), "done"))
	require.Equal(t, "manageable", f.Current())
}

func TestFiringTheInnerFSMIsRefused(t *testing.T) {
	called := false
	f := newFSM(t, states.Enroll, fsm.Callbacks{
		"before_manage": func(context.Context, *fsm.Event) { called = true },
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), ended} {
		err := f.Looplab().Event(ctx, "manage")
		require.ErrorContains(t, err, "fire at the FSM of package looplab")
		require.False(t, called)
		require.Equal(t, "enroll", f.Current())
	}
	require.NoError(t, looplab.Of(f.Looplab()).Event(t.Context(), "manage"))
	require.True(t, called)
	require.Nil(t, looplab.Of(fsm.NewFSM("enroll", nil, nil)))
}
