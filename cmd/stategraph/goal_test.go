// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// TestAPlannedPathExistsInTheTable checks, for every state and goal of every series, that the table has a
// transition for each step of the planned path. Where no path is planned, the error must not blame the table.
func TestAPlannedPathExistsInTheTable(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for from := range table.States().All() {
			for goal := range plan.AllGoals() {
				path, err := pathTo(table, from, goal)
				if err != nil {
					require.NotContains(t, err.Error(), "no such transition")
					continue
				}
				_, err = graph.Through(table, path...)
				require.NoError(t, err, "%v: %v to %v", series, from, goal)
			}
		}
	}
}

func TestGoalDrawsThePlannedPath(t *testing.T) {
	stdout, stderr, code := execute("-format", "json", "-current", "manageable", "-goal", "active")
	require.Zero(t, code, stderr)
	given, stderr, code := execute("-format", "json", "-current", "manageable", "-path", "manageable,cleaning,available,deploying,active")
	require.Zero(t, code, stderr)
	require.Equal(t, given, stdout)
	require.Contains(t, stdout, `"taken": true`)
	for _, args := range [][]string{
		{"-goal", "active"},
		{"-goal", "nowhere", "-current", "enroll"},
		{"-goal", "active", "-current", "enroll", "-path", "enroll,verifying"},
		{"-goal", "active", "-current", "rescue", "-series", "kilo"},
		{"-goal", "enrolled", "-current", "active"},
	} {
		_, stderr, code := execute(append(args, "-format", "dot")...)
		require.Equal(t, program.Usage, code, args)
		require.NotEmpty(t, stderr)
	}
}
