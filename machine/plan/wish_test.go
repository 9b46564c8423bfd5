package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestAWishIsStoredAsJSON(t *testing.T) {
	step, err := plan.Next(latest, node(states.Manageable), plan.Wish{Version: newest, Goal: plan.Cleaned})
	require.NoError(t, err)
	policy := mayDestroy
	policy.Retries[plan.Deployment] = 2
	wish := plan.Wish{Goal: plan.Cleaned, Version: 81, Policy: policy, Progress: step.Progress}

	text, err := json.Marshal(wish)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"goal": "cleaned", "version": "1.81",
		"policy": {"may_abort": false, "may_destroy": true, "retries": {"deployment": 2}},
		"progress": {"requests": 1, "tried": {"cleaning": 1}, "stage": "asked"}
	}`, string(text))

	var back plan.Wish
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, wish, back)

	for _, bad := range []string{
		`{"goal":"happy"}`, `{"progress":{"stage":"lost"}}`, `{"policy":{"retries":{"jump":1}}}`, `{"policy":{"retries":7}}`,
	} {
		require.Error(t, json.Unmarshal([]byte(bad), &back), bad)
	}
}

func TestGoals(t *testing.T) {
	for goal := range plan.AllGoals() {
		parsed, err := plan.ParseGoal(goal.String())
		require.NoError(t, err)
		require.Equal(t, goal, parsed)
	}
	for series := range states.AllSeries() {
		for s := range series.Table().States().All() {
			goal, err := plan.ParseGoal(s.String())
			if !series.Table().Stable().Has(s) {
				require.ErrorIs(t, err, states.ErrUnknown)
				continue
			}
			require.NoError(t, err)
			step, err := plan.Next(series.Table(), node(s), plan.Wish{Version: newest, Goal: goal})
			require.NoError(t, err)
			require.Equal(t, plan.Done, step.Action, "a stable state is a goal, reached there")
		}
	}
	_, err := plan.ParseGoal("happy")
	require.ErrorIs(t, err, states.ErrUnknown)
}

func TestWords(t *testing.T) {
	for _, list := range [][]interface {
		String() string
		MarshalText() ([]byte, error)
	}{
		{plan.Action(0), plan.Send, plan.Wait, plan.Done, plan.Blocked},
		{plan.Reason(0), plan.NeedsRetry, plan.NeedsUnhold, plan.NeedsDestroy, plan.NeedsVersion, plan.Overtaken, plan.NoRoute,
			plan.UnknownState, plan.InMaintenance, plan.PowerFailure, plan.Protected, plan.Retired, plan.Reserved, plan.Associated},
		{plan.Verdict(0), plan.InProgress, plan.Succeeded, plan.Failed, plan.Moved, plan.Unknown},
		{plan.NoWork, plan.Verification, plan.TearDown},
		{plan.Goal(0), plan.Enrolled, plan.Unprovisioned},
	} {
		seen := make(map[string]bool)
		for _, value := range list {
			text, err := value.MarshalText()
			require.NoError(t, err)
			require.Equal(t, value.String(), string(text))
			require.False(t, seen[value.String()])
			seen[value.String()] = true
		}
	}
	require.Equal(t, "Action(99)", plan.Action(99).String())
	require.Equal(t, "Goal(99)", plan.Goal(99).String())
	_, err := plan.Goal(99).MarshalText()
	require.ErrorIs(t, err, states.ErrUnknown)
	var goal plan.Goal
	require.NoError(t, goal.UnmarshalText([]byte("none")))
	require.ErrorIs(t, goal.UnmarshalText([]byte("rebuild")), states.ErrUnknown)
}

// TestTheArraysHaveRoom checks the constants that are the sizes of the arrays.
func TestTheArraysHaveRoom(t *testing.T) {
	for s := range states.AllStates() {
		require.Less(t, int(s), 40, "the positions of manual cleaning begin there")
	}
	require.Less(t, int(states.CleanHold), 64-40)
}

func TestStepsAndResultsSurviveJSON(t *testing.T) {
	for _, wish := range []plan.Wish{
		{Goal: plan.Rescued, Version: newest},
		{Goal: plan.Available, Version: newest, Policy: mayDestroy},
		{Goal: plan.Active, Version: newest, Facts: plan.Facts{Maintenance: true}},
	} {
		for s := range latest.States().All() {
			want, err := plan.Next(latest, node(s), wish)
			require.NoError(t, err)
			data, err := json.Marshal(want)
			require.NoError(t, err)
			var got plan.Step
			require.NoError(t, json.Unmarshal(data, &got), string(data))
			require.Equal(t, want, got)
		}
	}
	for v := plan.Verdict(0); v <= plan.Unknown; v++ {
		want := plan.Result{Verdict: v, LastError: "text"}
		data, err := json.Marshal(want)
		require.NoError(t, err)
		var got plan.Result
		require.NoError(t, json.Unmarshal(data, &got))
		require.Equal(t, want, got)
	}
	var step plan.Step
	require.ErrorIs(t, json.Unmarshal([]byte(`{"action": "jump"}`), &step), states.ErrUnknown)
	_, err := json.Marshal(plan.Step{Reason: 99})
	require.ErrorIs(t, err, states.ErrUnknown)
}
