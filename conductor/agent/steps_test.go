// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

func TestStepsThatLackKeysAreRefusedWithIronicsTexts(t *testing.T) {
	for result, want := range map[string]string{
		`{"clean_steps": {}}`: "agent get_clean_steps for node " + node + " returned an invalid result. " +
			"Keys: {'hardware_manager_version'} are missing from result: {\"clean_steps\": {}}.",
		`{"clean_steps": {"M": [{"step": "x", "priority": 1}]}, "hardware_manager_version": {}}`: "agent get_clean_steps for node " + node +
			" returned an invalid clean step. Keys: {'interface'} are missing from step: {\"step\": \"x\", \"priority\": 1}.",
	} {
		_, c := listen(t, always(200, `{"command_status": "SUCCEEDED", "command_result": `+result+`}`))
		_, err := c.Steps(t.Context(), agent.Clean, agent.Machine{})
		require.EqualError(t, err, want)
	}
}

func TestAnAgentWithoutServiceStepsHasNone(t *testing.T) {
	_, c := listen(t, always(http.StatusNotFound, `{"faultcode": "Client", "faultstring": "Extension with id service not found."}`))
	steps, err := c.Steps(t.Context(), agent.Service, agent.Machine{})
	require.NoError(t, err)
	require.Empty(t, steps.Steps)
	_, err = c.Steps(t.Context(), agent.Clean, agent.Machine{})
	require.ErrorIs(t, err, agent.ErrRefused)
	require.EqualError(t, err, "Agent API for node "+node+" returned HTTP status code 404 with error: Extension with id service not found.")
}

// SECURITY.md: Control characters leave every text of an agent before it is stored.
func TestTheTextsOfStepsHaveNoControlCharacters(t *testing.T) {
	_, c := listen(t, always(200, `{"command_status": "SUCCEEDED", "command_result": {
		"hardware_manager_version": {"a\u001bb": "1\u009b0"}, "clean_steps": {"M": [
		{"interface": "deploy", "step": "x", "priority": 1, "args": {"a\u0007": ["b\u202ec"]},
			"argsinfo": {"d\u001b": {"description": "e\nf http://u:hunter2@h"}}}
	]}}}`))
	steps, err := c.Steps(t.Context(), agent.Clean, agent.Machine{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a b": "1 0"}, steps.Versions)
	require.Empty(t, steps.Steps[0].Args)
	require.Equal(t, map[string]agent.Info{"d ": {Description: "e f http://u:******@h"}}, steps.Steps[0].ArgsInfo)

	_, c = listen(t, always(200, `{"command_status": "SUCCEEDED", "command_result": {"root uuid": "0x6\u001b"}}`))
	p, err := c.PartitionUUIDs(t.Context())
	require.NoError(t, err)
	require.Equal(t, "0x6 ", p.Root)
}
