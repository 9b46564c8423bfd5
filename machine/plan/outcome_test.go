// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// sdkResult is openstacksdk's result for a node while it waits for an action.
type sdkResult string

const (
	sdkDone  sdkResult = "done"
	sdkFails sdkResult = "fails"
	sdkWaits sdkResult = "waits" // until its timeout, if the node stays in the state
	sdkNone  sdkResult = "none"  // it has no state to wait for
)

// expected has the state that openstacksdk waits for.
var expected = map[string]string{
	"active": "active", "adopt": "active", "clean": "manageable", "deleted": "available", "inspect": "manageable",
	"manage": "manageable", "provide": "available", "rebuild": "active", "rescue": "rescue",
}

// resultOfSDK applies openstacksdk's rules, which compare words.
func resultOfSDK(request string, now machine.Node) sdkResult {
	want, ok := expected[request]
	state := now.State.String()
	if now.State == states.NoState {
		state = "available"
	}
	switch {
	case !ok:
		return sdkNone
	case state == want:
		return sdkDone
	case strings.HasSuffix(state, " failed") || state == "error":
		return sdkFails
	case want == "manageable" && state == "enroll" && now.LastError != "":
		return sdkFails
	default:
		return sdkWaits
	}
}

func TestOutcome(t *testing.T) {
	const broken = "no power"
	manual := func(s states.State) machine.Node { return machine.Node{State: s, Target: states.Manageable} }
	failed := func(s states.State) machine.Node { return machine.Node{State: s, LastError: broken} }
	tests := []struct {
		before  machine.Node
		request string
		now     machine.Node
		sdk     sdkResult
		want    plan.Verdict
	}{
		// openstacksdk stops waiting.
		{node(states.Enroll), "manage", node(states.Manageable), sdkDone, plan.Succeeded},
		{node(states.Enroll), "manage", failed(states.Enroll), sdkFails, plan.Failed},
		{node(states.Manageable), "inspect", node(states.Manageable), sdkDone, plan.Succeeded},
		{node(states.Manageable), "inspect", failed(states.InspectFail), sdkFails, plan.Failed},
		{node(states.Manageable), "inspect", failed(states.Enroll), sdkFails, plan.Failed},
		{node(states.Manageable), "provide", node(states.Available), sdkDone, plan.Succeeded},
		{node(states.Manageable), "provide", node(states.NoState), sdkDone, plan.Succeeded},
		{node(states.Manageable), "clean", node(states.Manageable), sdkDone, plan.Succeeded},
		{node(states.Manageable), "adopt", node(states.Active), sdkDone, plan.Succeeded},
		{node(states.Available), "active", node(states.Active), sdkDone, plan.Succeeded},
		{node(states.Available), "active", failed(states.DeployFail), sdkFails, plan.Failed},
		{node(states.Active), "rebuild", node(states.Active), sdkDone, plan.Succeeded},
		{node(states.Active), "deleted", node(states.Available), sdkDone, plan.Succeeded},
		{node(states.Active), "deleted", failed(states.Error), sdkFails, plan.Failed},
		{node(states.Active), "deleted", failed(states.CleanFail), sdkFails, plan.Failed},
		{node(states.Active), "rescue", node(states.Rescue), sdkDone, plan.Succeeded},
		{node(states.Active), "rescue", failed(states.RescueFail), sdkFails, plan.Failed},
		{node(states.Available), "active", failed(states.CleanFail), sdkFails, plan.Failed},

		// openstacksdk goes on waiting.
		{node(states.Enroll), "manage", node(states.Verifying), sdkWaits, plan.InProgress},
		{node(states.Enroll), "manage", node(states.Enroll), sdkWaits, plan.Failed},
		{node(states.Enroll), "manage", node(states.Inspecting), sdkWaits, plan.Moved},
		{node(states.Enroll), "manage", node(states.Available), sdkWaits, plan.Moved},
		{node(states.Manageable), "inspect", node(states.Enroll), sdkWaits, plan.Moved},
		{node(states.Available), "active", node(states.Enroll), sdkWaits, plan.Moved},
		{node(states.Available), "active", failed(states.Enroll), sdkWaits, plan.Moved},
		{node(states.Available), "manage", node(states.Available), sdkWaits, plan.Moved},
		{node(states.Manageable), "inspect", node(states.InspectWait), sdkWaits, plan.InProgress},
		{node(states.Manageable), "adopt", node(states.Adopting), sdkWaits, plan.InProgress},
		{node(states.Manageable), "provide", node(states.CleanHold), sdkWaits, plan.InProgress},
		{node(states.Manageable), "provide", manual(states.Cleaning), sdkWaits, plan.Moved},
		{node(states.Manageable), "provide", node(states.Deploying), sdkWaits, plan.Moved},
		{node(states.Manageable), "clean", manual(states.CleanWait), sdkWaits, plan.InProgress},
		{node(states.Manageable), "clean", node(states.CleanHold), sdkWaits, plan.InProgress},
		{node(states.Manageable), "clean", node(states.Available), sdkWaits, plan.Succeeded},
		{node(states.Available), "active", node(states.DeployHold), sdkWaits, plan.InProgress},
		{node(states.Available), "active", node(states.Deleting), sdkWaits, plan.Moved},
		{node(states.Active), "deleted", node(states.Cleaning), sdkWaits, plan.InProgress},
		{node(states.Active), "deleted", node(states.CleanWait), sdkWaits, plan.InProgress},
		{node(states.Active), "rescue", node(states.RescueWait), sdkWaits, plan.InProgress},
		{node(states.Active), "rescue", node(states.Active), sdkWaits, plan.Moved},

		// openstacksdk has no state to wait for.
		{node(states.Available), "deploy", node(states.Active), sdkNone, plan.Succeeded},
		{node(states.Active), "undeploy", node(states.Available), sdkNone, plan.Succeeded},
		{node(states.Rescue), "unrescue", node(states.Unrescuing), sdkNone, plan.InProgress},
		{node(states.Rescue), "unrescue", node(states.Active), sdkNone, plan.Succeeded},
		{node(states.Rescue), "unrescue", failed(states.UnrescueFail), sdkNone, plan.Failed},
		{node(states.Active), "service", node(states.ServiceWait), sdkNone, plan.InProgress},
		{node(states.Active), "service", node(states.ServiceHold), sdkNone, plan.InProgress},
		{node(states.Active), "service", node(states.Active), sdkNone, plan.Succeeded},
		{node(states.Active), "service", failed(states.ServiceFail), sdkNone, plan.Failed},
		{node(states.Active), "service", node(states.Rescuing), sdkNone, plan.Moved},
		{node(states.ServiceFail), "abort", node(states.Active), sdkNone, plan.Succeeded},
		{node(states.CleanWait), "abort", failed(states.CleanFail), sdkNone, plan.Succeeded},
		{node(states.CleanWait), "abort", node(states.Manageable), sdkNone, plan.Moved},
		{node(states.RescueWait), "abort", failed(states.RescueFail), sdkNone, plan.Succeeded},
		{node(states.DeployHold), "unhold", node(states.DeployWait), sdkNone, plan.InProgress},
		{node(states.DeployHold), "unhold", node(states.Active), sdkNone, plan.Succeeded},
		{manual(states.CleanHold), "unhold", node(states.Manageable), sdkNone, plan.Succeeded},
		{node(states.CleanHold), "unhold", node(states.Available), sdkNone, plan.Succeeded},
		{node(states.CleanHold), "unhold", failed(states.CleanFail), sdkNone, plan.Failed},
	}
	for _, test := range tests {
		name := test.before.State.String() + " " + test.request + " " + test.now.State.String()
		require.Equal(t, test.sdk, resultOfSDK(test.request, test.now), "openstacksdk: %s", name)
		got, err := plan.Outcome(latest, test.before, test.request, test.now)
		require.NoError(t, err, name)
		require.Equal(t, test.want, got, name)
	}
}

