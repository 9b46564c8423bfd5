// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func newRulebook(t *testing.T) *Conductor {
	t.Helper()
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	return c
}

func TestTheProblemsOfRequestedStepsAreSorted(t *testing.T) {
	letters := strings.Split("fbgadce", "")
	sorted := slices.Sorted(slices.Values(letters))
	step := Step{Interface: "bios", Step: "set", ArgsInfo: map[string]StepArgument{}}
	wrong := map[string]any{}
	var want []string
	for _, name := range letters {
		step.ArgsInfo[name] = StepArgument{Description: "needed", Required: true}
		wrong["x"+name] = 1
	}
	for _, name := range sorted {
		want = append(want, name+" (needed)")
	}
	c := newRulebook(t)
	steps, problems := c.rules.checkSteps([]StepRequest{
		{Interface: "bios", Step: "none", Args: map[string]any{"a": 1}}, {Interface: "bios", Step: "set", Args: wrong},
	}, cleanSteps, []Step{step}, false, false)
	require.Len(t, steps, 1)
	require.Len(t, problems, 3)
	require.Equal(t, "node does not support this clean step: {'interface': 'bios', 'step': 'none', 'args': {'a': 1}}", problems[0])
	require.True(t, strings.HasSuffix(problems[1], "has these unexpected arguments: x"+strings.Join(sorted, ", x")), problems[1])
	require.True(t, strings.HasSuffix(problems[2], "is missing these required arguments: "+strings.Join(want, ", ")), problems[2])

	var available []Step
	var twice []StepRequest
	for _, name := range letters {
		available = append(available, Step{Interface: "bios", Step: name, Priority: 1})
		twice = append(twice, StepRequest{Interface: "bios", Step: name}, StepRequest{Interface: "bios", Step: name})
	}
	_, problems = c.rules.checkSteps(twice, deploySteps, available, false, false)
	require.Len(t, problems, 1)
	require.True(t, strings.HasSuffix(problems[0], "Duplicate deploy steps for bios."+strings.Join(sorted, ", bios.")), problems[0])
	steps, problems = c.rules.checkSteps(twice, cleanSteps, available, false, false)
	require.Empty(t, problems, "a cleaning may repeat a step")
	require.Len(t, steps, len(twice))
}

func TestADeploymentMergesTheStepsOfTheHardwareAndOfTheRequest(t *testing.T) {
	priority := func(p int) *int { return &p }
	available := []Step{
		{Interface: "deploy", Step: "deploy", Priority: 100}, {Interface: "deploy", Step: "write", Priority: 80},
		{Interface: "bios", Step: "write", Priority: 0}, {Interface: "raid", Step: "apply", Priority: 90},
	}
	for _, test := range []struct {
		requested []StepRequest
		want      string
	}{
		{nil, "deploy.deploy:100 raid.apply:90 deploy.write:80"},
		{[]StepRequest{{Interface: "deploy", Step: "write", Priority: priority(95)}}, "deploy.deploy:100 deploy.write:95 raid.apply:90"},
		{
			[]StepRequest{{Interface: "bios", Step: "write", Priority: priority(1)}},
			"deploy.deploy:100 raid.apply:90 deploy.write:80 bios.write:1",
		},
		{[]StepRequest{{Interface: "raid", Step: "apply", Priority: priority(0)}}, "deploy.deploy:100 deploy.write:80"},
		{
			[]StepRequest{{Interface: "bios", Step: "write", Priority: priority(80)}},
			"deploy.deploy:100 raid.apply:90 deploy.write:80 bios.write:80",
		},
	} {
		n := &Node{UUID: "n", Driver: "fake-hardware", ProvisionState: states.Deploying, DeploySteps: &Steps{Requested: test.requested}}
		steps, err := newRulebook(t).engine.planDeployment(t.Context(), n, available, false)
		require.NoError(t, err)
		var got []string
		for _, s := range steps {
			got = append(got, fmt.Sprint(s, ":", s.Priority))
		}
		require.Equal(t, test.want, strings.Join(got, " "))
	}
}

func TestOtherPrioritiesLeaveTheStepsOfAHardwareTypeAsTheyAre(t *testing.T) {
	steps := []Step{{Interface: "deploy", Step: "erase_devices", Priority: 10}}
	require.Equal(t, 99, withPriorities(steps, map[string]int{"deploy.erase_devices": 99})[0].Priority)
	require.Equal(t, 10, steps[0].Priority)
}

func TestADeploymentHasTheStepsOfTemplateAndRequest(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	step := func(name string) StepRequest {
		priority := 50
		return StepRequest{Interface: "deploy", Step: name, Priority: &priority}
	}
	_, err = c.CreateObject(t.Context(), &DeployTemplate{ObjectMeta: ObjectMeta{Name: "CUSTOM_A"}, Steps: []StepRequest{step("a")}})
	require.NoError(t, err)
	n := &Node{Driver: "fake-hardware", InstanceInfo: map[string]any{"traits": []any{"CUSTOM_A"}}}
	available := []Step{{Interface: "deploy", Step: "a"}, {Interface: "deploy", Step: "b"}}
	steps, err := c.engine.deploymentSteps(t.Context(), n, []StepRequest{step("b")}, func() ([]Step, error) { return available, nil }, false)
	require.NoError(t, err)
	require.Len(t, steps, 2)
	require.Equal(t, "deploy.a deploy.b", steps[0].String()+" "+steps[1].String())
}
