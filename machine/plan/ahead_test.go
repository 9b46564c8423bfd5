// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// everyField returns all fields that differ in what Ironic refuses: the fault and the operator's option count in
// maintenance alone.
func everyField() []plan.NodeFields {
	var all []plan.NodeFields
	for n := range 1 << 5 {
		f := plan.NodeFields{
			Protected: n&1 != 0, Retired: n&2 != 0, Associated: n&4 != 0, Reserved: n&8 != 0, NoAutomatedClean: n&16 != 0,
		}
		all = append(all, f)
		f.Maintenance = true
		for _, f.Fault = range []string{"", "power failure"} {
			for _, f.NoProvisioningInMaintenance = range []bool{false, true} {
				all = append(all, f)
			}
		}
	}
	return all
}

// A routeStep is a step of a route with the state before it.
type routeStep struct {
	from states.State
	plan.Step
}

// eachRoute calls check with the route from each state to each goal, with some policies and all fields.
func eachRoute(t *testing.T, policies []plan.Policy, check func(plan.Desired, []routeStep)) {
	var steps []routeStep
	for from := range latest.States().All() {
		starts := []machine.Node{node(from)}
		if isCleaning(from) {
			starts = append(starts, machine.Node{State: from, Target: states.Manageable})
		}
		for _, start := range starts {
			for goal := range plan.AllGoals() {
				for _, policy := range policies {
					for _, fields := range everyField() {
						desired := plan.Desired{Goal: goal, Version: newest, Policy: policy, Fields: fields}
						route, err := plan.Route(latest, start, desired)
						if err != nil {
							require.NoError(t, err)
						}
						steps = steps[:0]
						for node, step := range route {
							steps = append(steps, routeStep{node.State, step})
							if len(steps) > 50 {
								require.Fail(t, "a route without end", "%+v", desired)
							}
						}
						check(desired, steps)
					}
				}
			}
		}
	}
}

func TestNoRouteDestroysAWorkloadForAGoalThatIsRefusedLater(t *testing.T) {
	destroying := []plan.Policy{
		{MayDestroy: true}, {MayDestroy: true, Retries: 1}, {MayDestroy: true, MayAbort: true}, {MayDestroy: true, MayAbort: true, Retries: 1},
	}
	eachRoute(t, destroying, func(desired plan.Desired, steps []routeStep) {
		end := steps[len(steps)-1]
		for _, s := range steps {
			destroys := s.Verb == "deleted" || s.Verb == "rebuild" && s.from != states.DeployFail
			if s.Action == plan.Send && destroys && end.Action != plan.Done {
				require.Fail(t, "destroys for nothing", "from %v, %+v: %v in %v, and at the end %v", steps[0].from, desired, s.Step, s.from, end.Step)
			}
		}
	})
}

func TestLeftIsTheNumberOfRequestsThatTheRouteSends(t *testing.T) {
	eachRoute(t, append(policies(0), policies(1)...), func(desired plan.Desired, steps []routeStep) {
		if steps[len(steps)-1].Action != plan.Done {
			return
		}
		left := 0
		for i := len(steps) - 1; i >= 0; i-- {
			s := steps[i]
			if s.Action == plan.Send {
				left++
			}
			if want := left; s.Left != want && s.Reason == "" {
				require.Fail(t, "miscounts the requests", "from %v, %+v: %v in %v has %d left, not %d",
					steps[0].from, desired, s.Step, s.from, s.Left, want)
			}
		}
	})
}

