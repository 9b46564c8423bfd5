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
