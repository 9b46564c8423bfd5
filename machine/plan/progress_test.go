// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// next returns the step for a node without a target.
func next(t *testing.T, in states.State, desired plan.Desired) plan.Step {
	t.Helper()
	step, err := plan.Next(latest, node(in), desired)
	require.NoError(t, err)
	return step
}

func TestOvertakenWorkNamesNoRequest(t *testing.T) {
	desired := plan.Desired{Goal: plan.After(states.EventClean), Version: newest, Progress: plan.NewProgress(plan.Tries{}, plan.Asked)}
	step := next(t, states.Enroll, desired)
	require.Equal(t, "blocked: overtaken of cleaning", step.String())
	require.Empty(t, step.Verb)
}

func TestATearDownContinuesFromAStateOfRest(t *testing.T) {
	desired := plan.Desired{Goal: plan.After(states.EventDelete), Version: newest, Progress: plan.NewProgress(plan.Tries{}, plan.Asked)}
	require.Equal(t, "send provide", next(t, states.Manageable, desired).String())
	desired.Policy = retryOnce
	require.Equal(t, "send manage", next(t, states.CleanFail, desired).String())
}

func TestWorkIsEndedOnce(t *testing.T) {
	desired := plan.Desired{Goal: plan.In(states.Manageable), Version: newest, Policy: mayAbort}
	step := next(t, states.CleanWait, desired)
	require.Equal(t, "send abort", step.String())
	require.Equal(t, 1, step.Progress.Tried(states.WorkClean))
	desired.Progress = step.Progress
	require.Equal(t, "wait for cleaning to end in available", next(t, states.CleanWait, desired).String())
}

func TestATearDownMustComeNearerToTheGoal(t *testing.T) {
	desired := plan.Desired{Goal: plan.After(states.EventRebuild), Version: states.Epoxy.MaxAPIVersion(), Policy: mayBoth}
	step, err := plan.Next(states.Epoxy.Table(), node(states.ServiceWait), desired)
	require.NoError(t, err)
	require.Equal(t, "wait for servicing to end in active", step.String())

	desired.Goal = plan.In(states.Available)
	step, err = plan.Next(states.Epoxy.Table(), node(states.ServiceWait), desired)
	require.NoError(t, err)
	require.Equal(t, "send deleted", step.String())
}

func TestAStepSaysWhatWorkItIsAboutAndWhetherACallIsAwaited(t *testing.T) {
	desired := plan.Desired{Goal: plan.In(states.Active), Version: newest}
	for state, call := range map[states.State]bool{
		states.Available: false, states.Deploying: false, states.DeployWait: true,
	} {
		step := next(t, state, desired)
		require.Equal(t, states.WorkDeploy, step.Work, state)
		require.Equal(t, call, step.Call, state)
	}
}

func TestCountsStopAtTheirHighest(t *testing.T) {
	tried := plan.TriesOf(states.Deploying, math.MaxUint8)
	desired := plan.Desired{
		Goal:     plan.In(states.Active),
		Version:  newest,
		Policy:   plan.Policy{Retries: math.MaxUint8},
		Progress: plan.NewProgress(tried, plan.Open),
	}
	require.Equal(t, "blocked: needs retry of deploying, before active", next(t, states.Available, desired).String())
}
