// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strings"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A route of the page, as package plan computes it, is a text: the permissions that it needs, as upper-case letters; a
// lower-case letter for each request's verb; and, if the goal cannot be reached, the sign of a failure with a letter
// for the reason. These are the signs beside the letters of verbs. view.js of the explorer has the texts of the
// upper-case letters (needs), and explains the reason for a version, too; its model.js splits a route.
const (
	needsDestroy  = "D" // the permission to destroy a workload
	needsRetry    = "R" // the permission to retry failed work
	needsUnhold   = "H" // an operator who resumes work on hold
	failed        = "!" // comes before the reason
	failedNoRoute = "n"
	failedVersion = "v" // a higher API version is needed
)

// plans returns, for each goal, the index of the routes that a version permits.
func (x *explorer) plans(table *states.Table, v states.APIVersion) []int {
	var numbers []int
	for _, goal := range x.Goals {
		routes := make([]string, len(x.States))
		for s, n := range x.numbers {
			if table.States().Has(s) {
				routes[n] = x.route(table, s, goal, v)
			}
		}
		text := strings.Join(routes, ",")
		numbers = append(numbers, place(&x.Routes, func(other string) bool { return other == text }, text))
	}
	return numbers
}

// permissions returns the letters of what a policy permits.
func permissions(p plan.Policy) (letters string) {
	if p.MayDestroy {
		letters = needsDestroy
	}
	if p.Retries > 0 {
		letters += needsRetry
	}
	return letters
}

// route returns the route under the strictest policy that reaches the goal.
func (x *explorer) route(table *states.Table, from states.State, goal plan.Goal, v states.APIVersion) string {
	failure := ""
	for _, policy := range plan.Policies(1) {
		requests, hold, reason := x.follow(table, from, plan.Desired{Goal: goal, Version: v, Policy: policy})
		if reason == "" {
			return permissions(policy) + hold + requests
		}
		failure = reason
	}
	return failed + failure
}

// follow executes a plan as if all work succeeds and work on hold is resumed. It returns
// the requests, needsUnhold if work was on hold, and the reason if the goal was not reached.
func (x *explorer) follow(table *states.Table, from states.State, desired plan.Desired) (requests, hold, reason string) {
	route, err := plan.Route(table, machine.Node{State: from}, desired)
	if err != nil {
		return "", "", failedNoRoute
	}
	var last plan.Step
	for _, step := range route {
		if step.Reason == plan.NeedsUnhold {
			hold = needsUnhold
		}
		if step.Verb != "" {
			requests += string(rune('a' + slices.Index(x.Verbs, step.Verb)))
		}
		last = step
	}
	switch {
	case last.Action == plan.Done:
		return requests, hold, ""
	case last.Reason == plan.NeedsVersion, last.Reason == plan.NeedsUnhold:
		return "", "", failedVersion
	default:
		return "", "", failedNoRoute
	}
}

// afterWork returns the states that a node passes after s, and the state in which it
// ends, if the work in progress in s succeeds. If there is none, end is s.
func afterWork(t *states.Table, s states.State) (through []states.State, end states.State) {
	node := machine.Node{State: s}
	for next := plan.Succeed(t, node); next != node; next = plan.Succeed(t, node) {
		if node.State != s {
			through = append(through, node.State)
		}
		node = next
	}
	return through, node.State
}
