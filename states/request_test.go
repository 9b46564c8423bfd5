// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestRequestOddities(t *testing.T) {
	tests := []struct {
		name   string
		series states.Series
		from   states.State
		word   string
		v      states.APIVersion
		status int
		event  states.Event
	}{
		{"undeploy has no minimum version", states.Xena, states.Active, "undeploy", 1, 202, states.EventDelete},
		{"deploy has one", states.Xena, states.Available, "deploy", 72, 406, 0},
		{"deploy from it on", states.Xena, states.Available, "deploy", 73, 202, states.EventDeploy},
		{"deploy is no verb before Xena", states.Wallaby, states.Available, "deploy", 72, 400, 0},
		{"active has none", states.Hibiscus, states.Available, "active", 1, 202, states.EventDeploy},
		{"deleted has none", states.Hibiscus, states.Active, "deleted", 1, 202, states.EventDelete},
		{"rebuild has none and is no verb", states.Kilo, states.Error, "rebuild", 1, 202, states.EventRebuild},
		{"clean is accepted in deleting", states.Hibiscus, states.Deleting, "clean", 15, 202, states.EventClean},
		{"clean is the conductor's in Kilo", states.Kilo, states.CleanFail, "clean", 6, 400, 0},
		{"manage is accepted in cleaning", states.Hibiscus, states.Cleaning, "manage", 4, 202, states.EventManage},
		{"delete asks for a version", states.Xena, states.Active, "delete", 72, 406, 0},
		{"and is refused with it", states.Xena, states.Active, "delete", 73, 400, 0},
		{"delete asks for none before Xena", states.Wallaby, states.Active, "delete", 1, 400, 0},
		{"delete asks in any state", states.Xena, states.Enroll, "delete", 72, 406, 0},
		{"abort in inspect wait is new", states.Hibiscus, states.InspectWait, "abort", 40, 406, 0},
		{"abort in inspect wait", states.Hibiscus, states.InspectWait, "abort", 41, 202, states.EventAbort},
		{"abort in wait call-back is newer", states.Gazpacho, states.DeployWait, "abort", 109, 406, 0},
		{"abort in wait call-back", states.Gazpacho, states.DeployWait, "abort", 110, 202, states.EventAbort},
		{"no abort in wait call-back before", states.Flamingo, states.DeployWait, "abort", 101, 400, 0},
		{"the version is asked for first", states.Hibiscus, states.Active, "abort", 12, 406, 0},
		{"the state is looked at before unhold's", states.Hibiscus, states.Active, "unhold", 1, 400, 0},
		{"unhold is new", states.Bobcat, states.CleanHold, "unhold", 84, 406, 0},
		{"unhold", states.Bobcat, states.CleanHold, "unhold", 85, 202, states.EventUnhold},
		{"service is newer", states.Bobcat, states.Active, "service", 86, 406, 0},
		{"service", states.Bobcat, states.Active, "service", 87, 202, states.EventService},
		{"events of the conductor are no actions", states.Hibiscus, states.Deploying, "done", 115, 400, 0},
		{"error neither", states.Rocky, states.Deleting, "error", 46, 400, 0},
		{"a version above the newest", states.Kilo, states.Available, "active", 7, 406, 0},
		{"no version is 1.1, which has active", states.Hibiscus, states.Available, "active", states.NoAPIVersion, 202, states.EventDeploy},
		{"no version is 1.1, which lacks manage", states.Hibiscus, states.Enroll, "manage", states.NoAPIVersion, 406, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			event, err := test.series.Table().Request(test.from, test.word, test.v)
			require.Equal(t, test.event, event)
			if test.status == http.StatusAccepted {
				require.NoError(t, err)
				return
			}
			var refusal *states.RequestError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, test.status, refusal.HTTPStatus(), err)
			require.Equal(t, test.from, refusal.From)
			require.Equal(t, test.word, refusal.Target)
			require.Equal(t, max(test.v, 1), refusal.Version)
		})
	}
}

