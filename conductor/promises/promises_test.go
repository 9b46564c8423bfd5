// SPDX-License-Identifier: Apache-2.0

package promises_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/promises"
	"github.com/ironstate/ironstate/states"
)

var rules = promises.Rules{Table: states.Latest().Table(), MaxTransitions: 2}

// moved returns the version after a transition, with the transition in its record.
func moved(before promises.Version, event states.Event, claim string) promises.Version {
	to, _ := rules.Table.Next(before.State, event)
	after := before
	after.State, after.Claim, after.Reservation = to, claim, claim
	added := conductor.TransitionRecord{Event: event, From: before.State, To: to, Target: before.Target, LastError: before.LastError}
	after.Transitions = append(before.Transitions[:len(before.Transitions):len(before.Transitions)], added)
	if more := len(after.Transitions) - rules.MaxTransitions; more > 0 {
		after.Transitions = after.Transitions[more:]
	}
	return after
}

func TestRulesWithoutANumberKeepAsManyTransitionsAsAConductorDoes(t *testing.T) {
	full := promises.Version{State: states.Enroll}
	for range conductor.DefaultMaxTransitions {
		full.Transitions = append(full.Transitions, conductor.TransitionRecord{Event: states.EventManage})
	}
	after := full
	after.State, after.Claim, after.Reservation = states.Verifying, "alpha", "alpha"
	after.Transitions = append(full.Transitions[1:len(full.Transitions):len(full.Transitions)],
		conductor.TransitionRecord{Event: states.EventManage, From: states.Enroll, To: states.Verifying})
	_, broken := promises.Rules{Table: rules.Table}.Write(&full, &after, false)
	require.Empty(t, broken)
	after.Transitions = after.Transitions[1:]
	_, broken = promises.Rules{Table: rules.Table}.Write(&full, &after, false)
	require.NotEmpty(t, broken)
}

// TestEveryStableStateHasAnEntry fails for a stable state of which nobody has said whether a token may be valid then.
func TestEveryStableStateHasAnEntry(t *testing.T) {
	forgets := map[states.State]bool{
		states.Enroll: false, states.Manageable: true, states.Available: true, states.Active: true, states.Rescue: false, states.Error: false,
	}
	for series := range states.AllSeries() {
		for s := range series.Table().Stable().All() {
			require.Contains(t, forgets, s, "say in conductor/promises/promises.go whether %v says that work was done (trusted), and here", s)
			after := promises.Version{State: s, Agent: conductor.AgentInfo{Token: "secret"}}
			_, broken := rules.Write(&promises.Version{State: states.Deploying}, &after, false)
			require.Equal(t, forgets[s], slices.Contains(broken, fmt.Sprintf("the token of its agent is valid in %q", s)), s)
		}
	}
}

func TestSoundWritesBreakNothing(t *testing.T) {
	enrolled := promises.Version{State: states.Enroll}
	verifying := moved(enrolled, states.EventManage, "alpha")
	renamed := verifying
	renamed.Name = "another"
	manageable := moved(renamed, states.EventDone, "")
	cleaning := moved(manageable, states.EventProvide, "alpha")
	waiting := moved(cleaning, states.EventWait, "")
	waiting.Agent.Token = "secret"
	repeated := verifying
	repeated.Claim, repeated.Reservation = "", ""
	powered := manageable
	powered.Claim, powered.TargetPower = "beta", states.PowerOn
	for i, write := range [][2]promises.Version{
		{enrolled, verifying}, {verifying, renamed}, {renamed, manageable}, {manageable, cleaning}, {cleaning, waiting},
		{verifying, repeated}, {manageable, powered}, {powered, manageable},
	} {
		added, broken := rules.Write(&write[0], &write[1], false)
		require.Empty(t, broken, i)
		require.Equal(t, write[0].State != write[1].State, len(added) == 1, i)
	}
	// An abort of a service has two rows in one write. Of each the record has the last error that counts after it, the
	// beginning of a long one.
	service := promises.Version{State: states.ServiceWait}
	failed := moved(service, states.EventAbort, "")
	aborted := moved(failed, states.EventAbort, "")
	require.Equal(t, states.Active, aborted.State)
	aborted.LastError = "a long text"
	aborted.Transitions[1].LastError = "a long…"
	added, broken := rules.Write(&service, &aborted, true)
	require.Empty(t, broken)
	require.Len(t, added, 2)
}

