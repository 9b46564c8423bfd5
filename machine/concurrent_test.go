// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// TestAnyTwoMethodsMayBeCalledAtOnce calls each pair of methods in two goroutines that only the machine puts in an
// order: the race detector finds what a method does without the lock, whichever of the two is first.
func TestAnyTwoMethodsMayBeCalledAtOnce(t *testing.T) {
	ctx := context.Background()
	node := machine.Node{State: states.Available}
	methods := []func(*machine.Machine){
		func(m *machine.Machine) { m.Node() },
		func(m *machine.Machine) { m.History() },
		func(m *machine.Machine) { m.Can(states.EventDeploy) },
		func(m *machine.Machine) { m.Events()(func(states.Event) bool { return true }) },
		func(m *machine.Machine) { _ = m.SetNode(ctx, node, "another token") },
		func(m *machine.Machine) { _ = m.Request(ctx, "active", states.Latest().MaxAPIVersion()) },
		func(m *machine.Machine) { _ = m.Report(ctx, states.EventDone, "") },
		func(m *machine.Machine) { _ = m.Fire(ctx, states.EventDeploy) },
	}
	hooks := []machine.Hook{func(context.Context, machine.Transition) error { return nil }}
	for _, config := range []machine.Config{
		{}, {History: 2}, {Guard: hooks, History: 2}, {Save: hooks, History: 2}, {Exit: hooks, Enter: hooks},
	} {
		config.Table, config.Node = states.Latest().Table(), node
		for _, one := range methods {
			for _, other := range methods {
				m, err := machine.New(config)
				require.NoError(t, err)
				var both sync.WaitGroup
				both.Add(2)
				for _, method := range []func(*machine.Machine){one, other} {
					go func() {
						defer both.Done()
						method(m)
					}()
				}
				both.Wait()
			}
		}
	}
}
