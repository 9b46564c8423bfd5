// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// machineKinds are machines whose moves take different paths.
var machineKinds = map[string]func(*machine.Config){
	"plain":        func(*machine.Config) {},
	"with history": func(c *machine.Config) { c.History = 1 },
	"with a save hook": func(c *machine.Config) {
		c.Save = []machine.Hook{func(context.Context, machine.Transition) error { return nil }}
	},
}

// A node goes to service failed and is moved before the second transition of the abort.
func TestAnAbortEndsNoWorkThatHasBegunSince(t *testing.T) {
	var m *machine.Machine
	m = newMachine(t, states.ServiceWait, func(c *machine.Config) {
		c.Enter = []machine.Hook{func(ctx context.Context, tr machine.Transition) error {
			if tr.From.State != states.ServiceWait {
				return nil
			}
			return errors.Join(m.Request(ctx, "rescue", 115), m.Report(ctx, states.EventWait, "")) // as by other callers
		}}
	})
	err := m.Request(t.Context(), "abort", 115)
	require.Equal(t, states.RescueWait, m.Node().State)
	require.True(t, machine.Moved(err))
	var superseded *machine.SupersededError
	require.ErrorAs(t, err, &superseded)
	require.Equal(t, states.RescueWait, superseded.State)
	require.ErrorContains(t, err, `the node has moved to "service failed" and no further`)
}

func TestASequenceMovesUntilAnotherCallerHasMovedTheNode(t *testing.T) {
	others := map[string]func(context.Context, *machine.Machine) error{
		"by Fire": func(ctx context.Context, m *machine.Machine) error { return m.Fire(ctx, states.EventFail) },
		"by Apply": func(ctx context.Context, m *machine.Machine) error {
			return m.Apply(ctx, machine.Input{Event: states.EventFail})
		},
		"by Report": func(ctx context.Context, m *machine.Machine) error { return m.Report(ctx, states.EventFail, "") },
		"by another sequence": func(ctx context.Context, m *machine.Machine) error {
			return m.Sequence().Report(ctx, states.EventFail, "")
		},
		"by SetNode, to another state": func(ctx context.Context, m *machine.Machine) error {
			return m.SetNode(ctx, node(states.Enroll), nil)
		},
	}
	for kind, set := range machineKinds {
		for name, other := range others {
			t.Run(kind+", "+name, func(t *testing.T) {
				ctx := t.Context()
				m := newMachine(t, states.Enroll, set)
				s := m.Sequence()
				require.ErrorIs(t, s.Report(ctx, states.EventDone, ""), states.ErrNotAllowed)
				require.NoError(t, m.Request(ctx, "manage", 115))
				require.NoError(t, s.Report(ctx, states.EventFail, "no answer"), "nothing precedes its first move")
				require.NoError(t, s.Request(ctx, "manage", 115))
				require.ErrorAs(t, s.Report(ctx, states.EventWait, ""), new(*machine.EventError), "a refusal changes nothing")

				require.NoError(t, other(ctx, m))
				require.NoError(t, m.Request(ctx, "manage", 115))
				for _, err := range []error{
					s.Report(ctx, states.EventDone, ""), s.Apply(ctx, machine.Input{Event: states.EventDone}), s.Request(ctx, "manage", 115),
				} {
					require.Equal(t, &machine.SupersededError{State: states.Verifying}, err)
					require.ErrorIs(t, err, states.ErrNotAllowed)
					require.False(t, machine.Moved(err))
				}
				require.Equal(t, states.Verifying, m.Node().State)
				require.NoError(t, m.Report(ctx, states.EventDone, ""))
			})
		}
	}
}

func TestASequenceGoesOnAfterAMoveThatHasFailed(t *testing.T) {
	full := errors.New("disk full")
	fails := false
	m := newMachine(t, states.Enroll, func(c *machine.Config) {
		c.Save = []machine.Hook{func(context.Context, machine.Transition) error {
			if fails {
				return full
			}
			return nil
		}}
	})
	s := m.Sequence()
	require.NoError(t, s.Request(t.Context(), "manage", 115))
	fails = true
	require.ErrorIs(t, s.Report(t.Context(), states.EventDone, ""), full)
	fails = false
	require.NoError(t, s.Report(t.Context(), states.EventDone, ""))
}

