// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// The oracle is a second implementation of the API's rules: a table per rule, over
// words and the rows of testdata/series.json.

// wordMinimums are the minimum API versions that the API checks before it looks up
// the node.
var wordMinimums = map[string]struct {
	minimum int
	since   states.Series
}{
	"manage":   {4, states.Kilo},
	"provide":  {4, states.Kilo},
	"inspect":  {6, states.Kilo},
	"abort":    {13, states.Liberty},
	"clean":    {15, states.Mitaka},
	"adopt":    {17, states.Newton},
	"rescue":   {38, states.Queens},
	"unrescue": {38, states.Queens},
	"deploy":   {73, states.Xena},
	"delete":   {73, states.Xena},
}

// lateMinimums are the minimum API versions that the API checks after it has found
// the transition. An empty state stands for any.
var lateMinimums = []struct {
	event, state string
	minimum      int
	since        states.Series
}{
	{"abort", "inspect wait", 41, states.Rocky},
	{"abort", "wait call-back", 110, states.Gazpacho},
	{"unhold", "", 85, states.Bobcat},
	{"service", "", 87, states.Bobcat},
}

// actions are the words for which the API has an action.
var actions = map[string]struct {
	event string
	since states.Series
}{
	"active":   {"deploy", states.Kilo},
	"rebuild":  {"rebuild", states.Kilo},
	"deleted":  {"delete", states.Kilo},
	"inspect":  {"inspect", states.Kilo},
	"manage":   {"manage", states.Kilo},
	"provide":  {"provide", states.Kilo},
	"abort":    {"abort", states.Liberty},
	"clean":    {"clean", states.Mitaka},
	"adopt":    {"adopt", states.Newton},
	"rescue":   {"rescue", states.Queens},
	"unrescue": {"unrescue", states.Queens},
	"deploy":   {"deploy", states.Xena},
	"undeploy": {"delete", states.Xena},
	"unhold":   {"unhold", states.Bobcat},
	"service":  {"service", states.Bobcat},
}

// An oracle predicts the API's answers for one series.
type oracle struct {
	series  states.Series
	maximum int
	rows    map[[2]string]bool // by state and event
	events  map[string]bool
}

func newOracle(t *testing.T, series states.Series, facts facts) oracle {
	maximum, err := states.ParseAPIVersion(facts.APIMax)
	require.NoError(t, err)
	o := oracle{series: series, maximum: int(maximum), rows: make(map[[2]string]bool), events: make(map[string]bool)}
	for _, row := range facts.Transitions {
		o.events[row[1]] = true
		o.rows[[2]string{row[0], row[1]}] = true
	}
	return o
}

// A ruling holds everything that decides on a word in a state, except the version.
type ruling struct {
	event       string
	early, late int
	row, isVerb bool
	isEvent     bool // of any state of the series
	newest      int
}

func (o oracle) rule(state, word string) ruling {
	r := ruling{event: word, newest: o.maximum}
	if m, ok := wordMinimums[word]; ok && m.since <= o.series {
		r.early = m.minimum
	}
	if action, ok := actions[word]; ok && action.since <= o.series {
		r.event, r.isVerb = action.event, true
	}
	r.row, r.isEvent = o.rows[[2]string{state, r.event}], o.events[r.event]
	for _, late := range lateMinimums {
		if late.event == r.event && (late.state == "" || late.state == state) && late.since <= o.series {
			r.late = late.minimum
		}
	}
	return r
}

// status returns the HTTP status at version 1.n, and the sentinel error of a refusal.
// Version 0 means no version, which counts as 1.1.
func (r ruling) status(n int) (int, error) {
	n = max(n, 1)
	switch {
	case n > r.newest, n < r.early:
		return http.StatusNotAcceptable, states.ErrNotAcceptable
	case !r.row && !r.isVerb && !r.isEvent:
		return http.StatusBadRequest, states.ErrUnknownTarget
	case !r.row:
		return http.StatusBadRequest, states.ErrNotAllowed
	case n < r.late:
		return http.StatusNotAcceptable, states.ErrNotAcceptable
	case !r.isVerb:
		return http.StatusBadRequest, states.ErrNotUnderstood
	default:
		return http.StatusAccepted, nil
	}
}

