// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestADesiredIsStoredAsJSON(t *testing.T) {
	step, err := plan.Next(latest, node(states.Manageable), plan.Desired{Version: newest, Goal: plan.After(states.EventClean)})
	require.NoError(t, err)
	policy := mayDestroy
	policy.Retries = 2
	desired := plan.Desired{Goal: plan.After(states.EventClean), Version: 81, Policy: policy, Progress: step.Progress}

	text, err := json.Marshal(desired)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"goal": "cleaned", "version": "1.81",
		"policy": {"may_abort": false, "may_destroy": true, "retries": 2},
		"progress": {"tried": {"clean": 1}, "stage": "asked"}
	}`, string(text))

	var back plan.Desired
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, desired, back)

	for _, bad := range []string{
		`{"progress":{"stage":"lost"}}`, `{"progress":{"tried":{"jump":1}}}`, `{"progress":{"tried":{"active":1}}}`,
		`{"progress":{"tried":7}}`, `{"policy":{"retries":256}}`,
	} {
		require.Error(t, json.Unmarshal([]byte(bad), &back), bad)
	}
}

func TestGoals(t *testing.T) {
	for goal := range plan.AllGoals() {
		parsed, err := plan.ParseGoal(string(goal))
		require.NoError(t, err)
		require.Equal(t, goal, parsed)
	}
	for series := range states.AllSeries() {
		for s := range series.Table().States().All() {
			goal, err := plan.ParseGoal(s.String())
			if !series.Table().Stable().Has(s) {
				require.ErrorAs(t, err, new(*states.UnknownError))
				continue
			}
			require.NoError(t, err)
			step, err := plan.Next(series.Table(), node(s), plan.Desired{Version: newest, Goal: goal})
			require.NoError(t, err)
			require.Equal(t, plan.Done, step.Action, "a stable state is a goal, reached there")
		}
	}
	_, err := plan.ParseGoal("happy")
	require.ErrorAs(t, err, new(*states.UnknownError))
}

func TestGoalsOfStatesAndEvents(t *testing.T) {
	for goal := range plan.AllGoals() {
		made := goal == plan.Deletable
		for s := range states.AllStates() {
			made = made || plan.In(s) == goal
		}
		for e := range states.AllEvents() {
			made = made || plan.After(e) == goal
		}
		require.True(t, made, "no function makes %q", goal)
	}
	for _, goal := range []plan.Goal{plan.In(states.Deploying), plan.In(states.NoState), plan.After(states.EventDone), ""} {
		_, err := plan.Next(latest, node(states.Enroll), plan.Desired{Goal: goal})
		require.ErrorAs(t, err, new(*states.UnknownError))
	}
}

func TestProgressIsReplacedByWhatIsDecoded(t *testing.T) {
	used := plan.NewProgress(plan.TriesOf(states.Cleaning, 3), plan.Asked)
	require.NoError(t, json.Unmarshal([]byte(`{"tried": {"rescue": 2, "none": 1}}`), &used))
	require.Equal(t, plan.NewProgress(plan.TriesOf(states.Rescuing, 2), plan.Open), used)
}

// TestTheArraysHaveRoom checks the constants that are the sizes of the arrays.
func TestTheArraysHaveRoom(t *testing.T) {
	for s := range states.AllStates() {
		require.Less(t, int(s), plan.MaxStates, "the positions of manual cleaning begin there")
	}
	for e := range states.AllEvents() {
		require.Less(t, int(e), plan.MaxEvents)
	}
	for w := range states.AllWorks() {
		require.Less(t, int(w), plan.MaxWorks)
	}
}

// TestEveryStateAndRequestHasItsPlace fails for a state that is neither a goal nor the state of a work, and for a
// request that the order of requests does not have.
func TestEveryStateAndRequestHasItsPlace(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range table.States().All() {
			_, err := plan.ParseGoal(s.String())
			require.True(t, err == nil || table.Work(s) != states.NoWork,
				"%v of %v is neither a goal in machine/plan/goal.go nor the state of a work", s, series)
		}
		for row := range table.Transitions() {
			if table.IsRequest(row) {
				require.Contains(t, plan.Preference, row.Event, "machine/plan/routes.go has no place for the request")
			}
		}
	}
}

// TestEveryRequestHasItsPlaceInAfter fails for a request of which nobody has said whether its work is a goal.
func TestEveryRequestHasItsPlaceInAfter(t *testing.T) {
	goals := map[states.Event]string{
		states.EventInspect: "inspected", states.EventClean: "cleaned", states.EventRebuild: "rebuilt", states.EventService: "serviced",
		states.EventDelete: "unprovisioned", states.EventAdopt: "adopted",
		states.EventManage: "", states.EventProvide: "", states.EventDeploy: "", states.EventRescue: "", states.EventUnrescue: "",
		states.EventAbort: "", states.EventUnhold: "", // whose goals are states, or which only end work
	}
	for e := range states.AllEvents() {
		if e.Verb() == "" {
			continue
		}
		require.Contains(t, goals, e, "say in machine/plan/goal.go whether its work is a goal: After, goals, goalRows; and then here")
		goal, err := plan.ParseGoal(string(plan.After(e)))
		require.Equal(t, goals[e], string(goal), e)
		require.Equal(t, goal == "", err != nil, e)
	}
}

func TestStepsSurviveJSON(t *testing.T) {
	for _, desired := range []plan.Desired{
		{Goal: plan.In(states.Rescue), Version: newest},
		{Goal: plan.In(states.Available), Version: newest, Policy: mayDestroy},
		{Goal: plan.In(states.Active), Version: newest, Fields: plan.NodeFields{Maintenance: true}},
	} {
		for s := range latest.States().All() {
			want, err := plan.Next(latest, node(s), desired)
			require.NoError(t, err)
			data, err := json.Marshal(want)
			require.NoError(t, err)
			var got plan.Step
			require.NoError(t, json.Unmarshal(data, &got), string(data))
			require.Equal(t, want, got)
		}
	}
	var step plan.Step
	require.ErrorAs(t, json.Unmarshal([]byte(`{"work": "jump"}`), &step), new(*states.UnknownError))
	_, err := json.Marshal(plan.Step{Work: 99})
	require.ErrorAs(t, err, new(*states.UnknownError))
}

func TestProgressOfWorkThatThereIsNotIsRefused(t *testing.T) {
	var p plan.Progress
	err := json.Unmarshal([]byte(`{"tried":{"active":1}}`), &p)
	require.ErrorContains(t, err, `unknown work "active"; known: verify, inspect, clean, deploy,`)
	require.Zero(t, p)
}
