// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// words returns the texts of a vocabulary's values.
func words[T fmt.Stringer](all iter.Seq[T]) []string {
	var words []string
	for value := range all {
		words = append(words, value.String())
	}
	return words
}

func TestWordsAreIronics(t *testing.T) {
	tests := []struct {
		name string
		got  []string
		want []string
	}{
		{"states", words(states.AllStates()), []string{
			"enroll", "verifying", "manageable", "available", "active", "wait call-back", "deploying",
			"deploy failed", "deploy complete", "deploy hold", "deleting", "deleted", "cleaning", "clean wait",
			"clean failed", "clean hold", "error", "rebuild", "inspecting", "inspect failed", "inspect wait",
			"adopting", "adopt failed", "rescue", "rescue failed", "rescue wait", "rescuing", "unrescue failed",
			"unrescuing", "servicing", "service wait", "service failed", "service hold",
		}},
		{"events", words(states.AllEvents()), []string{
			"manage", "provide", "deploy", "rebuild", "delete", "inspect", "adopt", "clean", "rescue", "unrescue",
			"service", "abort", "unhold", "done", "fail", "wait", "resume", "hold", "error",
		}},
		{"power states", words(states.AllPowers()), []string{
			"power on", "power off", "rebooting", "soft rebooting", "soft power off", "error",
		}},
		{"allocation states", words(states.AllAllocations()), []string{"allocating", "active", "error"}},
		{"series", words(states.AllSeries()), []string{
			"kilo", "liberty", "mitaka", "newton", "ocata", "pike", "queens", "rocky", "stein", "train", "ussuri",
			"victoria", "wallaby", "xena", "yoga", "zed", "2023.1", "2023.2", "2024.1", "2024.2", "2025.1",
			"2025.2", "2026.1", "2026.2",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, test.got)
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(test.got))), len(test.got), "a word twice")
		})
	}
}

func TestEveryWordOfAnySeriesParses(t *testing.T) {
	for series, facts := range readFacts(t) {
		for word := range facts.States {
			_, err := states.Parse(word)
			require.NoError(t, err, series)
		}
		for _, row := range facts.Transitions {
			_, err := states.ParseEvent(row[1])
			require.NoError(t, err, series)
		}
		for word, event := range facts.Verbs {
			got, err := states.ParseVerb(word)
			require.NoError(t, err, series)
			require.Equal(t, event, got.String())
		}
	}
}

func TestNovaDriversWordsParse(t *testing.T) {
	for _, word := range []string{
		"none", "manageable", "available", "active", "wait call-back", "deploying", "deploy failed",
		"deploy complete", "deleting", "deleted", "cleaning", "clean wait", "clean failed", "error", "rebuild",
		"inspecting", "inspect failed",
	} {
		s, err := states.Parse(word)
		require.NoError(t, err)
		require.Equal(t, word, s.String())
	}
}

// codeNames are the words that ParseSeries accepts besides the texts of String.
var codeNames = map[string]states.Series{
	"antelope": states.Antelope, "bobcat": states.Bobcat, "caracal": states.Caracal, "dalmatian": states.Dalmatian,
	"epoxy": states.Epoxy, "flamingo": states.Flamingo, "gazpacho": states.Gazpacho, "hibiscus": states.Hibiscus,
}

