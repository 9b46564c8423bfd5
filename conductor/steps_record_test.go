// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// The records of a real Ironic 21.4.4 have these keys with a real agent.
func TestTheKeysOfAStepTellWhoListsIt(t *testing.T) {
	info := map[string]conductor.StepArgument{"time": {Description: "in seconds", Required: true}, "force": {}}
	type object = map[string]any
	described := object{"time": object{"description": "in seconds", "required": true}, "force": object{}}
	for _, c := range []struct {
		name string
		work states.Work
		step conductor.Step
		want object
	}{
		{"the hardware type's", states.WorkClean, conductor.Step{}, object{"abortable": false, "argsinfo": nil, "requires_ramdisk": true}},
		{
			"one with arguments", states.WorkService, conductor.Step{ArgsInfo: info, NoRamdisk: true},
			object{"abortable": false, "argsinfo": described, "requires_ramdisk": false},
		},
		{"a deploy step", states.WorkDeploy, conductor.Step{}, object{"argsinfo": nil}},
		{"one that can be aborted", states.WorkDeploy, conductor.Step{Abortable: true}, object{"abortable": true, "argsinfo": nil}},
		{
			"a deploy step of a client", states.WorkDeploy,
			conductor.Step{Requested: true, ArgsInfo: info, Args: object{}}, object{"args": object{}},
		},
		{"one that the agent executes", states.WorkDeploy, conductor.Step{InBand: true}, object{"argsinfo": nil}},
		{
			"the agent's", states.WorkClean, conductor.Step{InBand: true, Listed: true, Abortable: true},
			object{"abortable": true, "reboot_requested": false},
		},
		{"the agent's with arguments", states.WorkDeploy, conductor.Step{InBand: true, Listed: true, RebootRequested: true, ArgsInfo: info},
			object{"reboot_requested": true, "argsinfo": described}},
		{"a requested one", states.WorkClean, conductor.Step{InBand: true, Listed: true, Requested: true}, object{"abortable": false}},
		{"one with values", states.WorkDeploy, conductor.Step{Args: object{"time": "1"}}, object{"argsinfo": nil, "args": object{"time": "1"}}},
	} {
		c.step.Interface, c.step.Step, c.step.Priority = "deploy", "s", 10
		c.want["interface"], c.want["step"], c.want["priority"] = "deploy", "s", 10
		require.Equal(t, c.want, c.step.Record(c.work), c.name)
	}
}

func TestARequestedStepHasTheKeysOfTheRequest(t *testing.T) {
	priority := 7
	require.Equal(t, map[string]any{"interface": "bios", "step": "s"}, conductor.StepRequest{Interface: "bios", Step: "s"}.Record())
	require.Equal(t, map[string]any{"interface": "bios", "step": "s", "args": map[string]any{}, "priority": 7},
		conductor.StepRequest{Interface: "bios", Step: "s", Args: map[string]any{}, Priority: &priority}.Record())
	order := 3
	ordered := map[string]any{"interface": "bios", "step": "s", "order": 3}
	require.Equal(t, ordered, conductor.StepRequest{Interface: "bios", Step: "s", Order: &order}.Record())
	ordered["abortable"], ordered["priority"] = false, 0
	require.Equal(t, ordered, conductor.Step{Interface: "bios", Step: "s", Requested: true, Order: &order}.Record(states.WorkService))
	onChildren := map[string]any{"interface": "bios", "step": "s", "execute_on_child_nodes": true}
	require.Equal(t, onChildren, conductor.StepRequest{Interface: "bios", Step: "s", OnChildren: true}.Record())
	require.Equal(t, onChildren, conductor.Step{Interface: "bios", Step: "s", Requested: true, OnChildren: true}.Record(states.WorkClean))
	onChildren["limit_child_node_execution"], onChildren["args"] = []any{"a", "b"}, map[string]any{"x": 1}
	require.Equal(t, onChildren, conductor.StepRequest{
		Interface:  "bios",
		Step:       "s",
		Args:       map[string]any{"x": 1},
		OnChildren: true,
		Children:   []string{"a", "b"},
	}.Record())
	require.Equal(t, onChildren, conductor.Step{
		Interface:  "bios",
		Step:       "s",
		Args:       map[string]any{"x": 1},
		OnChildren: true,
		Children:   []string{"a", "b"},
	}.Record(states.WorkClean))
}
