// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestNextSendsNoRequestThatNodeFieldsForbid(t *testing.T) {
	maintenance := plan.NodeFields{Maintenance: true}
	noPower := plan.NodeFields{Maintenance: true, Fault: "power failure"}
	cleanFailure := plan.NodeFields{Maintenance: true, Fault: "clean failure"}
	protected, retired := plan.NodeFields{Protected: true}, plan.NodeFields{Retired: true}
	uncleaned := plan.NodeFields{Maintenance: true, NoProvisioningInMaintenance: true}
	reserved, noClean := plan.NodeFields{Reserved: true}, plan.NodeFields{NoAutomatedClean: true}
	tests := map[string]struct {
		from   states.State
		goal   plan.Goal
		policy plan.Policy
		fields plan.NodeFields
		want   string
	}{
		"not deployed in maintenance": {states.Available, plan.In(states.Active), careful, maintenance,
			"blocked: refused by maintenance, before active"},
		"not rebuilt in maintenance": {states.Active, plan.After(states.EventRebuild), mayDestroy, maintenance,
			"blocked: refused by maintenance, before rebuild"},
		"not cleaned by hand": {states.Manageable, plan.After(states.EventClean), careful, maintenance,
			"blocked: refused by maintenance, before clean with clean_steps"},
		"not rescued": {states.Active, plan.In(states.Rescue), careful, maintenance,
			"blocked: refused by maintenance, before rescue with rescue_password"},
		"not unrescued": {states.Rescue, plan.In(states.Active), careful, maintenance, "blocked: refused by maintenance, before unrescue"},
		"not serviced": {states.Active, plan.After(states.EventService), careful, maintenance,
			"blocked: refused by maintenance, before service with service_steps"},
		"a failed service is not aborted": {states.ServiceFail, plan.In(states.Active), mayAbort, maintenance,
			"blocked: refused by maintenance, before abort"},
		"managed, provided, torn down": {states.Enroll, plan.In(states.Available), careful, maintenance, "send manage"},
		"provided in maintenance":      {states.Manageable, plan.In(states.Available), careful, maintenance, "send provide"},
		"torn down in maintenance":     {states.Active, plan.In(states.Available), mayDestroy, maintenance, "send deleted"},
		"after a clean failure too":    {states.CleanFail, plan.In(states.Manageable), careful, cleanFailure, "send manage"},
		"an operator ends a clean failure": {states.Manageable, plan.After(states.EventClean), careful, cleanFailure,
			"blocked: refused by maintenance, before clean with clean_steps"},
		"Ironic ends a power failure": {states.Available, plan.In(states.Active), careful, noPower, "wait: refused by fault, before active"},
		"deletable in maintenance":    {states.Active, plan.Deletable, careful, maintenance, "done"},
		"protected from a tear-down": {states.Active, plan.In(states.Available), mayDestroy, protected,
			"blocked: refused by protected, before deleted"},
		"protected from a rebuild": {states.Active, plan.After(states.EventRebuild), mayDestroy, protected,
			"blocked: refused by protected, before rebuild"},
		"protected and rescued":   {states.Active, plan.In(states.Rescue), careful, protected, "send rescue with rescue_password"},
		"protected from deletion": {states.Manageable, plan.Deletable, careful, protected, "blocked: refused by protected"},
		"a retired node is not provided": {states.Manageable, plan.In(states.Available), careful, retired,
			"blocked: refused by retired, before provide"},
		"a retired node is manageable": {states.Cleaning, plan.In(states.Available), careful, retired, "wait for cleaning to end in manageable"},
		"a retired node is torn down":  {states.Active, plan.In(states.Manageable), mayDestroy, retired, "send deleted"},
		"a manageable node has an instance": {states.Manageable, plan.Deletable, careful, plan.NodeFields{Associated: true},
			"blocked: refused by instance_uuid"},
		"an instance ends with a tear-down": {states.Active, plan.Deletable, mayDestroy, plan.NodeFields{Associated: true}, "send deleted"},
		"an instance in maintenance": {states.Manageable, plan.Deletable, careful,
			plan.NodeFields{Associated: true, Maintenance: true}, "done"},
		"protected in maintenance": {states.Manageable, plan.Deletable, careful,
			plan.NodeFields{Protected: true, Maintenance: true}, "blocked: refused by protected"},
		"protected, with an instance": {states.Active, plan.Deletable, mayDestroy, plan.NodeFields{Protected: true, Associated: true},
			"blocked: refused by protected"},
		"protected at work": {states.Servicing, plan.Deletable, mayBoth, protected, "blocked: refused by protected"},
		"a retired node after a tear-down": {states.Deleting, plan.In(states.Available), careful, retired,
			"wait for deleting to end in manageable"},
		"a cleaning that maintenance fails": {states.Deleting, plan.In(states.Available), mayBoth, uncleaned,
			"wait for deleting to end in clean failed"},
		"a retired node whose cleaning maintenance fails": {states.Deleting, plan.In(states.Manageable), mayBoth,
			plan.NodeFields{Retired: true, Maintenance: true, NoProvisioningInMaintenance: true}, "wait for deleting to end in clean failed"},
		"retired, without cleaning": {states.Deleting, plan.In(states.Available), careful,
			plan.NodeFields{Retired: true, NoAutomatedClean: true}, "wait for deleting to end in available"},
		"retired, cleaning begun before it was switched off": {states.CleanWait, plan.In(states.Available), careful,
			plan.NodeFields{Retired: true, NoAutomatedClean: true}, "wait for cleaning to end in manageable"},
		"cleaning of a retired node is not aborted": {states.CleanWait, plan.In(states.Manageable), mayAbort, retired,
			"wait for cleaning to end in manageable"},
		"a retired node is deployed": {states.Deploying, plan.In(states.Active), careful, retired, "wait for deploying to end in active"},
		"a reserved node is busy": {states.Available, plan.In(states.Active), careful, reserved,
			"wait: refused by reservation, before active"},
		"a reserved node may be there": {states.Active, plan.In(states.Active), careful, reserved, "done"},
		"a reserved node at work":      {states.Deploying, plan.In(states.Active), careful, reserved, "wait for deploying to end in active"},
		"provided at once":             {states.Manageable, plan.In(states.Available), careful, noClean, "send provide"},
		"no cleaning is no retry":      {states.CleanFail, plan.In(states.Available), careful, noClean, "send manage"},
		"a manual cleaning that failed": {states.CleanFail, plan.After(states.EventClean), careful, noClean,
			"blocked: needs retry of cleaning, before manage"},
		"cleaning that failed, switched on": {states.CleanFail, plan.In(states.Available), careful, plan.NodeFields{},
			"blocked: needs retry of cleaning, before manage"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			desired := plan.Desired{Goal: test.goal, Version: newest, Policy: test.policy, Fields: test.fields}
			step, err := plan.Next(latest, node(test.from), desired)
			require.NoError(t, err)
			require.Equal(t, test.want, step.String())
			if step.Action != plan.Send && step.Reason != "" && step.Reason != plan.NeedsRetry {
				require.Equal(t, desired.Progress, step.Progress, "nothing was sent")
				require.Zero(t, step.Left)
			}
			if test.from == states.Manageable && test.fields == noClean {
				require.Equal(t, states.NoWork, step.Work, "available at once")
				require.Zero(t, step.Progress.Tries())
			}
		})
	}
	for _, s := range []states.State{states.Deleting, states.Cleaning, states.CleanWait} {
		for goal, left := range map[plan.Goal]int{
			plan.In(states.Manageable): 0, plan.After(states.EventClean): 1, plan.In(states.Available): 1, plan.In(states.Active): 2,
		} {
			desired := plan.Desired{Goal: goal, Version: newest, Fields: retired}
			step, err := plan.Next(latest, node(s), desired)
			require.NoError(t, err)
			require.Equal(t, states.Manageable, step.Until, "%v in %v", goal, s)
			require.Equal(t, left, step.Left, "%v in %v", goal, s)
		}
	}
	manual := machine.Node{State: states.Cleaning, Target: states.Manageable}
	step, err := plan.Next(latest, manual, plan.Desired{Goal: plan.In(states.Available), Version: newest, Fields: retired})
	require.NoError(t, err)
	require.Equal(t, "wait for cleaning to end in manageable", step.String())
}

