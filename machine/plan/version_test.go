// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestNextUsesTheAPIVersion(t *testing.T) {
	ask := func(s states.State, goal plan.Goal, v states.APIVersion) string {
		desired := plan.Desired{Goal: goal, Version: v, Policy: mayAbort}
		step, err := plan.Next(latest, node(s), desired)
		require.NoError(t, err)
		return step.String()
	}
	require.Equal(t, "blocked: needs version, before rescue with rescue_password", ask(states.Active, plan.In(states.Rescue), 37))
	require.Equal(t, "send rescue with rescue_password", ask(states.Active, plan.In(states.Rescue), 38))
	require.Equal(t, "blocked: needs version, before abort", ask(states.RescueWait, plan.In(states.Active), 12))
	require.Equal(t, "send abort", ask(states.RescueWait, plan.In(states.Active), 38))
	require.Equal(t, "send active", ask(states.NoState, plan.In(states.Active), 1), "what is shown as null is available")
}

func TestAServerNewerThanTheTablesBreaksNothing(t *testing.T) {
	for _, v := range []states.APIVersion{newest, newest + 1, 65535} {
		step, err := plan.Next(latest, node(states.Active), plan.Desired{Goal: plan.In(states.Rescue), Version: v})
		require.NoError(t, err)
		require.Equal(t, "send rescue with rescue_password", step.String())
		require.Equal(t, newest, step.Version, "the highest that is known is to be sent")
	}
	step, err := plan.Next(latest, node(states.UnknownState), plan.Desired{Goal: plan.In(states.Active), Version: newest + 1})
	require.NoError(t, err)
	require.Equal(t, "blocked: no route", step.String())

	headed := machine.Node{State: states.Cleaning, Target: states.UnknownState}
	step, err = plan.Next(latest, headed, plan.Desired{Goal: plan.In(states.Available), Version: newest})
	require.NoError(t, err)
	require.Equal(t, "wait for cleaning to end in available", step.String())

	for _, nodes := range [][2]states.State{
		{states.Available, states.UnknownState}, {states.UnknownState, states.Active}, {states.UnknownState, states.UnknownState},
	} {
		verdict, err := plan.Outcome(latest, node(nodes[0]), "active", node(nodes[1]))
		require.NoError(t, err)
		require.Equal(t, plan.Unknown, verdict)
	}
	verdict, err := plan.Outcome(latest, node(states.Available), "active",
		machine.Node{State: states.Deploying, Target: states.UnknownState})
	require.NoError(t, err)
	require.Equal(t, plan.InProgress, verdict)
}

func TestNoVersionIsTheOldest(t *testing.T) {
	step, err := plan.Next(latest, node(states.Enroll), plan.Desired{Goal: plan.In(states.Manageable)})
	require.NoError(t, err)
	require.Equal(t, "blocked: needs version, before manage", step.String())
	require.Equal(t, states.APIVersion(1), step.Version)
	step, err = plan.Next(latest, node(states.NoState), plan.Desired{Goal: plan.In(states.Active)})
	require.NoError(t, err)
	require.Equal(t, "send active", step.String(), "null is available")
}
