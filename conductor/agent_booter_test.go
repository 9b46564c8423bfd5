// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// answering is a hardware type that tells of the agent by functions.
type answering struct {
	*Fake
	uses, writes func() bool
}

func (h answering) UsesAgent(*Node, states.Work) bool { return h.uses() }
func (h answering) WritesImage(*Node) bool            { return h.writes() }

// The steps' context has no deadline: a step waits for its machine as long as it takes.
func TestAStepOfTheAgentFailsIfTheHardwareTypeDoesNotSayWhatTheAgentDoes(t *testing.T) {
	type steps = map[string]func(context.Context, *Task) error
	all := steps{
		"after a reboot": func(ctx context.Context, t *Task) error { return agentTask{t}.Reboot(ctx) },
	}
	for _, step := range agentDeploySteps(&Fake{}, &Node{}) {
		if slices.Contains([]string{"deploy", "prepare_instance_boot", "tear_down_agent"}, step.Step) {
			all[step.Step] = step.Run
		}
	}
	require.Len(t, all, 4)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hangs, yes, no := func() bool { <-release; return true }, func() bool { return true }, func() bool { return false }
		for _, test := range []struct {
			uses, writes func() bool
			steps        steps
			text         string
		}{
			{hangs, yes, all, "could not be asked for its use of the agent: the call does not return"},
			{no, yes, all, "the hardware type does not use the agent any more for the work"},
			{
				yes, hangs, steps{"prepare_instance_boot": all["prepare_instance_boot"]},
				"whether the agent writes the image: the call does not return",
			},
		} {
			for name, step := range test.steps {
				task, _, _ := working(t)
				task.Node().DisablePowerOff = true // the power off of tear_down_agent needs a conductor that runs
				task.hardware = answering{&Fake{}, test.uses, test.writes}
				require.ErrorContains(t, step(t.Context(), task), test.text, name)
			}
		}
	})
}
