// SPDX-License-Identifier: Apache-2.0

package looplab_test

import (
	"context"
	"slices"
	"testing"

	"github.com/looplab/fsm"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

// quartet is the same node in four implementations.
type quartet struct {
	table   *states.Table
	node    machine.Node
	machine *machine.Machine
	fsm     *looplab.FSM
	plain   *fsm.FSM
}

func newQuartet(t *rapid.T, table *states.Table, in states.State) *quartet {
	config := machine.Config{Table: table, Node: machine.Node{State: in}}
	m, err := machine.New(config)
	require.NoError(t, err)
	f, err := looplab.New(config, nil)
	require.NoError(t, err)
	return &quartet{
		table:   table,
		node:    config.Node,
		machine: m,
		fsm:     f,
		plain:   fsm.NewFSM(in.String(), looplab.Events(table), nil),
	}
}

// fire fires one event at all four. Looplab alone has no targets, so it gets the event
// only if the named target is valid.
func (f *quartet) fire(t *rapid.T, in machine.Input) {
	next, want := f.node.Apply(f.table, in)
	f.node = next
	errs := map[string]error{
		"Machine": f.machine.Apply(t.Context(), in),
		"FSM":     f.fsm.Apply(t.Context(), in),
	}
	if in.Target == states.NoState || f.table.Stable().Has(in.Target) {
		err := f.plain.Event(t.Context(), in.Event.String())
		require.Equal(t, want == nil, err == nil, "looplab answers %v, Apply %v", err, want)
	}
	for name, err := range errs {
		require.Equal(t, want, err, "%s and Apply of %+v", name, in)
	}

	require.Equal(t, f.node, f.machine.Node())
	require.Equal(t, f.node, f.fsm.Machine().Node())
	require.Equal(t, f.node.State.String(), f.fsm.Current())
	require.Equal(t, f.node.State.String(), f.fsm.Looplab().Current())
	require.Equal(t, f.node.State.String(), f.plain.Current())
	require.ElementsMatch(t, f.plain.AvailableTransitions(), f.fsm.AvailableTransitions())
}

func TestMachineApplyAndLooplabAgree(t *testing.T) {
	for series := range states.AllSeries() {
		t.Run(series.String(), func(t *testing.T) {
			table := series.Table()
			walks := rapidstates.MixedWalk(table)
			rapid.Check(t, func(t *rapid.T) {
				walk := walks.Draw(t, "walk")
				f := newQuartet(t, table, walk[0].From)
				for _, step := range walk {
					f.fire(t, machine.Input{Event: step.Event})
					require.Equal(t, step.To, f.node.State)
				}
			})
		})
	}
}

func TestMachineApplyAndLooplabAgreeOnInputs(t *testing.T) {
	texts := rapid.SampledFrom([]string{"", "", "no answer", "no disk"})
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom(slices.Collect(states.AllSeries())).Draw(t, "series").Table()
		walk := rapidstates.MixedWalk(table).Draw(t, "walk")
		targets := rapid.OneOf(rapid.Just(states.NoState), rapid.SampledFrom(slices.Collect(table.Stable().All())),
			rapid.SampledFrom(slices.Collect(states.AllStates())))
		f := newQuartet(t, table, walk[0].From)
		for _, step := range walk {
			f.fire(t, machine.Input{
				Event:     step.Event,
				Target:    targets.Draw(t, "target"),
				LastError: texts.Draw(t, "last error"),
				Work:      rapid.Bool().Draw(t, "work"),
			})
		}
	})
}

// checked adapts an FSM to statestest.Targeted.
type checked struct{ f *looplab.FSM }

func (c checked) Current() states.State { return c.f.Machine().Node().State }
func (c checked) Target() states.State  { return c.f.Machine().Node().Target }

func (c checked) Fire(event states.Event) error { return c.FireTo(event, states.NoState) }

func (c checked) FireTo(event states.Event, target states.State) error {
	return c.f.Apply(context.Background(), machine.Input{Event: event, Target: target})
}

func TestStatestestAgrees(t *testing.T) {
	require.NoError(t, statestest.Check(latest, func(state, target states.State) (statestest.Machine, error) {
		f, err := looplab.New(machine.Config{Table: latest, Node: machine.Node{State: state, Target: target}}, nil)
		return checked{f}, err
	}))
}
