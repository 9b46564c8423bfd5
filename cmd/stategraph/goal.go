// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// pathTo returns the states that a node passes from a state to a goal if all work succeeds: by the plan that may not
// destroy a workload or repeat failed work if there is one, else by a plan that may.
func pathTo(t *states.Table, from states.State, goal plan.Goal) ([]states.State, error) {
	var last plan.Step
	for _, policy := range plan.Policies(1) {
		route, err := plan.Route(t, machine.Node{State: from}, plan.Desired{Goal: goal, Version: t.Series().MaxAPIVersion(), Policy: policy})
		if err != nil {
			return nil, err
		}
		var path []states.State
		for node, step := range route {
			path = append(path, node.State)
			if event, err := states.ParseVerb(step.Verb); err == nil { // a request may move the node by two transitions
				first, _ := t.Next(node.State, event)
				path = append(path, first)
			}
			last = step
		}
		if last.Action == plan.Done {
			return slices.Compact(path), nil
		}
	}
	return nil, fmt.Errorf("no path from %q to the goal %q in %v: %v", from, goal, t.Series(), last.Reason)
}
