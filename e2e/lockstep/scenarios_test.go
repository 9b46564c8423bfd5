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
	names := []string{powerName, recoveryName, stepsName}
	for _, c := range admissionTable.Comparisons {
		names = append(names, c.title())
	}
	for _, p := range OnPurpose {
		require.Contains(t, names, p.Comparison, p.What)
		require.NotZero(t, p.From, p.What)
		require.NotEmpty(t, p.Reason, p.What)
	}
	require.Panics(t, func() { parseTable[scenarioLists]("", []byte(`{"powers": []}`)) })
}
