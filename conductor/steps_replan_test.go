// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/sequence"
	"github.com/ironstate/ironstate/states"
)

// TestADeploymentThatIsPlannedAgainContinuesAfterItsCurrentStep gives the agent of a node a step that the client has
// requested, and plans the deployment again.
func TestADeploymentThatIsPlannedAgainContinuesAfterItsCurrentStep(t *testing.T) {
	const first, injects, writes = "deploy.deploy", "deploy.inject_files", "deploy.write_image"
	rest := []string{"deploy.prepare_instance_boot", "deploy.tear_down_agent", "deploy.switch_to_tenant_network", "deploy.boot_instance"}
	for name, test := range map[string]struct {
		priority int      // of the requested step
		planned  []string // before
		begun    int
		current  string
		want     []string
		next     int
	}{
		"a step of the agent follows":              {90, []string{first, writes}, 1, first, []string{first, injects, writes}, 1},
		"a step of the agent comes too late":       {150, []string{first, writes}, 1, first, []string{injects, first, writes}, 2},
		"an earlier step is no longer in the plan": {90, []string{"deploy.gone", first, writes}, 2, first, []string{first, injects, writes}, 1},
		"the current step is repeated":             {90, []string{first, writes}, 1, writes, []string{first, injects, writes}, 2},
		"the current step is not in the plan":      {90, []string{first, "deploy.gone"}, 2, "deploy.gone", []string{first, injects, writes}, 2},
	} {
		named := func(names []string) (steps []Step) {
			for _, name := range names {
				steps = append(steps, Step{Interface: "deploy", Step: name[len("deploy."):]})
			}
			return steps
		}
		c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
		require.NoError(t, err)
		inject := agent.StepName{Interface: "deploy", Step: "inject_files"}
		n, err := c.CreateNode(t.Context(), &Node{
			Driver:         "fake-hardware",
			ProvisionState: states.Deploying,
			Interfaces:     map[string]string{"deploy": "direct"},
			Claim:          "ours",
			Agent:          AgentInfo{Steps: map[agent.Work]AgentSteps{agent.Deploy: {Steps: []agent.Step{{StepName: inject}}}}},
			DeploySteps: &Steps{
				Requested: []StepRequest{{Interface: "deploy", Step: "inject_files", Priority: &test.priority}},
				Planned:   named(test.planned), Begun: test.begun, Current: &named([]string{test.current})[0],
			},
		})
		require.NoError(t, err)
		r := &stepsRun{task: c.engine.task(n), kind: deploySteps}
		require.NoError(t, r.plan(t.Context(), sequence.Replan), name)
		text := func(steps []Step) (names []string) {
			for _, step := range steps {
				names = append(names, step.String())
			}
			return names
		}
		require.Equal(t, append(test.want, rest...), text(r.steps), name)
		require.Equal(t, test.next, r.next, name)

		// The next write stores the plan, and the deployment is not planned once more.
		require.NoError(t, r.task.Update(t.Context(), func(*Node) error { return nil }))
		stored := r.task.Node().DeploySteps
		require.True(t, stored.Validated, name)
		require.Equal(t, r.next, stored.Begun, name)
		require.Equal(t, text(r.steps), text(stored.Planned), name)
	}
}