func TestRequestErrorListsAcceptableRequests(t *testing.T) {
	const known = "manage, provide, active, deploy, rebuild, deleted, undeploy, inspect, adopt, clean, rescue, unrescue, " +
		"service, abort, unhold"
	latest := states.Latest().Table()
	tests := []struct {
		name  string
		table *states.Table
		from  states.State
		word  string
		v     states.APIVersion
		want  string
	}{
		{"version too old", latest, states.Manageable, "adopt", 16,
			`request "adopt" in state "manageable" with API version 1.16: API version not acceptable; acceptable: 1.17 to 1.115`},
		{"version too new", states.Kilo.Table(), states.Available, "active", 7,
			`request "active" in state "available" with API version 1.7: API version not acceptable; acceptable: 1.1 to 1.6`},
		{"not from here", latest, states.Rescue, "active", 81,
			`request "active" in state "rescue" with API version 1.81: not allowed in the node's state; ` +
				`allowed: deleted, undeploy, rescue, unrescue`},
		{"nothing from here", latest, states.Verifying, "manage", 81,
			`request "manage" in state "verifying" with API version 1.81: not allowed in the node's state; allowed: nothing`},
		{"no action", latest, states.Available, "delete", 1,
			`request "delete" in state "available" with API version 1.1: API version not acceptable; acceptable: 1.73 to 1.115`},
		{"the conductor's", states.Kilo.Table(), states.DeployFail, "delete", 6,
			`request "delete" in state "deploy failed" with API version 1.6: not an action of the API; ` +
				`allowed: active, rebuild, deleted`},
		{"a state that there is not", latest, states.State(200), "active", 81,
			`request "active" in state "State(200)" with API version 1.81: not allowed in the node's state; allowed: nothing`},
		{"no word", latest, states.Verifying, "", 81,
			`request "" in state "verifying" with API version 1.81: unknown target; known: ` + known},
		{"a mistyped word", latest, states.Manageable, "provid", 81,
			`request "provid" in state "manageable" with API version 1.81: unknown target; did you mean "provide"?`},
		{"a mistyped word that no state allows", latest, states.Enroll, "Rescu", 81,
			`request "Rescu" in state "enroll" with API version 1.81: unknown target; did you mean "rescue"?`},
		{"a word as near to two, of which the state allows one", latest, states.Active, "ndeploy", 81,
			`request "ndeploy" in state "active" with API version 1.81: unknown target; did you mean "undeploy"?`},
		{"a word as near to two, of which the state allows the other", latest, states.Available, "ndeploy", 81,
			`request "ndeploy" in state "available" with API version 1.81: unknown target; did you mean "deploy"?`},
		{"a word that is new in the series", states.Bobcat.Table(), states.Available, "unhol", 81,
			`request "unhol" in state "available" with API version 1.81: unknown target; did you mean "unhold"?`},
		{"two letters too many", latest, states.Verifying, "xxclean", 81,
			`request "xxclean" in state "verifying" with API version 1.81: unknown target; did you mean "clean"?`},
		{"three letters too many", latest, states.Verifying, "xxxclean", 81,
			`request "xxxclean" in state "verifying" with API version 1.81: unknown target; known: ` + known},
		{"the name of a state", latest, states.Manageable, "available", 81,
			`request "available" in state "manageable" with API version 1.81: unknown target; known: ` + known},
		{"a word of later series", states.Antelope.Table(), states.CleanHold, "unhold", 81,
			`request "unhold" in state "clean hold" with API version 1.81: unknown target; known since series 2023.2, and this is 2023.1`},
		{"no state", latest, states.NoState, "active", 81,
			`request "active" in state "none" with API version 1.81: not allowed in the node's state; allowed: nothing`},
		{"no series", nil, states.Available, "active", 81,
			`request "active" in state "available" with API version 1.81: API version not acceptable; acceptable: nothing`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.table.Request(test.from, test.word, test.v)
			require.EqualError(t, err, test.want)
		})
	}

	_, err := latest.Request(states.Available, strings.Repeat("x", 1<<16), 81)
	require.Less(t, len(err.Error()), 300)
}

func TestNodesAreCreatedAndShownByVersion(t *testing.T) {
	upstream := map[states.APIVersion]struct{ initial, available, inspectWait states.State }{
		states.NoAPIVersion: {states.Available, states.NoState, states.Inspecting},
		1:                   {states.Available, states.NoState, states.Inspecting},
		2:                   {states.Available, states.Available, states.Inspecting},
		10:                  {states.Available, states.Available, states.Inspecting},
		11:                  {states.Enroll, states.Available, states.Inspecting},
		38:                  {states.Enroll, states.Available, states.Inspecting},
		39:                  {states.Enroll, states.Available, states.InspectWait},
		115:                 {states.Enroll, states.Available, states.InspectWait},
	}
	for v, want := range upstream {
		require.Equal(t, want.initial, v.InitialState(), v)
		require.Equal(t, want.available, v.Show(states.Available), v)
		require.Equal(t, want.inspectWait, v.Show(states.InspectWait), v)
		for s := range states.AllStates() {
			if s != states.Available && s != states.InspectWait {
				require.Equal(t, s, v.Show(s), v)
			}
		}
		require.Equal(t, states.NoState, v.Show(states.NoState), v)
		require.Equal(t, states.State(200), v.Show(states.State(200)), v)
	}
}

func TestCreatedPairings(t *testing.T) {
	tests := []struct {
		name           string
		client, server states.APIVersion
		shown          states.State
		warns          bool
	}{
		{"new client, new server", 11, 115, states.Enroll, false},
		{"newest both", 115, 115, states.Enroll, false},
		{"new client, a server that just knows enroll", 115, 11, states.Enroll, false},
		{"new client, old server", 11, 10, states.Available, true},
		{"new client, oldest server", 115, 1, states.NoState, true},
		{"old client, new server", 10, 115, states.Available, false},
		{"oldest client, new server", 1, 115, states.NoState, false},
		{"old client, old server", 6, 6, states.Available, false},
		{"no version", states.NoAPIVersion, 115, states.NoState, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shown, warning := states.Created(test.client, test.server)
			require.Equal(t, test.shown, shown)
			if !test.warns {
				require.Empty(t, warning)
				return
			}
			require.Contains(t, warning, test.server.String())
			require.Contains(t, warning, "1.11")
		})
	}
}

func TestOldestAPIIsTheFirstVersionThatAcceptsARequest(t *testing.T) {
	words := []string{"deploy", "undeploy", "fail", "bogus"}
	for event := range states.AllEvents() {
		words = append(words, event.Verb())
	}
	for series := range states.AllSeries() {
		table := series.Table()
		for from := range states.AllStates() {
			for _, verb := range words {
				oldest := table.OldestAPI(from, verb)
				for v := states.APIVersion(1); v <= series.MaxAPIVersion(); v++ {
					_, err := table.Request(from, verb, v)
					require.Equal(t, oldest != states.NoAPIVersion && v >= oldest, err == nil, "%q in %v by %v of %v", verb, from, v, series)
				}
			}
		}
	}
}
