// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// disallowing configures a conductor whose operator does not allow a step in some work.
func disallowing(step string, work ...states.Work) func(*conductor.Config) {
	return func(c *conductor.Config) {
		c.DisallowedSteps = map[states.Work][]string{}
		for _, s := range work {
			c.DisallowedSteps[s] = []string{"raid.other", step}
		}
	}
}

func TestARequestWithAStepThatTheOperatorDoesNotAllowIsRefused(t *testing.T) {
	priority := 50
	wanted := []conductor.StepRequest{
		{Interface: "bios", Step: "cache_bios_settings", Priority: &priority},
		{Interface: "bios", Step: "factory_reset", Priority: &priority},
	}
	for _, test := range []struct {
		from   states.State
		target string
		word   string
		work   states.Work
		set    func(*conductor.ProvisionRequest)
	}{
		{states.Manageable, "clean", "clean", states.WorkClean, func(r *conductor.ProvisionRequest) { r.CleanSteps = wanted }},
		{states.Available, "active", "deploy", states.WorkDeploy, func(r *conductor.ProvisionRequest) { r.DeploySteps = wanted }},
		{states.Active, "rebuild", "deploy", states.WorkDeploy, func(r *conductor.ProvisionRequest) { r.DeploySteps = wanted }},
		{states.Active, "service", "service", states.WorkService, func(r *conductor.ProvisionRequest) { r.ServiceSteps = wanted }},
	} {
		t.Run(test.target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, disallowing("bios.factory_reset", test.work))
				n := f.node(test.from)
				r := f.provision(test.target)
				test.set(&r)
				err := f.Provision(f.ctx, n.UUID, r)
				require.ErrorIs(t, err, conductor.Invalid)
				require.EqualError(t, err,
					test.word+" step 'bios.factory_reset' is not allowed. Disallowed by operator configuration [api]disallow_"+test.word+"_steps.")
				require.Equal(t, test.from, f.settle(n).ProvisionState)
			})
			synctest.Test(t, func(t *testing.T) { // allowed in this work
				others := map[states.Work][]states.Work{
					states.WorkClean:   {states.WorkDeploy, states.WorkService},
					states.WorkDeploy:  {states.WorkClean, states.WorkService},
					states.WorkService: {states.WorkClean, states.WorkDeploy},
				}
				f := start(t, disallowing("bios.factory_reset", others[test.work]...))
				r := f.provision(test.target)
				test.set(&r)
				require.NoError(t, f.Provision(f.ctx, f.node(test.from).UUID, r))
			})
		})
	}
}

func TestAutomaticWorkLeavesOutTheStepsThatTheOperatorDoesNotAllow(t *testing.T) {
	for target, test := range map[string]struct {
		from states.State
		work states.Work
	}{"provide": {states.Manageable, states.WorkClean}, "active": {states.Available, states.WorkDeploy}} {
		for _, left := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var ran []string
				run := func(_ context.Context, task *conductor.Task) error {
					ran = append(ran, task.Step().String())
					return nil
				}
				steps := []conductor.Step{
					{Interface: "deploy", Step: "write", Priority: 10, Run: run},
					{Interface: "raid", Step: "reset", Priority: 5, Run: run},
				}
				f := start(t, func(c *conductor.Config) {
					withReal(map[states.Work][]conductor.Step{test.work: steps})(c)
					if left {
						disallowing("raid.reset", test.work)(c)
					}
				})
				n := f.node(test.from)
				f.request(n, target)
				require.Empty(t, f.settle(n).LastError)
				want := []string{"deploy.write", "raid.reset"}
				if left {
					want = want[:1]
				}
				require.Equal(t, want, ran, "%s, left out: %v", target, left)
			})
		}
	}
}

func TestAnAutomatedCleaningFailsIfTheOperatorAllowsNoneOfItsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := map[states.Work][]conductor.Step{states.WorkClean: {{Interface: "deploy", Step: "erase", Priority: 10}}}
		f := start(t, func(c *conductor.Config) {
			withReal(steps)(c)
			disallowing("deploy.erase", states.WorkClean)(c)
		})
		n := f.node(states.Manageable)
		f.request(n, "provide")
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Contains(t, got.LastError, "nothing would be erased")
	})
}

func TestADeployTemplateWithAStepThatTheOperatorDoesNotAllowRefusesTheDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := []conductor.Step{{Interface: "deploy", Step: "deploy", Priority: 100}, {Interface: "raid", Step: "reset"}}
		f := start(t, func(c *conductor.Config) {
			withReal(map[states.Work][]conductor.Step{states.WorkDeploy: steps})(c)
			disallowing("raid.reset", states.WorkDeploy)(c)
		})
		priority := 50
		template := &conductor.DeployTemplate{
			ObjectMeta: conductor.ObjectMeta{Name: "CUSTOM_RAID"},
			Steps:      []conductor.StepRequest{{Interface: "raid", Step: "reset", Priority: &priority}},
		}
		_, err := f.CreateObject(f.ctx, template)
		require.NoError(t, err)
		n, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver:         "fake-hardware",
			ProvisionState: states.Available,
			Traits:         []string{"CUSTOM_RAID"},
			InstanceInfo:   map[string]any{"traits": []any{"CUSTOM_RAID"}},
		})
		require.NoError(t, err)
		err = f.Provision(f.ctx, n.UUID, f.provision("active"))
		require.ErrorIs(t, err, conductor.Unsuitable)
		require.ErrorContains(t, err, "Matching deploy templates: CUSTOM_RAID. Errors: deploy step 'raid.reset' is not "+
			"allowed. Disallowed by operator configuration [api]disallow_deploy_steps.")
		require.Equal(t, states.Available, f.settle(n).ProvisionState)
	})
}
