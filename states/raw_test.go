// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/states"
)

func TestAListKeepsANodeInAnUnknownState(t *testing.T) {
	const list = `[{"provision_state":"enroll"},{"provision_state":"levitating"},{"provision_state":null}]`
	var nodes []struct {
		State states.RawState `json:"provision_state"`
	}
	require.NoError(t, json.Unmarshal([]byte(list), &nodes))
	used := states.RawState{State: states.UnknownState, Unknown: "levitating"}
	require.NoError(t, json.Unmarshal([]byte("null"), &used))
	require.Zero(t, used)
	require.Equal(t, states.RawState{State: states.Enroll}, nodes[0].State)
	require.Equal(t, states.RawState{State: states.UnknownState, Unknown: "levitating"}, nodes[1].State)
	require.Equal(t, states.RawState{}, nodes[2].State)
	back, err := json.Marshal(nodes)
	require.NoError(t, err)
	require.Equal(t, list, string(back))
}

func TestReportedWordsSurviveAnyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom([]string{"", "none", "enroll", "service hold", "State(255)", "null"}),
		).Draw(t, "word")
		reported := states.ParseRaw(word)
		known, err := states.Parse(word)
		if err == nil {
			require.Equal(t, states.RawState{State: known}, reported)
		} else {
			require.Equal(t, states.RawState{State: states.UnknownState, Unknown: word}, reported)
			require.Equal(t, word, reported.String())
		}

		encoded, err := json.Marshal(reported)
		require.NoError(t, err)
		var decoded states.RawState
		require.NoError(t, json.Unmarshal(encoded, &decoded))
		require.Equal(t, reported, decoded)
	})
}

func TestReportedRefusesWhatIsNoWord(t *testing.T) {
	reported := states.RawState{State: states.Active}
	for _, data := range []string{`7`, `{}`, `["enroll"]`} {
		require.ErrorAs(t, json.Unmarshal([]byte(data), &reported), new(*states.UnknownError))
	}
	require.Equal(t, states.RawState{State: states.Active}, reported)
	_, err := json.Marshal(states.RawState{State: 99})
	require.ErrorAs(t, err, new(*states.UnknownError))
}

func TestTheUnknownStateIsInNoTable(t *testing.T) {
	eachTable(t, func(t *testing.T, table *states.Table) {
		require.False(t, table.States().Has(states.UnknownState))
		for event := range states.AllEvents() {
			_, ok := table.Next(states.UnknownState, event)
			require.False(t, ok)
		}
	})
	_, err := states.UnknownState.MarshalText()
	require.ErrorAs(t, err, new(*states.UnknownError))
}