func TestSeriesAreKnownByCodeName(t *testing.T) {
	for name, want := range codeNames {
		got, err := states.ParseSeries(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = states.ParseSeries(strings.ToUpper(name))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	zed, err := states.ParseSeries("Zed")
	require.NoError(t, err)
	require.Equal(t, states.Zed, zed)
	require.Equal(t, states.Hibiscus, states.Latest())
	require.Equal(t, states.NoAPIVersion, states.NoSeries.MaxAPIVersion())
	require.Equal(t, states.NoAPIVersion, states.Series(200).MaxAPIVersion())
}

func TestVerbsAndEvents(t *testing.T) {
	actions := []string{
		"active", "deploy", "rebuild", "deleted", "undeploy", "rescue", "unrescue", "inspect", "clean", "service",
		"manage", "provide", "abort", "adopt", "unhold",
	}
	verbs := states.Verbs()
	for _, word := range actions {
		event, err := states.ParseVerb(word)
		require.NoError(t, err)
		if word != "rebuild" {
			require.Equal(t, event, verbs[word])
			delete(verbs, word)
		}
	}
	require.Empty(t, verbs, "verbs that the API has no action for")

	for _, word := range []string{"", "done", "fail", "wait", "resume", "hold", "error", "delete", "none", "Manage"} {
		_, err := states.ParseVerb(word)
		require.ErrorAs(t, err, new(*states.UnknownError), word)
	}
	for event, want := range map[states.Event]string{
		states.EventDeploy: "active", states.EventDelete: "deleted", states.EventManage: "manage",
		states.EventRebuild: "rebuild", states.EventDone: "", states.NoEvent: "", states.Event(200): "",
	} {
		require.Equal(t, want, event.Verb(), event)
	}

	states.Verbs()["manage"] = states.EventAbort
	require.Equal(t, states.EventManage, states.Verbs()["manage"], "a caller changed ours")
}

func TestPowerTargets(t *testing.T) {
	for power, want := range map[states.Power]states.Power{
		states.PowerOn:            states.PowerOn,
		states.PowerOff:           states.PowerOff,
		states.PowerRebooting:     states.PowerOn,
		states.PowerSoftRebooting: states.PowerOn,
		states.PowerSoftOff:       states.PowerOff,
		states.PowerError:         states.NoPower,
		states.NoPower:            states.NoPower,
		states.Power(200):         states.NoPower,
	} {
		require.Equal(t, want, power.Target(), power)
	}
}

// parsers holds every parser, with a word that it accepts.
var parsers = map[string]struct {
	parse func(string) (fmt.Stringer, error)
	taken string
}{
	"state":            {parserOf(states.Parse), "wait call-back"},
	"event":            {parserOf(states.ParseEvent), "unhold"},
	"verb":             {parserOf(states.ParseVerb), "undeploy"},
	"power state":      {parserOf(states.ParsePower), "soft power off"},
	"allocation state": {parserOf(states.ParseAllocation), "allocating"},
	"work":             {parserOf(states.ParseWork), "clean"},
	"series":           {parserOf(states.ParseSeries), "2026.2"},
	"API version":      {parserOf(states.ParseAPIVersion), "1.81"},
}

func parserOf[T fmt.Stringer](parse func(string) (T, error)) func(string) (fmt.Stringer, error) {
	return func(word string) (fmt.Stringer, error) { return parse(word) }
}

func TestForeignWordsAreErrorsThatQuoteThem(t *testing.T) {
	foreign := []string{
		"nonsense", "wait  call-back", " 1.81", "1.0", "1.81\n", "NULL", "\x00", "\xff", "2.1", "1.65536",
	}
	for kind, parser := range parsers {
		_, err := parser.parse(parser.taken)
		require.NoError(t, err)
		for _, word := range append(foreign, strings.ToUpper(parser.taken)+"!", parser.taken+" ") {
			_, err := parser.parse(word)
			require.ErrorAs(t, err, new(*states.UnknownError), "%s %q", kind, word)
			var unknown *states.UnknownError
			require.ErrorAs(t, err, &unknown)
			require.Equal(t, kind, unknown.Kind)
			require.Equal(t, word, unknown.Word)
			require.NotEmpty(t, unknown.Known)
			require.Contains(t, err.Error(), fmt.Sprintf("%s %q;", kind, word))
			require.Contains(t, err.Error(), strings.Join(unknown.Known, ", "))
		}
	}
}

func TestUnknownErrorListsWhatExists(t *testing.T) {
	_, err := states.ParsePower("On")
	require.EqualError(t, err, `unknown power state "On"; known: `+
		`power on, power off, rebooting, soft rebooting, soft power off, error`)

	for _, none := range []string{"", "none"} {
		v, err := states.ParseAPIVersion(none)
		require.NoError(t, err)
		require.Equal(t, states.NoAPIVersion, v)
	}
	_, err = states.ParseAPIVersion("latest")
	require.EqualError(t, err, `unknown API version "latest"; known: 1.1 and up`)
}

func TestLongForeignWordsAreCutInTheText(t *testing.T) {
	for _, letter := range []string{"x", "é", "\x80"} {
		word := strings.Repeat(letter, 1000)
		_, err := states.ParsePower(word)
		require.ErrorContains(t, err, `unknown power state "`)
		require.ErrorContains(t, err, `"...; known: power on`)
		require.Less(t, len(err.Error()), 500)

		var unknown *states.UnknownError
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, word, unknown.Word)
	}
	longest := strings.Repeat("x", 64)
	_, err := states.ParsePower(longest)
	require.ErrorContains(t, err, `"`+longest+`"; known`)
}

func TestUnknownErrorIsTheCallersOwn(t *testing.T) {
	for kind, parser := range parsers {
		_, err := parser.parse("nonsense")
		var unknown *states.UnknownError
		require.True(t, errors.As(err, &unknown))
		before := slices.Clone(unknown.Known)
		for i := range unknown.Known {
			unknown.Known[i] = "nonsense"
		}

		_, err = parser.parse("nonsense")
		require.True(t, errors.As(err, &unknown), kind)
		require.Equal(t, before, unknown.Known)
	}
}
