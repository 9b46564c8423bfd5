// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package looplab_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/looplab/fsm"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
)

func TestEventsAreTheTable(t *testing.T) {
	for series := range states.AllSeries() {
		type row = [3]string
		var want, got []row
		for r := range series.Table().Transitions() {
			want = append(want, row{r.From.String(), r.Event.String(), r.To.String()})
		}
		for _, e := range looplab.Events(series.Table()) {
			for _, src := range e.Src {
				got = append(got, row{src, e.Name, e.Dst})
			}
		}
		require.ElementsMatch(t, want, got, series)
	}
	require.Empty(t, looplab.Events(nil))
}

// recorder notes which hooks were called, in order.
type recorder []string

func (r *recorder) callback(name string) fsm.Callback {
	return func(context.Context, *fsm.Event) { *r = append(*r, name) }
}

func (r *recorder) hook(name string) machine.Hook {
	return func(context.Context, machine.Transition) error {
		*r = append(*r, name)
		return nil
	}
}

func (r *recorder) save(context.Context, machine.Transition) error {
	*r = append(*r, "save")
	return nil
}

var order = []string{
	"before_manage", "before_event", "leave_enroll", "leave_state",
	"guard", "save", "exit", "enter",
	"enter_verifying", "enter_state", "after_manage", "after_event",
}

// recorded makes an FSM in enroll whose hooks and callbacks all record their calls.
func recorded(t *testing.T, r *recorder) *looplab.FSM {
	callbacks := fsm.Callbacks{}
	for _, name := range slices.Concat(order[:4], order[8:]) {
		callbacks[name] = r.callback(name)
	}
	return newFSM(t, states.Enroll, callbacks, func(c *machine.Config) {
		c.Guard = []machine.Hook{r.hook("guard")}
		c.Save = []machine.Hook{r.save}
		c.Exit = []machine.Hook{r.hook("exit")}
		c.Enter = []machine.Hook{r.hook("enter")}
	})
}

func TestHooksOfBothKindsAreCalled(t *testing.T) {
	doors := map[string]func(*looplab.FSM) error{
		"Event":   func(f *looplab.FSM) error { return f.Event(t.Context(), "manage") },
		"Apply":   func(f *looplab.FSM) error { return f.Apply(t.Context(), machine.Input{Event: states.EventManage}) },
		"Machine": func(f *looplab.FSM) error { return f.Machine().Fire(t.Context(), states.EventManage) },
	}
	for name, fire := range doors {
		t.Run(name, func(t *testing.T) {
			var r recorder
			f := recorded(t, &r)
			require.NoError(t, fire(f))
			require.Equal(t, order, []string(r))
			require.Equal(t, machine.Node{State: states.Verifying, Target: states.Manageable}, f.Machine().Node())
			require.Equal(t, "verifying", f.Looplab().Current())
		})
	}
}

func TestANilHookIsAConfigError(t *testing.T) {
	hook := func(context.Context, machine.Transition) error { return nil }
	withNil := []machine.Hook{hook, nil}
	for field, set := range map[string]func(*machine.Config){
		"Guard[1]": func(c *machine.Config) { c.Guard = withNil },
		"Save[1]":  func(c *machine.Config) { c.Save = withNil },
		"Exit[1]":  func(c *machine.Config) { c.Exit = withNil },
		"Enter[1]": func(c *machine.Config) { c.Enter = withNil },
	} {
		c := machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}}
		set(&c)
		_, err := looplab.New(c, nil)
		var invalid *machine.ConfigError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, field, invalid.Field)
	}
}

func TestShortKeys(t *testing.T) {
	var r recorder
	f := newFSM(t, states.Active, fsm.Callbacks{
		"rescue":   r.callback("entered rescue"),
		"rescuing": r.callback("entered rescuing"),
		"done":     r.callback("after done"),
	})
	require.NoError(t, f.Event(t.Context(), "rescue"))
	require.NoError(t, f.Event(t.Context(), "done"))
	require.Equal(t, recorder{"entered rescuing", "entered rescue", "after done"}, r)
}