func TestEachBrokenPromiseIsSaid(t *testing.T) {
	for text, test := range map[string]struct {
		from  promises.Version
		event states.Event // noEvent: the write has no transition
		spoil func(after *promises.Version)
	}{
		`"active" was stored after "enroll"`: {promises.Version{State: states.Enroll}, states.EventManage,
			func(after *promises.Version) { after.State = states.Active }},
		"the new transitions do not lead to the state": {promises.Version{State: states.Enroll}, states.EventManage,
			func(after *promises.Version) { after.Transitions[0].From = states.Available }},
		"a transition was lost, or changed": {
			promises.Version{State: states.Manageable, Transitions: []conductor.TransitionRecord{{Event: states.EventDone}}}, states.EventProvide,
			func(after *promises.Version) { after.Transitions = after.Transitions[1:] }},
		"the last transition does not have the target and the last error": {promises.Version{State: states.Enroll}, states.EventManage,
			func(after *promises.Version) { after.Target = states.Manageable }},
		`a failure in "verifying" was stored without its reason`: {promises.Version{State: states.Verifying}, states.EventFail,
			func(*promises.Version) {}},
		`the token of its agent is valid in "manageable"`: {promises.Version{State: states.Verifying}, states.EventDone,
			func(after *promises.Version) { after.Agent.Token = "secret" }},
		"the reservation of alpha (a) passed to beta (b) without being dropped": {
			promises.Version{State: states.Available, Claim: "a", Reservation: "alpha"}, noEvent,
			func(after *promises.Version) { after.Claim, after.Reservation = "b", "beta" }},
		`the reservation of alpha was dropped in "cleaning" without an end of the work`: {
			promises.Version{State: states.Cleaning, Claim: "a", Reservation: "alpha"}, noEvent,
			func(after *promises.Version) { after.Claim, after.Reservation = "", "" }},
		`the reservation of alpha was dropped in "verifying" without an end of the work`: {
			promises.Version{State: states.Verifying, Claim: "a", Reservation: "alpha"}, noEvent,
			func(after *promises.Version) { after.Claim, after.Reservation = "", "" }},
	} {
		after := test.from
		if test.event != noEvent {
			after = moved(test.from, test.event, "")
		}
		test.spoil(&after)
		_, broken := rules.Write(&test.from, &after, true)
		require.NotEmpty(t, broken, text)
		require.Contains(t, broken[0], text)
	}
}

const noEvent = states.Event(0)

func TestAnAgentMayStayByFastTrack(t *testing.T) {
	for _, test := range []struct {
		fleet bool
		node  string
		stays bool
	}{
		{false, `{}`, false}, {true, `{}`, true}, {true, `{"fast_track": "off"}`, false},
		{false, `{"fast_track": true}`, true}, {false, `{"fast_track": "True"}`, true}, {false, `{"fast_track": "maybe"}`, false},
	} {
		r := rules
		r.FastTrack = test.fleet
		before, err := promises.Decode([]byte(`{"provision_state": "cleaning", "driver_info": ` + test.node + `}`))
		require.NoError(t, err)
		after := moved(*before, states.EventDone, "")
		after.Agent.Token = "secret"
		_, broken := r.Write(before, &after, true)
		require.Equal(t, test.stays, len(broken) == 0, "%+v: %v", test, broken)
	}
}

func TestANodeThatWaitsSaysForWhat(t *testing.T) {
	for want, v := range map[string]promises.Version{
		"":                                       {State: states.CleanFail},
		"it is reserved by alpha":                {State: states.Active, Reservation: "alpha", Claim: "a"},
		"it is reserved by ":                     {State: states.Active, Claim: "a"},
		"it is in cleaning":                      {State: states.Cleaning},
		"it is in clean wait":                    {State: states.CleanWait},
		"it has the target power state power on": {State: states.Active, TargetPower: states.PowerOn},
		"its machine was not cleaned up after failed work": {State: states.CleanFail, CleanUp: &conductor.CleanUp{}},
	} {
		require.Equal(t, want, rules.Waits(&v))
	}
	require.Empty(t, rules.Waits(&promises.Version{State: states.CleanWait, Maintenance: true}), "an operator will end it")
}

// A field of a node that gets another name would no longer be checked.
func TestAVersionHasTheFieldsOfANode(t *testing.T) {
	n := conductor.Node{
		UUID: "u", Name: "n", ProvisionState: states.Cleaning, TargetProvisionState: states.Manageable, LastError: "e",
		Transitions: []conductor.TransitionRecord{{Event: states.EventClean, From: states.Manageable, To: states.Cleaning}},
		TargetPower: states.PowerOn, Maintenance: true, Reservation: "alpha", Claim: "a", CleanUp: &conductor.CleanUp{Ramdisk: true},
		Agent:      conductor.AgentInfo{Token: "secret"},
		CleanSteps: &conductor.Steps{Begun: 1}, DeploySteps: &conductor.Steps{Begun: 2}, DriverInfo: map[string]any{"fast_track": true},
	}
	text, err := json.Marshal(n)
	require.NoError(t, err)
	v, err := promises.Decode(text)
	require.NoError(t, err)
	v.Transitions[0].Time = n.Transitions[0].Time
	want := &promises.Version{
		UUID: "u", Name: "n", State: states.Cleaning, Target: states.Manageable, LastError: "e", Transitions: n.Transitions,
		TargetPower: states.PowerOn, Maintenance: true, Reservation: "alpha", Claim: "a", CleanUp: n.CleanUp, Agent: n.Agent,
		CleanSteps: *n.CleanSteps, DeploySteps: *n.DeploySteps,
	}
	want.DriverInfo.FastTrack = true
	require.Equal(t, want, v)
	_, err = promises.Decode([]byte("{"))
	require.Error(t, err)
}
