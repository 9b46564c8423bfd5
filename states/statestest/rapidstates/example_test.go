// SPDX-License-Identifier: Apache-2.0

package rapidstates_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

// FuzzLastState turns the property that TestLastState checks with rapid into a fuzz
// test.
func FuzzLastState(f *testing.F) {
	rapidstates.AddSeeds(f)
	f.Fuzz(rapid.MakeFuzz(lastStateIsTheTables))
}

func TestLastState(t *testing.T) { rapid.Check(t, lastStateIsTheTables) }

func lastStateIsTheTables(t *rapid.T) {
	table := rapid.SampledFrom(slices.Collect(states.AllSeries())).Draw(t, "series").Table()
	walk := rapidstates.MixedWalk(table).Draw(t, "walk")
	at := walk[0].From
	for _, step := range walk {
		if to, ok := table.Next(at, step.Event); ok {
			at = to
		}
	}
	if last := walk[len(walk)-1].To; at != last || !table.States().Has(at) || at == states.NoState {
		t.Fatalf("in %v, not %v", at, last)
	}
}

func ExampleWalk() {
	for _, step := range rapidstates.Walk(states.Latest().Table()).Example(1) {
		fmt.Println(step)
	}
	// Output:
	// adopting --done--> active
	// active --rescue--> rescuing
	// rescuing --wait--> rescue wait
}
