package main

import (
	"fmt"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// pathTo returns the states that a node passes from a state to a goal if all work
// succeeds: by the plan that may not destroy a workload or repeat failed work if there is
// one, else by a plan that may.
func pathTo(t *states.Table, from states.State, goal plan.Goal) ([]states.State, error) {
	var err error
	for _, policy := range []plan.Policy{{}, {Retries: 1}, {MayDestroy: true}, {MayDestroy: true, Retries: 1}} {
		var path []states.State
		desired := plan.Desired{Goal: goal, Version: t.Series().MaxAPIVersion(), Policy: policy}
		if path, err = follow(t, from, desired); err == nil {
			return path, nil
		}
	}
	return nil, err
}

func follow(t *states.Table, from states.State, desired plan.Desired) ([]states.State, error) {
	node, path := machine.Node{State: from}, []states.State{from}
	for {
		step, err := plan.Next(t, node, desired)
		switch {
		case err != nil:
			return nil, err
		case step.Action == plan.Done:
			return path, nil
		case step.Action == plan.Wait:
			next, err := node.Report(t, states.EventDone, "")
			if err != nil {
				next, err = node.Report(t, states.EventResume, "")
			}
			if err != nil {
				return nil, err
			}
			node = next
		case step.Action == plan.Send || step.Reason == plan.NeedsUnhold:
			event, err := states.ParseVerb(step.Verb)
			if err != nil {
				return nil, err
			}
			first, _ := t.Next(node.State, event)
			if node, err = node.Request(t, step.Verb, desired.Version); err != nil {
				return nil, err
			}
			if first != node.State { // the request moves the node by two transitions
				path = append(path, first)
			}
		default:
			return nil, fmt.Errorf("no path from %q to the goal %q in %v: %v", from, desired.Goal, t.Series(), step.Reason)
		}
		path = append(path, node.State)
		desired.Progress = step.Progress
	}
}