func TestCallbacksWithoutAPlaceAreErrors(t *testing.T) {
	nop := func(context.Context, *fsm.Event) {}
	tests := map[string]struct {
		callbacks fsm.Callbacks
		key, text string
	}{
		"a misspelt state":      {fsm.Callbacks{"enter_managable": nop}, "enter_managable", "with a state or an event"},
		"an event for a state":  {fsm.Callbacks{"leave_manage": nop}, "leave_manage", "with a state or an event"},
		"a state for an event":  {fsm.Callbacks{"before_active": nop}, "before_active", "with a state or an event"},
		"no state":              {fsm.Callbacks{"enter_none": nop}, "enter_none", "with a state or an event"},
		"no event":              {fsm.Callbacks{"none": nop}, "none", "with a state or an event"},
		"a word of neither":     {fsm.Callbacks{"frobnicate": nop}, "frobnicate", "with a state or an event"},
		"both forms of a state": {fsm.Callbacks{"enter_active": nop, "active": nop}, "enter_active", "another key means the same"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := looplab.New(machine.Config{Table: latest, Node: machine.Node{State: states.Enroll}}, test.callbacks)
			require.ErrorContains(t, err, strconv.Quote(test.key))
			require.ErrorContains(t, err, test.text)
		})
	}

	_, err := looplab.New(machine.Config{Table: states.Kilo.Table(), Node: machine.Node{State: states.Available}},
		fsm.Callbacks{"enter_servicing": nop})
	require.NoError(t, err, "another series' state")
}

func TestNewRefusesWhatTheMachineDoes(t *testing.T) {
	_, err := looplab.New(machine.Config{}, nil)
	require.ErrorAs(t, err, new(*machine.StateError))
	_, err = looplab.New(machine.Config{Table: latest}, nil)
	require.ErrorAs(t, err, new(*machine.StateError))
	_, err = looplab.New(machine.Config{Table: latest, Node: machine.Node{State: states.Enroll, Target: states.Cleaning}}, nil)
	require.ErrorAs(t, err, new(*machine.StateError))
}

// Each error is or wraps the error that looplab's own FSM returns, with the same text.
func TestEventAnswersAsLooplabDoes(t *testing.T) {
	no := errors.New("no")
	callbacks := fsm.Callbacks{
		"before_inspect": func(_ context.Context, e *fsm.Event) { e.Cancel(no) },
		"leave_enroll":   func(_ context.Context, e *fsm.Event) { e.Cancel() },
	}
	for _, test := range []struct{ state, event string }{
		{"enroll", "deploy"},
		{"enroll", "error"}, // an event of older series
		{"enroll", "none"},
		{"enroll", "frobnicate"},
		{"enroll", "manage"},
		{"manageable", "inspect"},
		{"manageable", "provide"},
	} {
		state, err := states.Parse(test.state)
		require.NoError(t, err)
		f := newFSM(t, state, callbacks)
		plain := fsm.NewFSM(test.state, looplab.Events(latest), callbacks)
		want, got := plain.Event(t.Context(), test.event), f.Event(t.Context(), test.event)
		require.Equal(t, plain.Current(), f.Current(), test)
		if want == nil {
			require.NoError(t, got, test)
			continue
		}
		require.EqualError(t, got, want.Error(), test)
		switch want := want.(type) {
		case fsm.InvalidEventError:
			require.ErrorIs(t, got, want, test)
		case fsm.UnknownEventError:
			require.ErrorIs(t, got, want, test)
		default:
			require.Equal(t, want, got, test)
		}
	}

	f := newFSM(t, states.Manageable, callbacks)
	require.ErrorIs(t, f.Event(t.Context(), "inspect"), no)
	err := f.Apply(t.Context(), machine.Input{Event: states.EventInspect})
	require.ErrorIs(t, err, no)
	var hook *machine.HookError
	require.ErrorAs(t, err, &hook)
	require.False(t, hook.Moved)
	err = f.Apply(t.Context(), machine.Input{Event: states.EventDeploy})
	require.ErrorIs(t, err, states.ErrNotAllowed)
	require.ErrorAs(t, err, new(*machine.EventError))
}

