// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A loop brings a node to a goal. Here the table takes the place of a server.
func ExampleNext() {
	table := states.Latest().Table()
	node := machine.Node{State: states.Enroll}
	desired := plan.Desired{Goal: plan.After(states.EventInspect), Version: 115}
	for {
		step, err := plan.Next(table, node, desired)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v: %v, %d left\n", node.State, step, step.Left)
		switch step.Action {
		case plan.Send:
			node, err = node.Request(table, step.Verb, step.Version)
		case plan.Wait:
			node, err = node.Report(table, states.EventDone, "")
		default:
			return
		}
		if err != nil {
			panic(err)
		}
		desired.Progress = step.Progress
	}
	// Output:
	// enroll: send manage, 2 left
	// verifying: wait for verifying to end in manageable, 1 left
	// manageable: send inspect, 1 left
	// inspecting: wait for inspecting to end in manageable, 0 left
	// manageable: done, 0 left
}

// Without permission no workload is destroyed, and no failed work is retried.
func ExamplePolicy() {
	table := states.Latest().Table()
	ask := func(s states.State, policy plan.Policy) {
		step, err := plan.Next(table, machine.Node{State: s}, plan.Desired{Goal: plan.In(states.Available), Version: 115, Policy: policy})
		fmt.Println(step, err)
	}
	ask(states.Active, plan.Policy{})
	ask(states.Active, plan.Policy{MayDestroy: true})
	ask(states.CleanFail, plan.Policy{})
	ask(states.CleanFail, plan.Policy{Retries: 1})
	// Output:
	// blocked: needs destroy, before deleted <nil>
	// send deleted <nil>
	// blocked: needs retry of cleaning, before manage <nil>
	// send manage <nil>
}

// A program stores the desired state next to the node.
func ExampleDesired() {
	desired := plan.Desired{Goal: plan.In(states.Rescue), Version: 81, Policy: plan.Policy{Retries: 1}}
	step, err := plan.Next(states.Latest().Table(), machine.Node{State: states.Active}, desired)
	if err != nil {
		panic(err)
	}
	desired.Progress = step.Progress
	text, err := json.MarshalIndent(desired, "", "  ")
	fmt.Println(string(text), err)
	// Output:
	// {
	//   "goal": "rescued",
	//   "version": "1.81",
	//   "policy": {
	//     "may_abort": false,
	//     "may_destroy": false,
	//     "retries": 1
	//   },
	//   "progress": {
	//     "tried": {
	//       "rescue": 1
	//     }
	//   }
	// } <nil>
}

func ExampleOutcome() {
	table := states.Latest().Table()
	before := machine.Node{State: states.Enroll}
	for _, now := range []machine.Node{
		{State: states.Verifying, Target: states.Manageable},
		{State: states.Enroll, LastError: "the BMC does not answer"},
	} {
		verdict, err := plan.Outcome(table, before, "manage", now)
		fmt.Println(verdict, err)
	}
	// Output:
	// in progress <nil>
	// failed <nil>
}

func ExampleExplain() {
	table := states.Latest().Table()
	gaps, err := plan.Explain(table, []states.State{states.Enroll, states.Manageable, states.CleanFail})
	for _, row := range slices.Concat(gaps...) {
		fmt.Println(row)
	}
	fmt.Println(err)

	_, err = plan.Explain(table, []states.State{states.Available, states.Verifying})
	fmt.Println(err)
	// Output:
	// enroll --manage--> verifying
	// verifying --done--> manageable
	// manageable --provide--> cleaning
	// cleaning --fail--> clean failed
	// <nil>
	// observation 1: "verifying" cannot come after "available" in 2026.2; it can come after {enroll, verifying}
}
