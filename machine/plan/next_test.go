// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestNext(t *testing.T) {
	enrolled := machine.Node{State: states.Enroll, LastError: "no power"}
	uninspected := machine.Node{State: states.InspectFail, Target: states.Manageable}
	manual := machine.Node{State: states.CleanWait, Target: states.Manageable}
	tests := map[string]struct {
		node   machine.Node
		goal   plan.Goal
		policy plan.Policy
		want   string
	}{
		"a new node is verified": {
			node(states.Enroll), plan.In(states.Active), careful,
			"send manage",
		},
		"verification is waited for": {
			node(states.Verifying), plan.In(states.Active), careful,
			"wait for verifying to end in manageable",
		},
		"then it is provided": {
			node(states.Manageable), plan.In(states.Active), careful,
			"send provide",
		},
		"then it is deployed": {
			node(states.Available), plan.In(states.Active), careful,
			"send active",
		},
		"then it is active": {
			node(states.Active), plan.In(states.Active), careful,
			"done",
		},
		"a last error in enroll": {
			enrolled, plan.In(states.Manageable), careful,
			"send manage",
		},
		"manual cleaning is awaited": {
			manual, plan.In(states.Manageable), careful,
			"wait for cleaning to end in manageable",
		},
		"manual cleaning, abort": {
			manual, plan.In(states.Manageable), mayAbort,
			"wait for cleaning to end in manageable",
		},
		"automated cleaning": {
			node(states.CleanWait), plan.In(states.Manageable), careful,
			"wait for cleaning to end in available",
		},
		"automated cleaning, abort": {
			node(states.CleanWait), plan.In(states.Manageable), mayAbort,
			"send abort",
		},
		"cleaning cannot be aborted": {
			node(states.Cleaning), plan.In(states.Manageable), mayAbort,
			"wait for cleaning to end in available",
		},
		"a hold wants an operator": {
			node(states.CleanHold), plan.In(states.Available), careful,
			"blocked: needs unhold of cleaning, before unhold",
		},
		"a hold that leads away from the goal": {
			node(states.CleanHold), plan.In(states.Manageable), mayAbort,
			"send abort",
		},
		"a hold that leads to the goal": {
			node(states.DeployHold), plan.In(states.Active), mayBoth,
			"blocked: needs unhold of deploying, before unhold",
		},
		"no blind retry": {
			node(states.CleanFail), plan.In(states.Available), careful,
			"blocked: needs retry of cleaning, before manage",
		},
		"a retry": {
			node(states.CleanFail), plan.In(states.Available), retryOnce,
			"send manage",
		},
		"the way out of a failure": {
			node(states.CleanFail), plan.In(states.Manageable), careful,
			"send manage",
		},
		"inspect failed": {
			uninspected, plan.In(states.Active), careful,
			"send manage",
		},
		"no blind inspection": {
			node(states.InspectFail), plan.After(states.EventInspect), careful,
			"blocked: needs retry of inspecting, before inspect",
		},
		"deploy failed": {
			node(states.DeployFail), plan.In(states.Active), retryOnce,
			"send active",
		},
		"a rebuild that failed": {
			node(states.DeployFail), plan.After(states.EventRebuild), retryOnce,
			"send rebuild",
		},
		"a workload is kept": {
			node(states.Active), plan.In(states.Available), careful,
			"blocked: needs destroy, before deleted",
		},
		"a workload is torn down": {
			node(states.Active), plan.After(states.EventDelete), mayDestroy,
			"send deleted",
		},
		"a rebuild destroys": {
			node(states.Active), plan.After(states.EventRebuild), careful,
			"blocked: needs destroy, before rebuild",
		},
		"a rebuild": {
			node(states.Active), plan.After(states.EventRebuild), mayDestroy,
			"send rebuild",
		},
		"nothing to rebuild": {
			node(states.Available), plan.After(states.EventRebuild), careful,
			"send active",
		},
		"deploying is waited out": {
			node(states.DeployWait), plan.In(states.Available), mayDestroy,
			"wait for deploying to end in active",
		},
		"deploying is torn down": {
			node(states.DeployWait), plan.In(states.Available), mayBoth,
			"send deleted",
		},
		"a failed tear-down": {
			node(states.Error), plan.In(states.Available), mayDestroy,
			"blocked: needs retry of deleting, before deleted",
		},
		"rescue": {
			node(states.Active), plan.In(states.Rescue), careful,
			"send rescue with rescue_password",
		},
		"back from rescue": {
			node(states.Rescue), plan.In(states.Active), careful,
			"send unrescue",
		},
		"an unwanted rescue": {
			node(states.RescueWait), plan.In(states.Active), mayAbort,
			"send abort",
		},
		"service": {
			node(states.Active), plan.After(states.EventService), careful,
			"send service with service_steps",
		},
		"back from a failed service": {
			node(states.ServiceFail), plan.In(states.Active), careful,
			"send abort",
		},
		"cleaning": {
			node(states.Manageable), plan.After(states.EventClean), careful,
			"send clean with clean_steps",
		},
		"adoption": {
			node(states.Manageable), plan.After(states.EventAdopt), careful,
			"send adopt",
		},
		"adoption is tried again": {
			node(states.AdoptFail), plan.In(states.Active), retryOnce,
			"send adopt",
		},
		"a workload not adopted": {
			node(states.AdoptFail), plan.In(states.Available), careful,
			"blocked: needs destroy, before manage",
		},
		"given up on adoption": {
			node(states.AdoptFail), plan.In(states.Manageable), careful,
			"send manage",
		},
		"deletable from available, as Ironic's own refusal lists it": {
			node(states.Available), plan.Deletable, careful,
			"done",
		},
		"deletable after a tear-down": {
			node(states.Active), plan.Deletable, mayDestroy,
			"send deleted",
		},
		"an aborted service is active again, so that a service that is wanted is waited for": {
			node(states.ServiceWait), plan.After(states.EventService), mayAbort,
			"wait for servicing to end in active",
		},
		"a service that is held is aborted on the way to rescue": {
			node(states.ServiceHold), plan.In(states.Rescue), mayAbort,
			"send abort",
		},
		"deletable already": {
			node(states.AdoptFail), plan.Deletable, careful,
			"done",
		},
		"enroll is behind": {
			node(states.Manageable), plan.In(states.Enroll), careful,
			"blocked: no route",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			step, err := plan.Next(latest, test.node, plan.Desired{Version: newest, Goal: test.goal, Policy: test.policy})
			require.NoError(t, err)
			require.Equal(t, test.want, step.String())
		})
	}
}