// TestOutcomeAgreesWithOpenstacksdkEverywhere compares the two for every request
// that the API takes and every node that may be observed afterwards.
func TestOutcomeAgreesWithOpenstacksdkEverywhere(t *testing.T) {
	verdicts := map[sdkResult]plan.Verdict{sdkDone: plan.Succeeded, sdkFails: plan.Failed}
	count := make(map[sdkResult]map[plan.Verdict]int)
	for series := range states.AllSeries() {
		table := series.Table()
		for row := range table.Transitions() {
			verb := row.Event.Verb()
			if _, err := table.Request(row.From, verb, series.MaxAPIVersion()); err != nil {
				continue
			}
			for s := range table.States().All() {
				for _, text := range []string{"", "no power"} {
					now := machine.Node{State: s, LastError: text}
					got, err := plan.Outcome(table, node(row.From), verb, now)
					require.NoError(t, err)
					theirs := resultOfSDK(verb, now)
					if want, ok := verdicts[theirs]; ok && got != want {
						t.Fatalf("%v: %v, now %+v: %v; openstacksdk %s", series, row, now, got, theirs)
					}
					if count[theirs] == nil {
						count[theirs] = make(map[plan.Verdict]int)
					}
					count[theirs][got]++
				}
			}
		}
	}
	for _, theirs := range []sdkResult{sdkDone, sdkFails, sdkWaits, sdkNone} {
		t.Logf("openstacksdk %-5s ours: %v", theirs, count[theirs])
	}
}

func TestOutcomeRefuses(t *testing.T) {
	tests := map[string]struct {
		table   *states.Table
		before  machine.Node
		request string
		now     machine.Node
		as      any
	}{
		"no table":           {nil, node(states.Enroll), "manage", node(states.Enroll), new(*machine.StateError)},
		"no verb":            {latest, node(states.Enroll), "done", node(states.Enroll), new(*states.UnknownError)},
		"not from there":     {latest, node(states.Enroll), "provide", node(states.Enroll), new(*states.RequestError)},
		"a foreign state":    {states.Kilo.Table(), node(states.Rescue), "rescue", node(states.Rescue), new(*machine.StateError)},
		"a foreign state to": {states.Kilo.Table(), node(states.Available), "active", node(states.Rescue), new(*machine.StateError)},
		"a foreign state, from an unknown one": {states.Kilo.Table(), node(states.UnknownState), "active", node(states.Rescue),
			new(*machine.StateError)},
		"the first number that is no state": {latest, node(states.Enroll), "manage", node(64), new(*machine.StateError)},
		"a bad target": {latest, node(states.Available), "active",
			machine.Node{State: states.Deploying, Target: states.Deploying}, new(*machine.StateError)},
	}
	for name, test := range tests {
		verdict, err := plan.Outcome(test.table, test.before, test.request, test.now)
		require.ErrorAs(t, err, test.as, name)
		require.Empty(t, verdict, name)
	}
}

func TestAnAbortedServiceHasSucceededInActive(t *testing.T) {
	for series, want := range map[states.Series]plan.Verdict{states.Epoxy: plan.Moved, states.Flamingo: plan.Succeeded} {
		for _, before := range []states.State{states.ServiceWait, states.ServiceHold} {
			got, err := plan.Outcome(series.Table(), node(before), "abort", node(states.Active))
			require.NoError(t, err)
			require.Equal(t, want, got, "%v: %v", series, before)
		}
	}
}