func TestASequenceTellsWhereItsLastMoveHasLed(t *testing.T) {
	for kind, set := range machineKinds {
		t.Run(kind, func(t *testing.T) {
			ctx := t.Context()
			m := newMachine(t, states.Enroll, set, func(c *machine.Config) {
				c.Enter = []machine.Hook{func(context.Context, machine.Transition) error { return errors.New("no notice") }}
			})
			s := m.Sequence()
			require.Error(t, s.Report(ctx, states.EventDone, ""))
			require.Equal(t, states.NoState, s.State(), "a refused move leads nowhere")
			require.True(t, machine.Moved(s.Request(ctx, "manage", 115)))
			require.Equal(t, states.Verifying, s.State())
			require.False(t, machine.Moved(s.Request(ctx, "provide", 115)))
			require.Equal(t, states.Verifying, s.State())
			require.True(t, machine.Moved(s.Apply(ctx, machine.Input{Event: states.EventDone})))
			require.Equal(t, states.Manageable, s.State())

			require.NoError(t, m.SetNode(ctx, node(states.Available), nil))
			require.ErrorAs(t, s.Request(ctx, "inspect", 115), new(*machine.SupersededError))
			require.Equal(t, states.Manageable, s.State(), "not where others have moved the node")
		})
	}
}

func TestTheAbortOfAServiceLeadsItsSequenceToActive(t *testing.T) {
	s := newMachine(t, states.ServiceWait).Sequence()
	require.NoError(t, s.Request(t.Context(), "abort", 115))
	require.Equal(t, states.Active, s.State())
}

func TestASequenceGoesOnAfterASetNodeThatMovesNothing(t *testing.T) {
	m := newMachine(t, states.Enroll)
	s := m.Sequence()
	require.NoError(t, s.Request(t.Context(), "manage", 115))
	read := m.Node()
	read.LastError = "by another process"
	require.NoError(t, m.SetNode(t.Context(), read, "a new revision"))
	require.EqualValues(t, 1, m.Moves())
	require.NoError(t, s.Report(t.Context(), states.EventDone, ""))
	require.EqualValues(t, 2, m.Moves())

	read.State = states.Cleaning
	require.NoError(t, m.SetNode(t.Context(), read, nil))
	require.NoError(t, m.Sequence().Report(t.Context(), states.EventFail, ""))

	s = m.Sequence()
	require.NoError(t, s.Request(t.Context(), "manage", 115))
	require.NoError(t, s.Request(t.Context(), "clean", 115))
	read = m.Node()
	require.Equal(t, states.Manageable, read.Target)
	read.Target = states.Available
	require.NoError(t, m.SetNode(t.Context(), read, nil))
	require.ErrorAs(t, s.Report(t.Context(), states.EventDone, ""), new(*machine.SupersededError), "it is another cleaning")

	require.EqualValues(t, 7, m.Moves())
	var none *machine.Machine
	require.Zero(t, none.Moves())
	require.ErrorAs(t, none.Sequence().Request(t.Context(), "manage", 115), new(*machine.StateError))
}

func TestAnAbortWhoseSecondEnterHookFailsHasReachedItsState(t *testing.T) {
	for name, failing := range map[string][]states.State{
		"the second hook": {states.Active}, "each hook": {states.ServiceFail, states.Active},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, states.ServiceWait, func(c *machine.Config) {
				c.Enter = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
					if slices.Contains(failing, tr.To.State) {
						return fmt.Errorf("no notice of %v", tr.To.State)
					}
					return nil
				}}
			})
			err := m.Request(t.Context(), "abort", 115)
			require.Equal(t, states.Active, m.Node().State)
			require.True(t, machine.Moved(err))
			require.NotContains(t, err.Error(), "no further")
			for _, s := range failing {
				require.ErrorContains(t, err, "no notice of "+s.String())
			}
		})
	}
}

func TestAnEnterHookGoesOnWithTheSequenceOfItsMove(t *testing.T) {
	for kind, set := range machineKinds {
		t.Run(kind, func(t *testing.T) {
			var s *machine.Sequence
			m := newMachine(t, states.Enroll, set, func(c *machine.Config) {
				c.Enter = []machine.Hook{func(ctx context.Context, tr machine.Transition) error {
					if tr.To.State != states.Verifying {
						return nil
					}
					return s.Report(ctx, states.EventFail, "no answer")
				}}
			})
			s = m.Sequence()
			for range 3 { // the first move and later ones
				require.NoError(t, s.Request(t.Context(), "manage", 115))
				require.Equal(t, states.Enroll, m.Node().State)
			}
			require.ErrorAs(t, m.Request(t.Context(), "manage", 115), new(*machine.SupersededError), "another caller's move")
		})
	}
}