// stepsFor returns the steps to a goal for a node that passes through the states in
// order.
func stepsFor(t *testing.T, desired plan.Desired, seen ...states.State) []string {
	t.Helper()
	var steps []string
	for _, s := range seen {
		step, err := plan.Next(latest, node(s), desired)
		require.NoError(t, err)
		steps = append(steps, step.String())
		desired.Progress = step.Progress
	}
	return steps
}

func TestWorkIsDoneOnce(t *testing.T) {
	inspected := plan.Desired{Version: newest, Goal: plan.After(states.EventInspect)}
	require.Equal(t,
		[]string{"send inspect", "wait for inspecting to end in manageable", "done", "done"},
		stepsFor(t, inspected, states.Manageable, states.InspectWait, states.Manageable, states.Available))

	require.Equal(t,
		[]string{"wait for inspecting to end in manageable", "send inspect", "done"},
		stepsFor(t, inspected, states.Inspecting, states.Manageable, states.Manageable),
		"an inspection that was in progress before does not count, one that was not seen does")

	const uninspected = "blocked: needs retry of inspecting, before inspect"
	require.Equal(t,
		[]string{"send inspect", uninspected, uninspected},
		stepsFor(t, inspected, states.Manageable, states.InspectFail, states.Manageable),
		"a failure is not forgotten when an operator moves the node")

	require.Equal(t,
		[]string{"send inspect", "blocked: overtaken of inspecting"},
		stepsFor(t, inspected, states.Manageable, states.Deploying))

	require.Equal(t,
		[]string{"send clean with clean_steps", "blocked: needs unhold of cleaning, before unhold", "done"},
		stepsFor(t, plan.Desired{Version: newest, Goal: plan.After(states.EventClean)}, states.Manageable, states.CleanHold, states.Available))
}

func TestATearDownIsRequestedOnce(t *testing.T) {
	deleted := plan.Desired{Version: newest, Goal: plan.After(states.EventDelete), Policy: mayDestroy}
	require.Equal(t,
		[]string{"send deleted", "wait for deleting to end in available", "blocked: overtaken of deleting"},
		stepsFor(t, deleted, states.Active, states.Deleting, states.Deploying),
		"who was given the node since keeps it")

	require.Equal(t,
		[]string{"send deleted", "done", "done"},
		stepsFor(t, deleted, states.Active, states.Available, states.Active))
}

func TestAVerificationThatFailedIsNotRepeated(t *testing.T) {
	desired := plan.Desired{Version: newest, Goal: plan.In(states.Manageable)}
	const unverified = "blocked: needs retry of verifying, before manage"
	require.Equal(t,
		[]string{"send manage", "wait for verifying to end in manageable", unverified},
		stepsFor(t, desired, states.Enroll, states.Verifying, states.Enroll))

	desired.Policy = retryOnce
	require.Equal(t,
		[]string{"send manage", "send manage", unverified},
		stepsFor(t, desired, states.Enroll, states.Enroll, states.Enroll))
}

func TestTheRouteBeginsAgainIfTheNodeLeavesTheGoal(t *testing.T) {
	require.Equal(t,
		[]string{"send active", "done", "send active"},
		stepsFor(t, plan.Desired{Version: newest, Goal: plan.In(states.Active)}, states.Available, states.Active, states.Available))
}

