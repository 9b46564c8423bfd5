// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// situation is one input of reconcile.
type situation struct {
	state       states.State
	id          string // me is chosen for "a", another for "b"
	claim       string // "", "me", "another", "dead" or "dead with my name"
	owner       string // "me", "another" or "": no member has the hardware type
	power       states.Power
	waited      time.Duration // since the state's begin; negative if that is not recorded
	maintenance bool
	cleanUp     bool
}

const patience = time.Hour

// everySituation calls check for each state, ID, claim, owner, power request, time and maintenance.
func everySituation(check func(situation)) {
	var s situation
	for s.state = range states.AllStates() {
		for _, s.id = range []string{"a", "b"} {
			for _, s.claim = range []string{"", "me", "another", "dead", "dead with my name"} {
				for _, s.owner = range []string{"me", "another", ""} {
					for _, s.power = range []states.Power{states.NoPower, states.PowerOn, states.PowerOff} {
						for _, s.waited = range []time.Duration{-1, 0, patience - 1, patience, 2 * patience} {
							for _, s.maintenance = range []bool{false, true} {
								for _, s.cleanUp = range []bool{false, true} {
									check(s)
								}
							}
						}
					}
				}
			}
		}
	}
}

// decided returns what reconcile decides.
func (s situation) decided() action {
	now := time.Date(2026, 11, 22, 4, 5, 6, 0, time.UTC)
	n := &Node{
		UUID: s.id, Driver: "driver", ProvisionState: s.state, Claim: s.claim, TargetPower: s.power, Maintenance: s.maintenance,
	}
	if s.cleanUp {
		n.CleanUp = &CleanUp{PowerOff: true}
	}
	switch s.claim {
	case "":
	case "dead with my name":
		n.Reservation = "host of me"
	default:
		n.Reservation = "host of " + s.claim
	}
	if s.waited >= 0 {
		begun := now.Add(-s.waited)
		n.ProvisionUpdatedAt = &begun
	}
	v := view{id: "me", members: []Member{{ID: "me", Hostname: "host of me"}, {ID: "another", Hostname: "host of another"}}}
	for i := range v.members {
		v.members[i].Drivers = []string{"another driver"}
		if v.members[i].ID == s.owner {
			v.members[i].Drivers = []string{"driver"}
		}
	}
	limits := machine.Timeouts{Deploy: patience, Clean: patience, Inspect: patience, Rescue: patience, Service: patience}
	return reconcile(n, v, limits, now)
}

// The words in which the rules below are stated. The lists of states come from Ironic's
// documentation, not of this package.

func (s situation) working() bool {
	if s.cleanUp {
		return true
	}
	switch s.state {
	case states.Verifying, states.Inspecting, states.Cleaning, states.Deploying, states.Deleting, states.Rescuing,
		states.Unrescuing, states.Servicing, states.Adopting:
		return true
	}
	return false
}

func (s situation) late() bool {
	switch s.state {
	case states.DeployWait, states.CleanWait, states.InspectWait, states.RescueWait, states.ServiceWait:
		return s.waited >= patience && !s.maintenance
	}
	return false
}

// reconcileRules are what a conductor has to do; the first that applies counts.
var reconcileRules = []struct {
	action  action
	says    string
	applies func(situation) bool
}{
	{
		release, "a reservation of this process for a change of power, which no goroutine makes",
		func(s situation) bool { return s.claim == "me" && s.power != states.NoPower },
	},
	{
		work, "a reservation of this process for work, which no goroutine does",
		func(s situation) bool { return s.claim == "me" && s.working() },
	},
	{release, "a reservation of this process without work", func(s situation) bool { return s.claim == "me" }},
	{
		failOrphan, "a dead process of the same name had a node that nobody owns",
		func(s situation) bool { return s.claim == "dead with my name" && s.owner == "" },
	},
	{
		failOrphan, "a dead process had a node without work that nobody owns, for which this process is chosen",
		func(s situation) bool { return s.claim == "dead" && s.owner == "" && s.id == "a" && !s.working() },
	},
	{nothing, "another conductor owns the node, or none", func(s situation) bool { return s.owner != "me" }},
	{nothing, "another live process has the node", func(s situation) bool { return s.claim == "another" }},
	{
		failOrphan, "a dead process had the node",
		func(s situation) bool { return s.claim == "dead" || s.claim == "dead with my name" },
	},
	{release, "a change of power without a reservation, which nobody makes", func(s situation) bool { return s.power != states.NoPower }},
	{work, "a request has stored work", situation.working},
	{timeOut, "a call-back does not come", situation.late},
	{nothing, "the node rests or waits", func(situation) bool { return true }},
}

func TestReconcileFollowsTheRulesInEverySituation(t *testing.T) {
	applied := make([]int, len(reconcileRules))
	everySituation(func(s situation) {
		for i, rule := range reconcileRules {
			if !rule.applies(s) {
				continue
			}
			applied[i]++
			if got := s.decided(); got != rule.action {
				t.Fatalf("%+v: action %d, not %d: %s", s, got, rule.action, rule.says)
			}
			return
		}
	})
	for i, rule := range reconcileRules {
		require.NotZero(t, applied[i], rule.says)
	}
}

// TestReconcileHasWorkWhereANodeCannotLeaveByItself compares the states with work with the table's.
func TestReconcileHasWorkWhereANodeCannotLeaveByItself(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for state := range table.States().All() {
			if table.Stuck().Has(state) {
				require.True(t, runsIn(state), "%v of %v", state, series)
			}
		}
	}
}
