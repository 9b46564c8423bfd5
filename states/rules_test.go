// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestVerbsOfAnEventBeginWithTheCanonicalOne(t *testing.T) {
	tests := map[states.Event][]string{
		states.EventDeploy:  {"active", "deploy"},
		states.EventDelete:  {"deleted", "undeploy"},
		states.EventRebuild: {"rebuild"},
		states.EventManage:  {"manage"},
		states.EventDone:    nil,
		states.NoEvent:      nil,
		states.Event(200):   nil,
	}
	for event, want := range tests {
		require.Equal(t, want, states.WordsOf(event), event)
	}
	for event := range states.AllEvents() {
		verbs := states.WordsOf(event)
		require.Equal(t, len(verbs) > 0, event.Verb() != "", event)
		for i, word := range verbs {
			got, err := states.ParseVerb(word)
			require.NoError(t, err)
			require.Equal(t, event, got)
			require.Equal(t, i == 0, word == event.Verb(), word)
		}
	}
}

func TestRequestsOfASeriesAtAVersion(t *testing.T) {
	tests := []struct {
		series states.Series
		from   states.State
		v      states.APIVersion
		want   []string
	}{
		{states.Antelope, states.Enroll, 82, []string{"manage"}},
		{states.Antelope, states.Enroll, 3, nil},
		{states.Antelope, states.Enroll, states.NoAPIVersion, nil},
		{states.Antelope, states.Active, 82, []string{"rebuild", "deleted", "undeploy", "rescue"}},
		{states.Antelope, states.Active, states.NoAPIVersion, []string{"rebuild", "deleted", "undeploy"}},
		{states.Antelope, states.Available, 82, []string{"manage", "active", "deploy"}},
		{states.Wallaby, states.Available, 72, []string{"manage", "active"}},
		{states.Antelope, states.Cleaning, 82, []string{"manage"}},
		{states.Antelope, states.Deleting, 82, []string{"clean"}},
		{states.Antelope, states.Available, 83, nil},
		{states.NoSeries, states.Available, 1, nil},
	}
	for _, test := range tests {
		var got []string
		for word := range test.series.Table().Requests(test.from, test.v) {
			got = append(got, word)
		}
		require.Equal(t, test.want, got, "%v: %v at %v", test.series, test.from, test.v)
	}
	for range states.Latest().Table().Requests(states.Active, 115) {
		break // the iterator must stop
	}
}

func TestRequires(t *testing.T) {
	fields := map[states.Event]string{
		states.EventClean: "clean_steps", states.EventService: "service_steps", states.EventRescue: "rescue_password",
	}
	for event := range states.AllEvents() {
		require.Equal(t, fields[event], event.Requires(), event)
	}
}

func TestCanUpdate(t *testing.T) {
	tests := []struct {
		state, target states.State
		v             states.APIVersion
		want          bool
	}{
		{states.Available, states.NoState, 82, true},
		{states.Active, states.NoState, 82, true},
		{states.Deploying, states.Active, 82, false},
		{states.DeployWait, states.Active, 82, false},
		{states.DeployFail, states.Active, 82, true},
		{states.Verifying, states.Manageable, 82, true},
		{states.InspectWait, states.Manageable, 82, true},
		{states.Inspecting, states.Manageable, 38, true},
		{states.Inspecting, states.Manageable, states.NoAPIVersion, true},
		{states.Inspecting, states.Manageable, 39, false},
		{states.Inspecting, states.NoState, 39, false},
		{states.Error, states.Available, 82, true},
	}
	for _, test := range tests {
		got := states.Antelope.Table().CanUpdate(test.state, test.target, test.v)
		require.Equal(t, test.want, got, "%v to %v at %v", test.state, test.target, test.v)
	}
}

func TestCanSchedule(t *testing.T) {
	powers := map[states.Power]bool{
		states.PowerOn: true, states.PowerOff: true, states.PowerRebooting: true,
		states.NoPower: false, states.PowerError: false,
	}
	for power, known := range powers {
		require.Equal(t, known, states.CanSchedule(states.Available, power, false, ""), power)
		require.Equal(t, known, states.CanSchedule(states.NoState, power, false, ""), power)
		require.False(t, states.CanSchedule(states.Available, power, true, ""), power)
		require.False(t, states.CanSchedule(states.Available, power, false, "5b0e9d1c"), power)
		require.False(t, states.CanSchedule(states.Manageable, power, false, ""), power)
		require.False(t, states.CanSchedule(states.UnknownState, power, false, ""), power)
	}
}

func TestVersionsBelongToSeries(t *testing.T) {
	tests := []struct {
		v     states.APIVersion
		want  states.Series
		known bool
	}{
		{states.NoAPIVersion, states.Kilo, true},
		{1, states.Kilo, true},
		{6, states.Kilo, true},
		{7, states.Liberty, true},
		{78, states.Xena, true},
		{81, states.Antelope, true},
		{82, states.Antelope, true},
		{115, states.Hibiscus, true},
		{116, states.Hibiscus, false},
		{65535, states.Hibiscus, false},
	}
	for _, test := range tests {
		got, known := test.v.Series()
		require.Equal(t, test.want, got, test.v)
		require.Equal(t, test.known, known, test.v)
	}
	require.Equal(t, states.NoAPIVersion, (states.Latest() + 1).MaxAPIVersion())
}
