// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func ExampleRoute() {
	node := machine.Node{State: states.Enroll}
	route, err := plan.Route(states.Latest().Table(), node, plan.Desired{Goal: plan.In(states.Available), Version: 115})
	if err != nil {
		fmt.Println(err)
		return
	}
	for node, step := range route {
		fmt.Printf("%v: %v\n", node.State, step)
	}
	// Output:
	// enroll: send manage
	// verifying: wait for verifying to end in manageable
	// manageable: send provide
	// cleaning: wait for cleaning to end in available
	// available: done
}

// TestARouteEndsAndHasTheRequestsThatNextCounts walks from every state to every goal in every series.
func TestARouteEndsAndHasTheRequestsThatNextCounts(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for from := range table.States().All() {
			for goal := range plan.AllGoals() {
				desired := plan.Desired{Goal: goal, Version: series.MaxAPIVersion(), Policy: plan.Policy{MayDestroy: true, Retries: 1}}
				unknownTarget, err := plan.Route(table, machine.Node{State: from, Target: states.UnknownState}, desired)
				require.NoError(t, err)
				route, err := plan.Route(table, machine.Node{State: from}, desired)
				require.NoError(t, err)
				var last plan.Step
				left, sent, steps := 0, 0, 0
				for node, step := range route {
					if steps++; steps == 1 {
						require.Equal(t, from, node.State)
						left = step.Left
					}
					if step.Action == plan.Send {
						sent++
					}
					require.LessOrEqual(t, steps, 50, "%v: %v to %v", series, from, goal)
					last = step
				}
				require.Contains(t, []plan.Action{plan.Done, plan.Blocked}, last.Action, "%v: %v to %v", series, from, goal)
				if last.Action == plan.Done && left > 0 {
					require.Equal(t, left, sent, "%v: %v to %v", series, from, goal)
				}
				for _, step := range unknownTarget {
					steps--
					require.GreaterOrEqual(t, steps, 0, "%v: %v to %v: an unknown target counts as none", series, from, goal)
					last = step
				}
				require.Zero(t, steps)
				require.Contains(t, []plan.Action{plan.Done, plan.Blocked}, last.Action, "%v: %v to %v", series, from, goal)
			}
		}
	}
}

func ExamplePolicies() {
	node := machine.Node{State: states.CleanFail}
	for _, policy := range plan.Policies(1) {
		route, err := plan.Route(states.Latest().Table(), node, plan.Desired{Goal: plan.In(states.Available), Version: 115, Policy: policy})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, step := range route {
			if step.Action == plan.Done || step.Action == plan.Blocked {
				fmt.Printf("%+v: %v\n", policy, step)
			}
		}
	}
	// Output:
	// {MayAbort:false MayDestroy:false Retries:0}: blocked: needs retry of cleaning, before manage
	// {MayAbort:false MayDestroy:false Retries:1}: done
	// {MayAbort:false MayDestroy:true Retries:0}: blocked: needs retry of cleaning, before manage
	// {MayAbort:false MayDestroy:true Retries:1}: done
}

func TestARouteStopsWhereARequestIsRefused(t *testing.T) {
	desired := plan.Desired{Goal: plan.In(states.Active), Version: 115, Fields: plan.NodeFields{Maintenance: true}}
	route, err := plan.Route(states.Latest().Table(), machine.Node{State: states.Enroll}, desired)
	require.NoError(t, err)
	for node, step := range route {
		if step.Action == plan.Blocked {
			require.Equal(t, states.Available, node.State)
			require.Equal(t, plan.Refused, step.Reason)
			return
		}
	}
	require.Fail(t, "a node in maintenance was deployed")
}

func TestARouteEndsAtARequestThatIsHeldBack(t *testing.T) {
	desired := plan.Desired{Goal: plan.In(states.Active), Version: 115, Fields: plan.NodeFields{Reserved: true}}
	route, err := plan.Route(states.Latest().Table(), machine.Node{State: states.Available}, desired)
	require.NoError(t, err)
	var steps []plan.Step
	for _, step := range route {
		steps = append(steps, step)
	}
	require.Len(t, steps, 1)
	require.Equal(t, plan.Wait, steps[0].Action)
	require.Equal(t, "reservation", steps[0].Field)
}

func TestARouteNeedNotBeReadToItsEnd(t *testing.T) {
	route, err := plan.Route(states.Latest().Table(), machine.Node{State: states.Enroll},
		plan.Desired{Goal: plan.In(states.Active), Version: 115})
	require.NoError(t, err)
	for _, step := range route {
		require.Equal(t, "manage", step.Verb)
		break
	}
}

func TestARouteGoesThroughAHoldByUnhold(t *testing.T) {
	walk := func(v states.APIVersion) (seen []states.State, last plan.Step) {
		route, err := plan.Route(states.Latest().Table(), machine.Node{State: states.CleanHold},
			plan.Desired{Goal: plan.In(states.Available), Version: v})
		require.NoError(t, err)
		for node, step := range route {
			seen, last = append(seen, node.State), step
		}
		return seen, last
	}
	seen, last := walk(115)
	require.Equal(t, []states.State{states.CleanHold, states.CleanWait, states.Cleaning, states.Available}, seen)
	require.Equal(t, plan.Done, last.Action)
	seen, last = walk(84)
	require.Equal(t, []states.State{states.CleanHold}, seen)
	require.Equal(t, plan.Blocked, last.Action)
}

func TestARouteNeedsAKnownStateAndGoal(t *testing.T) {
	table := states.Kilo.Table()
	var unknown *states.UnknownError
	_, err := plan.Route(table, machine.Node{State: states.Available}, plan.Desired{Goal: "nowhere"})
	require.ErrorAs(t, err, &unknown)
	var wrong *machine.StateError
	_, err = plan.Route(table, machine.Node{State: states.Enroll}, plan.Desired{Goal: plan.In(states.Active)})
	require.ErrorAs(t, err, &wrong)
}

func TestWorkThatSucceedsContinuesUntilTheNodeRests(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range table.States().All() {
			node := machine.Node{State: s}
			next := plan.Succeed(table, node)
			switch table.Phase(s) {
			case states.PhaseWorking, states.PhaseWaiting:
				require.NotEqual(t, node, next, "%v in %v", s, series)
				for range 3 {
					next = plan.Succeed(table, next)
				}
				require.Equal(t, states.PhaseStable, table.Phase(next.State), "%v in %v", s, series)
			default:
				require.Equal(t, node, next, "%v in %v", s, series)
			}
		}
	}
}

// TestWorkOnARouteEndsWhereTheStepsBeforeSay walks from every state to every goal with the fields that decide where
// work ends.
func TestWorkOnARouteEndsWhereTheStepsBeforeSay(t *testing.T) {
	table := states.Latest().Table()
	for from := range table.States().All() {
		for goal := range plan.AllGoals() {
			for _, fields := range everyField() {
				route, err := plan.Route(table, machine.Node{State: from, Target: table.Target(from)}, plan.Desired{
					Goal: goal, Version: states.Latest().MaxAPIVersion(), Policy: plan.Policy{MayDestroy: true, Retries: 1}, Fields: fields,
				})
				require.NoError(t, err)
				until := states.NoState
				for node, step := range route {
					phase := table.Phase(node.State)
					if until != states.NoState && phase != states.PhaseWorking && phase != states.PhaseWaiting {
						require.Equal(t, until, node.State, "%v to %v with %+v", from, goal, fields)
					}
					if until = states.NoState; step.Action == plan.Wait && step.Reason == "" {
						until = step.Until
					}
				}
			}
		}
	}
}
