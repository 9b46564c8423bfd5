// SPDX-License-Identifier: Apache-2.0

package statestest_test

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

// live adapts package machine's Machine to Targeted.
type live struct{ *machine.Machine }

func (m live) Current() states.State { return m.Node().State }
func (m live) Target() states.State  { return m.Node().Target }

func (m live) Fire(event states.Event) error {
	return m.Machine.Fire(context.Background(), event)
}

func (m live) FireTo(event states.Event, target states.State) error {
	return m.Apply(context.Background(), machine.Input{Event: event, Target: target})
}

// Check also compares the targets of an implementation that is Targeted.
func ExampleTargeted() {
	table := states.Latest().Table()
	err := statestest.Check(table, func(state, target states.State) (statestest.Machine, error) {
		m, err := machine.New(machine.Config{Table: table, Node: machine.Node{State: state, Target: target}})
		return live{m}, err
	})
	fmt.Println(err)
	// Output: <nil>
}
