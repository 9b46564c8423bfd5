package plan_test

import (
	"encoding/json"
	"fmt"
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
		`{"progress":{"stage":"lost"}}`, `{"policy":{"retries":{"jump":1}}}`, `{"policy":{"retries":7}}`,
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
			step, err := plan.Next(series.Table(), node(s), plan.Wish{Version: newest, Goal: goal})
			require.NoError(t, err)
			require.Equal(t, plan.Done, step.Action, "a stable state is a goal, reached there")
		}
	}
	_, err := plan.ParseGoal("happy")
	require.ErrorAs(t, err, new(*states.UnknownError))
}

func TestWordsOfWork(t *testing.T) {
	seen := make(map[string]bool)
	for w := plan.NoWork; w <= plan.TearDown; w++ {
		text, err := w.MarshalText()
		require.NoError(t, err)
		require.Equal(t, w.String(), string(text))
		require.False(t, seen[w.String()])
		seen[w.String()] = true
	}
	for _, none := range []plan.Work{plan.TearDown + 1, 99} {
		require.Equal(t, fmt.Sprintf("Work(%d)", uint8(none)), none.String())
		_, err := none.MarshalText()
		require.ErrorAs(t, err, new(*states.UnknownError))
		require.Zero(t, plan.Progress{}.Tried(none))
	}
	require.Equal(t, 7, plan.NewProgress(plan.Retries{plan.TearDown: 7}, plan.Open).Tried(plan.TearDown))
}

func TestRetriesAreReplacedByWhatIsDecoded(t *testing.T) {
	used := plan.Retries{plan.Cleaning: 3}
	require.NoError(t, json.Unmarshal([]byte(`{"rescue": 2}`), &used))
	require.Equal(t, plan.Retries{plan.Rescue: 2}, used)
}

// TestTheArraysHaveRoom checks the constants that are the sizes of the arrays.
func TestTheArraysHaveRoom(t *testing.T) {
	for s := range states.AllStates() {
		require.Less(t, int(s), 40, "the positions of manual cleaning begin there")
	}
	require.Less(t, int(states.CleanHold), 64-40)
}

func TestStepsSurviveJSON(t *testing.T) {
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
	var step plan.Step
	require.ErrorAs(t, json.Unmarshal([]byte(`{"work": "jump"}`), &step), new(*states.UnknownError))
	_, err := json.Marshal(plan.Step{Work: 99})
	require.ErrorAs(t, err, new(*states.UnknownError))
}
