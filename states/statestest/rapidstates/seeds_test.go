// SPDX-License-Identifier: Apache-2.0

package rapidstates_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

// planted are machines with a bug. Each gets the events that the node has had, the last of which the table answers with
// to, and returns the state that the machine is in.
var planted = map[string]func(had []states.Event, from, to states.State) states.State{
	"a transition leads to another state": func(had []states.Event, from, to states.State) states.State {
		if from == states.CleanWait && had[len(had)-1] == states.EventAbort {
			return states.Available
		}
		return to
	},
	"an illegal event is accepted": func(had []states.Event, from, to states.State) states.State {
		if from == states.Deploying && had[len(had)-1] == states.EventManage {
			return states.Manageable
		}
		return to
	},
	"a node that has failed and was aborted fails later": func(had []states.Event, from, to states.State) states.State {
		if from == states.Cleaning && to == states.Available &&
			slices.Contains(had, states.EventFail) && slices.Contains(had, states.EventAbort) {
			return states.CleanFail
		}
		return to
	},
}

// eachSeed runs a property with each seed, as `go test` does for a fuzz target with AddSeeds.
func eachSeed(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	for i, seed := range rapidstates.Seeds() {
		drawn := false
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rapid.MakeFuzz(func(t *rapid.T) { property(t); drawn = true })(t, seed)
		})
		require.True(t, drawn, "rapid skips a seed that is too short")
	}
}

func TestTheSeedsFindPlantedBugs(t *testing.T) {
	walks, found := rapidstates.MixedWalk(states.Latest().Table()), map[string]bool{}
	eachSeed(t, func(t *rapid.T) {
		var had []states.Event
		for _, step := range walks.Draw(t, "walk") {
			had = append(had, step.Event)
			for name, machine := range planted {
				if machine(had, step.From, step.To) != step.To {
					found[name] = true
				}
			}
		}
	})
	require.Len(t, found, len(planted), "%v", found)
}

func TestTheSeedsWalkThroughMostOfTheTable(t *testing.T) {
	table := states.Latest().Table()
	walks, seen := rapidstates.Walk(table), map[states.Transition]bool{}
	eachSeed(t, func(t *rapid.T) {
		for _, step := range walks.Draw(t, "walk") {
			seen[step] = true
		}
	})
	rows := len(slices.Collect(table.Transitions()))
	require.Greater(t, len(seen), rows*9/10, "of %d rows", rows)
}
