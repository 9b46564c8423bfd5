// SPDX-License-Identifier: Apache-2.0

package rapidstates_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

func TestGeneratorsDrawFromTheVocabulary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom(slices.Collect(states.AllSeries())).Draw(t, "series").Table()
		require.NotNil(t, table)
		require.True(t, table.Stable().Has(rapid.SampledFrom(slices.Collect(table.Stable().All())).Draw(t, "stable")))
	})
}

func TestWalksFollowTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom(slices.Collect(states.AllSeries())).Draw(t, "series").Table()
		walk := rapidstates.Walk(table).Draw(t, "walk")
		require.NotEmpty(t, walk)
		for i, step := range walk {
			to, ok := table.Next(step.From, step.Event)
			require.True(t, ok, step)
			require.Equal(t, to, step.To)
			if i > 0 {
				require.Equal(t, walk[i-1].To, step.From)
			}
		}
	})
}

func TestMixedWalksHaveLegalAndIllegalEvents(t *testing.T) {
	legal, illegal := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom(slices.Collect(states.AllSeries())).Draw(t, "series").Table()
		walk := rapidstates.MixedWalk(table).Draw(t, "walk")
		require.NotEmpty(t, walk)
		for i, step := range walk {
			to, ok := table.Next(step.From, step.Event)
			if ok {
				legal++
				require.Equal(t, to, step.To)
			} else {
				illegal++
				require.Equal(t, step.From, step.To)
			}
			if i > 0 {
				require.Equal(t, walk[i-1].To, step.From)
			}
		}
	})
	require.NotZero(t, legal)
	require.NotZero(t, illegal)
}

// The walks together contain every row of the table.
func TestWalksReachEveryRow(t *testing.T) {
	table := states.Latest().Table()
	walks := rapidstates.Walk(table)
	seen := make(map[states.Transition]bool)
	for seed := range 2000 {
		for _, step := range walks.Example(seed) {
			seen[step] = true
		}
	}
	for row := range table.Transitions() {
		require.True(t, seen[row], row)
	}
}

func TestThereMustBeSomethingToWalk(t *testing.T) {
	require.Panics(t, func() { rapidstates.Walk(nil) })
	require.Panics(t, func() { rapidstates.MixedWalk(&states.Table{}) })
}