func TestStepSaysHowManyRequestsAreLeft(t *testing.T) {
	want := map[states.State]int{
		states.Enroll: 3, states.Verifying: 2, states.Manageable: 2, states.Cleaning: 1, states.Available: 1, states.Deploying: 0,
	}
	for s, left := range want {
		step, err := plan.Next(latest, node(s), plan.Desired{Version: newest, Goal: plan.In(states.Active)})
		require.NoError(t, err)
		require.Equal(t, left, step.Left, s)
	}
}

func TestNextRefuses(t *testing.T) {
	good := plan.Desired{Goal: plan.In(states.Active), Version: 115}
	tests := map[string]struct {
		table   *states.Table
		node    machine.Node
		desired plan.Desired
		as      any
		text    string
	}{
		"no table": {nil, node(states.Active), good, new(*machine.StateError),
			`no table for state "active": take one from states.Series.Table`},
		"an empty table": {new(states.Table), node(states.Active), good, new(*machine.StateError),
			`no table for state "active": take one from states.Series.Table`},
		"a foreign state": {states.Kilo.Table(), node(states.Rescue), good, new(*machine.StateError),
			`state "rescue" is not one of kilo's: ` + states.Kilo.Table().States().String()},
		"the first number without room": {latest, node(64), good, new(*machine.StateError),
			`state "State(64)" is not one of 2026.2's: ` + latest.States().String()},
		"a number": {latest, node(200), good, new(*machine.StateError),
			`state "State(200)" is not one of 2026.2's: ` + latest.States().String()},
		"null, where available has its name": {latest, node(states.NoState), good, new(*machine.StateError),
			`state "none" is not one of 2026.2's: ` + latest.States().String()},
		"a target at work": {latest, machine.Node{State: states.Cleaning, Target: states.Cleaning}, good, new(*machine.StateError),
			`stored target "cleaning" is not one of 2026.2's stable states: ` + latest.Stable().String()},
		"no goal": {latest, node(states.Active), plan.Desired{}, new(*states.UnknownError),
			`unknown goal ""; known: enrolled, manageable, available, active, adopted, rescued, errored, deletable, ` +
				`inspected, cleaned, rebuilt, serviced, unprovisioned, the stable states' words`},
		"no such goal": {latest, node(states.Active), plan.Desired{Goal: "happy"}, new(*states.UnknownError),
			`unknown goal "happy"; known: enrolled, manageable, available, active, adopted, rescued, errored, deletable, ` +
				`inspected, cleaned, rebuilt, serviced, unprovisioned, the stable states' words`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			step, err := plan.Next(test.table, test.node, test.desired)
			require.ErrorAs(t, err, test.as)
			require.EqualError(t, err, test.text)
			require.Zero(t, step)
		})
	}
}

// TestNextTakesAnyProgress calls Next with any progress, even one that Next never
// returns.
func TestNextTakesAnyProgress(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := rapid.SampledFrom(slices.Collect(states.AllSeries())).Draw(rt, "series").Table()
		n := node(rapid.SampledFrom(slices.Collect(table.States().All())).Draw(rt, "state"))
		if rapid.Bool().Draw(rt, "targeted") {
			n.Target = rapid.SampledFrom(slices.Collect(table.Stable().All())).Draw(rt, "target")
		}
		desired := plan.Desired{
			Goal:    rapid.SampledFrom(slices.Collect(plan.AllGoals())).Draw(rt, "goal"),
			Version: states.APIVersion(rapid.Uint16Range(1, uint16(table.Series().MaxAPIVersion())).Draw(rt, "version")),
			Policy:  plan.Policy{MayAbort: rapid.Bool().Draw(rt, "abort"), MayDestroy: rapid.Bool().Draw(rt, "destroy")},
		}
		desired.Policy.Retries = rapid.Uint8().Draw(rt, "retries")
		var tried plan.Tries
		for w := range tried {
			tried[w] = rapid.Uint8().Draw(rt, "tried")
		}
		desired.Progress = plan.NewProgress(tried, rapid.Uint8().Draw(rt, "stage"))
		checkStep(rt, table, n, desired)
	})
}

// checkStep fails the test unless the fields of a step agree with each other, and
// the table and the policy permit it.
func checkStep(t require.TestingT, table *states.Table, n machine.Node, desired plan.Desired) {
	step, err := plan.Next(table, n, desired)
	require.NoError(t, err)
	require.NotContains(t, step.String(), "(")
	require.Equal(t, step.Action == plan.Blocked, step.Reason != "")
	require.Equal(t, step.Action == plan.Wait, step.Until != states.NoState)
	switch step.Action {
	case plan.Send:
		_, err := table.Request(n.State, step.Verb, desired.Version)
		require.NoError(t, err)
		require.Positive(t, step.Left)
		require.True(t, desired.Policy.MayDestroy || step.Verb != "deleted")
		if step.Work != states.NoWork {
			require.Equal(t, step.Progress.Tried(step.Work), step.Try)
			require.LessOrEqual(t, step.Try, int(desired.Policy.Retries)+1)
		}
	case plan.Wait:
		require.True(t, table.Unstable().Has(n.State))
	case plan.Blocked:
		require.Zero(t, step.Left)
	default:
		require.Equal(t, plan.Done, step.Action)
	}
}
