// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// TestEveryWorkHasAnEntry fails for a work, or a state of no work, that this package does not know.
func TestEveryWorkHasAnEntry(t *testing.T) {
	for w := range states.AllWorks() {
		require.Contains(t, works, w, "machine/admission/work.go has no entry for it")
	}
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range table.States().Minus(table.Stable()).All() {
			require.NotEqual(t, states.NoWork, table.Work(s), "%v of %v is the state of no work", s, series)
		}
	}
}

// TestEveryStableStateHasAnEntry fails for a stable state of which nobody has said what this package allows then.
func TestEveryStableStateHasAnEntry(t *testing.T) {
	type allows struct{ connectivity, interfaces, protected bool }
	known := map[states.State]allows{
		states.Enroll: {true, true, false}, states.Manageable: {true, true, false}, states.Available: {false, true, false},
		states.Active: {false, false, true}, states.Rescue: {false, false, true}, states.Error: {},
	}
	const missing = "say in machine/admission/object.go (connectivityStates) and record.go (interfaceStates, Update) what %v allows, and here"
	for series := range states.AllSeries() {
		rules := Rules{Table: series.Table()}
		for s := range series.Table().Stable().All() {
			require.Contains(t, known, s, missing, s)
			protects := rules.Update(NodeFields{State: s}, Update{Protects: true}) == nil
			require.Equal(t, known[s], allows{connectivityStates.Has(s), interfaceStates.Has(s), protects}, s)
		}
	}
}

// TestEveryRequestHasAnEntry fails for a request of which this package may not know what it needs of a node.
func TestEveryRequestHasAnEntry(t *testing.T) {
	type needs struct{ noMaintenance, validInterfaces bool }
	known := map[states.Event]needs{
		states.EventManage: {}, states.EventProvide: {}, states.EventAdopt: {}, states.EventAbort: {}, states.EventUnhold: {},
		states.EventInspect: {false, true}, states.EventDelete: {false, true}, states.EventClean: {true, true}, states.EventDeploy: {true, true},
		states.EventRebuild: {true, true}, states.EventRescue: {true, true}, states.EventUnrescue: {true, true},
		states.EventService: {true, true},
	}
	rules := Rules{Table: states.Latest().Table()}
	for e := range states.AllEvents() {
		if e.Verb() == "" {
			continue
		}
		require.Contains(t, known, e, "say in machine/admission/provision.go what it needs: start, needsNoMaintenance, validations; then here")
		require.Equal(t, known[e], needs{rules.needsNoMaintenance(e), rules.Validates(e)}, e)
	}
}
