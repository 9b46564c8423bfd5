// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

// everySeries returns all series, and the latest alone with the race detector, which finds nothing in a pure rule and
// makes it ten times slower.
func everySeries() iter.Seq[states.Series] {
	if schedules.Raced {
		return slices.Values([]states.Series{states.Latest()})
	}
	return states.AllSeries()
}

// checked adapts a Machine to statestest.Targeted.
type checked struct {
	*machine.Machine
	t *testing.T
}

func (c checked) Current() states.State { return c.Node().State }

func (c checked) Target() states.State { return c.Node().Target }

func (c checked) Fire(event states.Event) error { return c.Machine.Fire(c.t.Context(), event) }

func (c checked) FireTo(event states.Event, target states.State) error {
	return c.Apply(c.t.Context(), machine.Input{Event: event, Target: target})
}

func TestMachineIsTheTable(t *testing.T) {
	for series := range everySeries() {
		table := series.Table()
		require.NoError(t, statestest.Check(table, func(state, target states.State) (statestest.Machine, error) {
			m, err := machine.New(machine.Config{Table: table, Node: machine.Node{State: state, Target: target}})
			return checked{m, t}, err
		}))
	}
}
