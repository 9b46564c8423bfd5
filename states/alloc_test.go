// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package states_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestNothingIsAllocated(t *testing.T) {
	table := states.Latest().Table()
	set := table.Stable()
	for name, do := range map[string]func(){
		"Next":             func() { sinkState, sinkBool = table.Next(states.Enroll, states.EventManage) },
		"Next, no row":     func() { sinkState, sinkBool = table.Next(states.Enroll, states.EventDone) },
		"Request":          func() { sinkEvent, _ = table.Request(states.Available, "active", 81) },
		"Request, late":    func() { sinkEvent, _ = table.Request(states.InspectWait, "abort", 81) },
		"Has":              func() { sinkBool = set.Has(states.Active) },
		"Set":              func() { sinkBool = table.Failed().Union(set) == set },
		"Parse":            func() { sinkState, _ = states.Parse("wait call-back") },
		"ParseEvent":       func() { sinkEvent, _ = states.ParseEvent("unrescue") },
		"ParseVerb":        func() { sinkEvent, _ = states.ParseVerb("undeploy") },
		"Table":            func() { sinkTable = states.Kilo.Table() },
		"String":           func() { sinkBool = states.DeployWait.String() == "" },
		"Work":             func() { sinkBool = table.Work(states.CleanWait).Held() == states.CleanHold },
		"ranging over Set": func() { count(set) },
	} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, testing.AllocsPerRun(100, do))
		})
	}
}

func count(set states.Set) {
	n := 0
	for range set.All() {
		n++
	}
	sinkBool = n == 0
}