// requestWords returns the words that a client might send, and some that none would.
func requestWords() []string {
	words := []string{
		"", "none", "null", "nonsense", "activ", "actives", " active", "active ", "act\x00ive", "\xff",
		strings.Repeat("x", 1<<16), "power on", "kilo",
	}
	for word := range actions {
		words = append(words, word, strings.ToUpper(word))
	}
	for event := range states.AllEvents() {
		words = append(words, event.String())
	}
	for s := range states.AllStates() {
		words = append(words, s.String())
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// TestRequestAnswersAsTheAPI compares every series, state, word and version.
func TestRequestAnswersAsTheAPI(t *testing.T) {
	upstream := readFacts(t)
	words := requestWords()
	from := append(slices.Collect(states.AllStates()), states.NoState, states.State(63), states.State(200))
	for series := range states.AllSeries() {
		t.Run(series.String(), func(t *testing.T) {
			t.Parallel()
			o := newOracle(t, series, upstream[series.String()])
			for _, state := range from {
				o.compare(t, state, words)
			}
		})
	}
}

func (o oracle) compare(t *testing.T, state states.State, words []string) {
	table := o.series.Table()
	accepted := make([][]string, o.maximum+3)
	refusals := make([][]*states.RequestError, o.maximum+3)
	for _, word := range words {
		ruling := o.rule(state.String(), word)
		for n := range accepted {
			event, err := table.Request(state, word, states.APIVersion(n))
			status, sentinel := ruling.status(n)
			if status == http.StatusAccepted {
				accepted[n] = append(accepted[n], word)
				if err != nil || event.String() != ruling.event {
					t.Fatalf("%v: %q at 1.%d: got %v, error %v; want %s", state, word, n, event, err, ruling.event)
				}
				continue
			}
			refusal, ok := err.(*states.RequestError)
			if !ok || event != states.NoEvent || refusal.HTTPStatus() != status || !errors.Is(err, sentinel) {
				t.Fatalf("%v: %q at 1.%d: got %v, error %v; want %v", state, word, n, event, err, sentinel)
			}
			refusals[n] = append(refusals[n], refusal)
		}
	}
	for n := range accepted {
		o.compareRefusals(t, refusals[n], accepted[n])
		ranged := slices.Collect(table.Requests(state, states.APIVersion(n)))
		if !slices.Equal(slices.Sorted(slices.Values(ranged)), accepted[n]) {
			t.Fatalf("%v at 1.%d: ranges over %q, but accepted were %q", state, n, ranged, accepted[n])
		}
	}
}

// compareRefusals compares the fields of the refusals at one version with the words
// that were accepted at that version.
func (o oracle) compareRefusals(t *testing.T, refusals []*states.RequestError, accepted []string) {
	for _, refusal := range refusals {
		allowed := slices.Sorted(slices.Values(refusal.Allowed))
		if !slices.Equal(allowed, accepted) {
			t.Fatalf("%v: allows %q, but accepted were %q", refusal, allowed, accepted)
		}
		if refusal.Series != o.series || int(refusal.Maximum) != o.maximum {
			t.Fatalf("%v: series %v, maximum %v", refusal, refusal.Series, refusal.Maximum)
		}
		if !errors.Is(refusal, states.ErrNotAcceptable) {
			continue
		}
		within := refusal.Minimum <= refusal.Version && refusal.Version <= refusal.Maximum
		if within || refusal.Minimum < 1 || refusal.Minimum > refusal.Maximum {
			t.Fatalf("%v: acceptable are %v to %v", refusal, refusal.Minimum, refusal.Maximum)
		}
	}
}

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
		{"events of the conductor are no actions", states.Hibiscus, states.Deploying, "done", 113, 400, 0},
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
	const known = "manage, provide, active, deploy, rebuild, deleted, undeploy, inspect, adopt, clean, rescue, unrescue, service, abort, unhold"
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
			`request "adopt" in state "manageable" with API version 1.16: API version not acceptable; acceptable: 1.17 to 1.113`},
		{"version too new", states.Kilo.Table(), states.Available, "active", 7,
			`request "active" in state "available" with API version 1.7: API version not acceptable; acceptable: 1.1 to 1.6`},
		{"not from here", latest, states.Rescue, "active", 81,
			`request "active" in state "rescue" with API version 1.81: not allowed in the node's state; ` +
				`allowed: deleted, undeploy, rescue, unrescue`},
		{"nothing from here", latest, states.Verifying, "manage", 81,
			`request "manage" in state "verifying" with API version 1.81: not allowed in the node's state; allowed: nothing`},
		{"no action", latest, states.Available, "delete", 1,
			`request "delete" in state "available" with API version 1.1: API version not acceptable; acceptable: 1.73 to 1.113`},
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
		113:                 {states.Enroll, states.Available, states.InspectWait},
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
		{"new client, new server", 11, 113, states.Enroll, false},
		{"newest both", 113, 113, states.Enroll, false},
		{"new client, a server that just knows enroll", 113, 11, states.Enroll, false},
		{"new client, old server", 11, 10, states.Available, true},
		{"new client, oldest server", 113, 1, states.NoState, true},
		{"old client, new server", 10, 113, states.Available, false},
		{"oldest client, new server", 1, 113, states.NoState, false},
		{"old client, old server", 6, 6, states.Available, false},
		{"no version", states.NoAPIVersion, 113, states.NoState, false},
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
