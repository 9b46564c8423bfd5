package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A loop that brings a node to a goal; here the server is the table.
func ExampleNext() {
	table := states.Latest().Table()
	node := machine.Node{State: states.Enroll}
	wish := plan.Wish{Goal: plan.Inspected, Version: 113}
	for {
		step, err := plan.Next(table, node, wish)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v: %v, %d left\n", node.State, step, step.Left)
		event := states.EventDone
		switch step.Action {
		case plan.Send:
			event, _ = states.ParseVerb(step.Verb)
		case plan.Done, plan.Blocked:
			return
		}
		if node, err = node.Apply(table, machine.Input{Event: event, Work: step.Action == plan.Send}); err != nil {
			panic(err)
		}
		wish.Progress = step.Progress
	}
	// Output:
	// enroll: send manage, 2 left
	// verifying: wait for verification to end in manageable, 1 left
	// manageable: send inspect, 1 left
	// inspecting: wait for inspection to end in manageable, 0 left
	// manageable: done, 0 left
}

// A workload is destroyed, and failed work tried again, by permission alone.
func ExamplePolicy() {
	table := states.Latest().Table()
	ask := func(s states.State, policy plan.Policy) {
		step, err := plan.Next(table, machine.Node{State: s}, plan.Wish{Goal: plan.Available, Version: 113, Policy: policy})
		fmt.Println(step, err)
	}
	ask(states.Active, plan.Policy{})
	ask(states.Active, plan.Policy{MayDestroy: true})
	ask(states.CleanFail, plan.Policy{})
	ask(states.CleanFail, plan.Policy{Retries: plan.Counts{plan.Cleaning: 1}})
	// Output:
	// blocked: needs destroy, before deleted <nil>
	// send deleted <nil>
	// blocked: needs retry of cleaning, before manage <nil>
	// send manage <nil>
}

// What a program stores of a wish, next to the node.
func ExampleWish() {
	wish := plan.Wish{Goal: plan.Rescued, Version: 81, Policy: plan.Policy{Retries: plan.Counts{plan.Rescue: 1}}}
	step, err := plan.Next(states.Latest().Table(), machine.Node{State: states.Active}, wish)
	if err != nil {
		panic(err)
	}
	wish.Progress = step.Progress
	text, err := json.MarshalIndent(wish, "", "  ")
	fmt.Println(string(text), err)
	// Output:
	// {
	//   "goal": "rescued",
	//   "version": "1.81",
	//   "policy": {
	//     "may_abort": false,
	//     "may_destroy": false,
	//     "retries": {
	//       "rescue": 1
	//     }
	//   },
	//   "progress": {
	//     "requests": 1,
	//     "tried": {
	//       "rescue": 1
	//     },
	//     "stage": "open"
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
		result, err := plan.Outcome(table, before, "manage", now)
		fmt.Println(result.Verdict, result.Reason, err)
	}
	// Output:
	// in progress  <nil>
	// failed the BMC does not answer <nil>
}

func ExampleExplain() {
	table := states.Latest().Table()
	gaps, err := plan.Explain(table, []states.State{states.Enroll, states.Manageable, states.CleanFail})
	for _, row := range slices.Concat(gaps...) {
		fmt.Println(row)
	}
	fmt.Println(err)

	_, err = plan.Explain(table, []states.State{states.Available, states.Verifying})
	fmt.Println(errors.Is(err, plan.ErrImpossible), err)
	// Output:
	// enroll --manage--> verifying
	// verifying --done--> manageable
	// manageable --provide--> cleaning
	// cleaning --fail--> clean failed
	// <nil>
	// true observation 1: "verifying" cannot come after "available" in 2026.2; it can come after {enroll, verifying}
}

func ExamplePath() {
	path, err := plan.Path(states.Latest().Table(), states.Active, states.Manageable)
	for _, row := range path {
		fmt.Println(row)
	}
	fmt.Println(err)
	// Output:
	// active --delete--> deleting
	// deleting --clean--> cleaning
	// cleaning --done--> available
	// available --manage--> manageable
	// <nil>
}

// A test of one's own machine that takes every transition of a series.
func ExampleCoverTransitions() {
	table := states.Kilo.Table()
	walks, err := plan.CoverTransitions(table)
	if err != nil {
		panic(err)
	}
	taken := make(map[states.Transition]bool)
	for _, walk := range walks {
		node := machine.Node{State: walk[0].From}
		for _, row := range walk {
			if node, err = node.Apply(table, machine.Input{Event: row.Event}); err != nil {
				panic(err)
			}
			taken[row] = true
		}
	}
	fmt.Println(len(walks), "walk,", len(taken), "transitions")
	// Output: 1 walk, 27 transitions
}