// The later request names the field, and nothing was sent.
func TestAWorkloadIsKeptIfALaterRequestIsRefused(t *testing.T) {
	retired, noPower := plan.NodeFields{Retired: true}, plan.NodeFields{Maintenance: true, Fault: "power failure"}
	cleanedOnce := plan.NewProgress(plan.TriesOf(states.Cleaning, 1), plan.Open)
	inspectedOnce := plan.NewProgress(plan.TriesOf(states.Inspecting, 1), plan.Open)
	tests := map[string]struct {
		from     states.State
		goal     plan.Goal
		policy   plan.Policy
		fields   plan.NodeFields
		progress plan.Progress
		want     string
	}{
		"a retired node is not provided": {states.Active, plan.In(states.Available), mayDestroy, retired, plan.Progress{},
			"blocked: refused by retired, before provide"},
		"nor unprovisioned": {states.Rescue, plan.After(states.EventDelete), mayDestroy, retired, plan.Progress{},
			"blocked: refused by retired, before provide"},
		"nor is its deployment ended": {states.DeployWait, plan.In(states.Available), mayBoth, retired, plan.Progress{},
			"blocked: refused by retired, before provide"},
		"no reservation hides that": {states.Active, plan.In(states.Available), mayDestroy,
			plan.NodeFields{Retired: true, Reserved: true}, plan.Progress{}, "blocked: refused by retired, before provide"},
		"a node in maintenance is not cleaned": {states.Active, plan.After(states.EventClean), mayDestroy,
			plan.NodeFields{Maintenance: true}, plan.Progress{}, "blocked: refused by maintenance, before clean with clean_steps"},
		"a power failure ends by itself": {states.Active, plan.After(states.EventClean), mayDestroy, noPower, plan.Progress{},
			"wait: refused by fault, before clean with clean_steps"},
		"nor is it after the tear-down, if the operator does not permit it": {
			states.Active, plan.In(states.Available), mayDestroy, plan.NodeFields{Maintenance: true, NoProvisioningInMaintenance: true},
			plan.Progress{}, "blocked: refused by maintenance, before deleted"},
		"until a power failure has ended": {
			states.Active, plan.In(states.Available), mayDestroy,
			plan.NodeFields{Maintenance: true, Fault: "power failure", NoProvisioningInMaintenance: true},
			plan.Progress{}, "wait: refused by fault, before deleted"},
		"other work that was tried needs its retry": {
			states.Active, plan.After(states.EventInspect), mayDestroy, plan.NodeFields{Maintenance: true, NoProvisioningInMaintenance: true},
			inspectedOnce, "blocked: needs retry of inspecting, before inspect"},
		"the failed cleaning may be repeated, which the node's maintenance refuses": {
			states.Active, plan.In(states.Available), plan.Policy{MayDestroy: true, Retries: 1},
			plan.NodeFields{Maintenance: true, NoProvisioningInMaintenance: true}, plan.Progress{},
			"blocked: refused by maintenance, before provide"},
		"without automated cleaning nothing fails": {
			states.Active, plan.In(states.Available), mayDestroy,
			plan.NodeFields{Maintenance: true, NoProvisioningInMaintenance: true, NoAutomatedClean: true}, plan.Progress{}, "send deleted"},
		"the failed cleaning leads to manageable": {
			states.Active, plan.In(states.Manageable), mayDestroy, plan.NodeFields{Maintenance: true, NoProvisioningInMaintenance: true},
			plan.Progress{}, "send deleted"},
		"a cleaning that failed": {states.Active, plan.After(states.EventClean), mayDestroy, plan.NodeFields{}, cleanedOnce,
			"blocked: needs retry of cleaning, before clean with clean_steps"},
		"a retired node becomes manageable": {states.Active, plan.In(states.Manageable), mayDestroy, retired, plan.Progress{},
			"send deleted"},
		"no cleaning leads to available": {states.Active, plan.In(states.Available), mayDestroy,
			plan.NodeFields{Retired: true, NoAutomatedClean: true}, plan.Progress{}, "send deleted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			desired := plan.Desired{Goal: test.goal, Version: newest, Policy: test.policy, Fields: test.fields, Progress: test.progress}
			step := next(t, test.from, desired)
			require.Equal(t, test.want, step.String())
			if step.Action != plan.Send {
				require.Equal(t, desired.Progress, step.Progress)
				require.Zero(t, step.Left)
			}
		})
	}
}
