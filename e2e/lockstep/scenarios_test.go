// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheListedScenariosCanBeCompared(t *testing.T) {
	for _, life := range scenarios.Power {
		for _, event := range life.Events {
			require.Contains(t, powerEvents, event, life.Name)
		}
	}
	for _, p := range OnPurpose {
		require.Contains(t, []string{powerName, recoveryName, stepsName, refusalsName}, p.Comparison, p.What)
		require.NotZero(t, p.From, p.What)
		require.NotEmpty(t, p.Reason, p.What)
	}
	for _, r := range scenarios.Refusals {
		require.Contains(t, r.Body, "target", r.Reason)
	}
	require.Panics(t, func() { parseScenarios([]byte(`{"powers": []}`)) })
}