func TestADeletableNodeInMaintenanceStartsItsCountsOver(t *testing.T) {
	desired := plan.Desired{
		Goal: plan.Deletable, Version: newest, Fields: plan.NodeFields{Maintenance: true},
		Progress: plan.NewProgress(plan.TriesOf(states.Deploying, 2), plan.Open),
	}
	step := next(t, states.Active, desired)
	require.Equal(t, plan.Done, step.Action)
	require.Zero(t, step.Progress, "as wherever a goal is reached")
}

// Provide is younger than API version 1.1.
func TestARetiredNodeIsBlockedDuringItsTearDownAsInItsCleaning(t *testing.T) {
	for _, s := range []states.State{states.Deleting, states.Cleaning} {
		desired := plan.Desired{Goal: plan.In(states.Available), Version: 1, Fields: plan.NodeFields{Retired: true}}
		require.Equal(t, "blocked: needs version", next(t, s, desired).String(), s)
		desired.Goal = plan.In(states.Manageable)
		require.Equal(t, "wait for "+s.String()+" to end in manageable", next(t, s, desired).String())
	}
}

// The node is provided once its cleaning has ended, since the goal is that it is available again.
func TestTheTearDownOfARetiredNodeLeavesARequest(t *testing.T) {
	desired := plan.Desired{
		Goal: plan.After(states.EventDelete), Version: newest, Fields: plan.NodeFields{Retired: true},
		Progress: plan.NewProgress(plan.Tries{}, plan.Asked),
	}
	for _, s := range []states.State{states.Deleting, states.Cleaning, states.CleanWait} {
		step := next(t, s, desired)
		require.Equal(t, states.Manageable, step.Until, s)
		require.Equal(t, 1, step.Left, s)
	}
	require.Equal(t, "provide", next(t, states.Manageable, desired).Verb)
	desired.Fields.Retired = false
	for _, s := range []states.State{states.Deleting, states.Cleaning, states.CleanWait} {
		step := next(t, s, desired)
		require.Equal(t, states.Available, step.Until, s)
		require.Zero(t, step.Left, s)
	}
}
