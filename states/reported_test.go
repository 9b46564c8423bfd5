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
		State states.Reported `json:"provision_state"`
	}
	require.NoError(t, json.Unmarshal([]byte(list), &nodes))
	require.Equal(t, states.Reported{State: states.Enroll}, nodes[0].State)
	require.Equal(t, states.Reported{State: states.UnknownState, Unknown: "levitating"}, nodes[1].State)
	require.Equal(t, states.Reported{}, nodes[2].State)
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
		reported := states.ParseReported(word)
		known, err := states.Parse(word)
		if err == nil {
			require.Equal(t, states.Reported{State: known}, reported)
		} else {
			require.Equal(t, states.Reported{State: states.UnknownState, Unknown: word}, reported)
			require.Equal(t, word, reported.String())
		}

		encoded, err := json.Marshal(reported)
		require.NoError(t, err)
		var decoded states.Reported
		require.NoError(t, json.Unmarshal(encoded, &decoded))
		require.Equal(t, reported, decoded)

		text, err := reported.MarshalText()
		require.NoError(t, err)
		require.NoError(t, decoded.UnmarshalText(text))
		require.Equal(t, reported, decoded)

		value, err := reported.Value()
		require.NoError(t, err)
		require.NoError(t, decoded.Scan(value))
		require.Equal(t, reported, decoded)
		require.NoError(t, decoded.Scan([]byte(word)))
		require.Equal(t, reported, decoded)
	})
}

func TestReportedRefusesWhatIsNoWord(t *testing.T) {
	reported := states.Reported{State: states.Active}
	for _, data := range []string{`7`, `{}`, `["enroll"]`} {
		require.ErrorIs(t, json.Unmarshal([]byte(data), &reported), states.ErrUnknown)
	}
	require.ErrorIs(t, reported.Scan(7), states.ErrUnknown)
	require.Equal(t, states.Reported{State: states.Active}, reported)
	_, err := states.Reported{State: 99}.MarshalText()
	require.ErrorIs(t, err, states.ErrUnknown)
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
	require.ErrorIs(t, err, states.ErrUnknown)
}