func TestRefusedEventsMatchTheModulesErrorsToo(t *testing.T) {
	f := newFSM(t, states.Enroll, nil)
	for _, event := range []string{"deploy", "active", "error"} { // the last is an event of older series
		err := f.Event(t.Context(), event)
		require.ErrorIs(t, err, states.ErrNotAllowed, event)
		require.ErrorAs(t, err, new(*machine.EventError), event)
	}
	for _, event := range []string{"frobnicate", "none", ""} {
		err := f.Event(t.Context(), event)
		require.NotErrorIs(t, err, states.ErrNotAllowed, event)
		require.ErrorAs(t, err, new(*states.UnknownError), event)
	}
	require.Equal(t, "enroll", f.Current())
}

func TestTheVerbsOfTheAPIAreAccepted(t *testing.T) {
	for _, word := range []string{"active", "deploy"} {
		f := newFSM(t, states.Available, nil)
		require.True(t, f.Can(word), word)
		require.NoError(t, f.Event(t.Context(), word))
		require.Equal(t, "deploying", f.Current(), word)
		require.False(t, f.Can(word), word)
	}
	for _, word := range []string{"deleted", "delete", "undeploy"} {
		var fired string
		f := newFSM(t, states.Active, fsm.Callbacks{"before_delete": func(_ context.Context, e *fsm.Event) { fired = e.Event }})
		require.False(t, f.Cannot(word), word)
		require.NoError(t, f.Event(t.Context(), word))
		require.Equal(t, "deleting", f.Current(), word)
		require.Equal(t, "delete", fired, "callbacks find the table's word")
	}
	for verb, event := range states.Verbs() {
		for s := range latest.States().All() {
			f := newFSM(t, s, nil)
			require.Equal(t, f.Machine().Can(event), f.Can(verb), "%v in %v", verb, s)
		}
	}
}

func TestANilCallbackIsNotCalled(t *testing.T) {
	f := newFSM(t, states.Enroll, fsm.Callbacks{"before_manage": nil, "leave_enroll": nil, "enter_verifying": nil})
	require.NoError(t, f.Event(t.Context(), "manage"))
}

func TestQuestionsAreAnsweredAsLooplabDoes(t *testing.T) {
	for s := range latest.States().All() {
		f := newFSM(t, s, nil)
		plain := fsm.NewFSM(s.String(), looplab.Events(latest), nil)
		require.True(t, f.Is(s.String()))
		require.False(t, f.Is("none"))
		require.ElementsMatch(t, plain.AvailableTransitions(), f.AvailableTransitions())
		for event := range states.AllEvents() {
			require.Equal(t, plain.Can(event.String()), f.Can(event.String()))
			require.Equal(t, plain.Cannot(event.String()), f.Cannot(event.String()))
		}
		require.False(t, f.Can("frobnicate"))
	}
}

func TestTargetAndLastErrorFollowIronic(t *testing.T) {
	f := newFSM(t, states.Manageable, nil)
	ctx := t.Context()
	manual := func(event states.Event) machine.Input {
		return machine.Input{Event: event, Target: states.Manageable}
	}
	require.NoError(t, f.Apply(ctx, manual(states.EventClean)))
	require.NoError(t, f.Apply(ctx, manual(states.EventWait)))
	require.Equal(t, machine.Node{State: states.CleanWait, Target: states.Manageable}, f.Machine().Node())

	failed := manual(states.EventFail)
	failed.LastError = "no disk"
	require.NoError(t, f.Apply(ctx, failed))
	require.Equal(t, machine.Node{State: states.CleanFail, Target: states.Manageable, LastError: "no disk"}, f.Machine().Node())

	require.NoError(t, f.Event(ctx, "manage"))
	require.Equal(t, machine.Node{State: states.Manageable, LastError: "no disk"}, f.Machine().Node())
}

// A service that keeps its own data in the metadata of an *fsm.FSM, and reads it in callbacks, needs no change.
func TestMetadataAreSharedWithTheLooplabFSM(t *testing.T) {
	var seen any
	f := newFSM(t, states.Enroll, fsm.Callbacks{"enter_verifying": func(_ context.Context, e *fsm.Event) {
		seen, _ = e.FSM.Metadata("order")
	}})
	f.SetMetadata("order", 7)
	require.NoError(t, f.Event(t.Context(), "manage"))
	require.Equal(t, 7, seen)
	order, set := f.Metadata("order")
	require.True(t, set)
	require.Equal(t, 7, order)

	f.DeleteMetadata("order")
	_, set = f.Metadata("order")
	require.False(t, set)
	require.Same(t, f, looplab.Of(f.Looplab()))
}
