// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A manageable node has reached the goal of its state, but not the goal of an
// inspection, which must be done once.
func ExampleGoal() {
	node := machine.Node{State: states.Manageable}
	for _, goal := range []plan.Goal{plan.In(states.Manageable), plan.After(states.EventInspect), plan.Deletable} {
		step, err := plan.Next(states.Latest().Table(), node, plan.Desired{Goal: goal, Version: 115})
		fmt.Printf("%s: %v, %v\n", goal, step, err)
	}
	fmt.Println(plan.ParseGoal("rescue"))
	// Output:
	// manageable: done, <nil>
	// inspected: send inspect, <nil>
	// deletable: done, <nil>
	// rescued <nil>
}
