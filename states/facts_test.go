// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// facts is the entry of a series in testdata/series.json, read from upstream's source.
// A null word stands for Python's None.
type facts struct {
	Tag    string
	APIMax string `json:"api_max"`
	States map[string]struct {
		Stable bool
		Target *string
	}
	Transitions [][3]string
	Verbs       map[string]string
	Sets        map[string][]*string
}

// readFacts returns the facts of every series, by its name.
func readFacts(t testing.TB) map[string]facts {
	t.Helper()
	file, err := os.Open("testdata/series.json")
	require.NoError(t, err)
	defer file.Close()

	var all struct {
		Source string
		Series map[string]facts
	}
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&all))
	return all.Series
}

// wordOf returns the text of the State that stands for a word of the facts.
func wordOf(word *string) string {
	if word == nil {
		return states.NoState.String()
	}
	return *word
}

func stateWords(set states.Set) []string {
	var words []string
	for s := range set.All() {
		words = append(words, s.String())
	}
	return words
}

// sets holds the method for each of upstream's sets. ALL_STATES is not among them: it
// is a list of words that belongs to no table.
var sets = map[string]func(*states.Table) states.Set{
	"STABLE_STATES":                   (*states.Table).Stable,
	"UNSTABLE_STATES":                 (*states.Table).Unstable,
	"FAILURE_STATES":                  (*states.Table).Failed,
	"STUCK_STATES_TREATED_AS_FAIL":    (*states.Table).Stuck,
	"UPDATE_ALLOWED_STATES":           (*states.Table).UpdateAllowed,
	"DELETE_ALLOWED_STATES":           (*states.Table).DeleteAllowed,
	"LOOKUP_ALLOWED_STATES":           (*states.Table).LookupAllowed,
	"FASTTRACK_LOOKUP_ALLOWED_STATES": (*states.Table).FastTrackLookupAllowed,
	"INSPECTION_STATES":               (*states.Table).Inspection,
	"SERVICING_STATES":                (*states.Table).Servicing,
}

// notStates are the words that upstream lists among states by mistake.
var notStates = map[string][]string{
	"UPDATE_ALLOWED_STATES": {"service"},
}

func TestTablesEqualUpstreams(t *testing.T) {
	upstream := readFacts(t)

	var names, ours []string
	for name := range upstream {
		names = append(names, name)
	}
	for s := range states.AllSeries() {
		ours = append(ours, s.String())
	}
	require.ElementsMatch(t, names, ours, "the series")
	require.Len(t, ours, 24)

	for s := range states.AllSeries() {
		t.Run(s.String(), func(t *testing.T) {
			want, table := upstream[s.String()], s.Table()
			require.Equal(t, s, table.Series())
			require.Equal(t, want.APIMax, s.MaxAPIVersion().String())
			requireStates(t, want, table)
			requireTransitions(t, want, table)
			requireVerbs(t, want, table)
			requireSets(t, want, table)
		})
	}
}

func requireStates(t *testing.T, want facts, table *states.Table) {
	t.Helper()
	var words []string
	for word, state := range want.States {
		words = append(words, word)
		s, err := states.Parse(word)
		require.NoError(t, err)
		require.Equal(t, wordOf(state.Target), table.Target(s).String(), "target of %v", s)
		require.Equal(t, state.Stable, table.Stable().Has(s), "stable flag of %v", s)
	}
	require.ElementsMatch(t, words, stateWords(table.States()))
	require.Zero(t, table.Stable().Minus(table.States()), "stable and not a state")
}

func requireTransitions(t *testing.T, want facts, table *states.Table) {
	t.Helper()
	var ranged, lookedUp [][3]string
	for row := range table.Transitions() {
		ranged = append(ranged, [3]string{row.From.String(), row.Event.String(), row.To.String()})
	}
	for from := range states.AllStates() {
		for event := range states.AllEvents() {
			if to, ok := table.Next(from, event); ok {
				lookedUp = append(lookedUp, [3]string{from.String(), event.String(), to.String()})
			}
		}
	}
	require.ElementsMatch(t, want.Transitions, ranged, "Transitions")
	require.ElementsMatch(t, want.Transitions, lookedUp, "Next")
}

func requireVerbs(t *testing.T, want facts, table *states.Table) {
	t.Helper()
	verbs := make(map[string]string)
	for word, event := range states.VerbsOf(table) {
		verbs[word] = event.String()
	}
	require.Equal(t, want.Verbs, verbs)
}

func requireSets(t *testing.T, want facts, table *states.Table) {
	t.Helper()
	for name, members := range want.Sets {
		var words []string
		for _, member := range members {
			if word := wordOf(member); !slices.Contains(notStates[name], word) {
				words = append(words, word)
			}
		}
		if name == "ALL_STATES" {
			for _, word := range words {
				_, err := states.Parse(word)
				require.NoError(t, err, name)
			}
			continue
		}
		set := sets[name]
		require.NotNil(t, set, "upstream's set %s has no method", name)
		require.ElementsMatch(t, words, stateWords(set(table)), name)
	}
}

func TestEveryUpstreamSetIsInTheFacts(t *testing.T) {
	latest := readFacts(t)[states.Latest().String()]
	for name := range sets {
		require.Contains(t, latest.Sets, name)
	}
}

// For a series whose source lacks a set, the result follows the rule in the method's
// comment.
func TestSetsBeforeUpstreamHadThem(t *testing.T) {
	tests := []struct {
		name   string
		set    func(*states.Table) states.Set
		series states.Series
		want   []states.State
	}{
		{"stable in Kilo", (*states.Table).Stable, states.Kilo,
			[]states.State{states.Manageable, states.Available, states.Active, states.Error}},
		{"unstable in Kilo", (*states.Table).Unstable, states.Kilo,
			[]states.State{states.DeployWait, states.Deploying, states.Deleting, states.Cleaning, states.Inspecting}},
		{"failed in Kilo", (*states.Table).Failed, states.Kilo,
			[]states.State{states.DeployFail, states.CleanFail, states.InspectFail}},
		{"failed in Xena", (*states.Table).Failed, states.Xena,
			[]states.State{states.DeployFail, states.CleanFail, states.InspectFail, states.AdoptFail,
				states.RescueFail, states.UnrescueFail}},
		{"stuck in Kilo", (*states.Table).Stuck, states.Kilo,
			[]states.State{states.Deploying, states.Cleaning, states.Inspecting}},
		{"deletable in Kilo", (*states.Table).DeleteAllowed, states.Kilo,
			[]states.State{states.NoState, states.Manageable, states.Available}},
		{"lookup in Kilo", (*states.Table).LookupAllowed, states.Kilo,
			[]states.State{states.DeployWait, states.Deploying, states.Cleaning, states.Inspecting}},
		{"fast track lookup in Kilo", (*states.Table).FastTrackLookupAllowed, states.Kilo,
			[]states.State{states.Manageable, states.Available, states.DeployWait, states.Deploying,
				states.Cleaning, states.Inspecting}},
		{"inspection in Queens", (*states.Table).Inspection, states.Queens,
			[]states.State{states.Inspecting, states.InspectFail}},
		{"inspection in 2025.2", (*states.Table).Inspection, states.Flamingo,
			[]states.State{states.Inspecting, states.InspectFail, states.InspectWait}},
		{"servicing in 2023.1", (*states.Table).Servicing, states.Antelope, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, states.SetOf(test.want...).String(), test.set(test.series.Table()).String())
		})
	}
}

func TestSetsWithoutAnUpstreamName(t *testing.T) {
	for s := range states.AllSeries() {
		table := s.Table()
		for state := range table.States().All() {
			word := state.String()
			waits := word == "wait call-back" || strings.HasSuffix(word, " wait")
			require.Equal(t, waits, table.Waiting().Has(state), "%v: waiting %v", s, state)
			require.Equal(t, strings.HasSuffix(word, " hold"), table.Hold().Has(state), "%v: held %v", s, state)
			require.Equal(t, strings.HasSuffix(word, " failed"), table.Failed().Has(state), "%v: failed %v", s, state)
		}
		for name, set := range sets {
			allowed := table.States().Union(states.SetOf(states.NoState))
			require.Zero(t, set(table).Minus(allowed), "%v: %s has a state that the series lacks", s, name)
		}
	}
}
