// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// names are the constants of package states, by upstream's words.
type names struct {
	states, events, series map[string]string
}

var (
	documented = regexp.MustCompile(`(?m)^\s*// (\w+) \("([^"]+)"`)
	seriesWord = regexp.MustCompile(`(?m)^\t([A-Z]\w+): +"([\w.]+)",$`)
)

// readNames reads the constants from the source of package states. The comment of a state
// and of an event begins with its name and word; series have a list of words.
func readNames(folder string) (names, error) {
	n := names{states: map[string]string{}, events: map[string]string{}, series: map[string]string{}}
	for file, into := range map[string]map[string]string{"state.go": n.states, "event.go": n.events} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return names{}, err
		}
		for _, m := range documented.FindAllSubmatch(text, -1) {
			into[string(m[2])] = string(m[1])
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "series.go"))
	if err != nil {
		return names{}, err
	}
	for _, m := range seriesWord.FindAllSubmatch(text, -1) {
		n.series[string(m[2])] = string(m[1])
	}
	return n, nil
}

// constant returns the constant of a word, and proposes one for a new word.
func constant(known map[string]string, prefix, word string) string {
	if name, ok := known[word]; ok {
		return name
	}
	var b strings.Builder
	b.WriteString(prefix)
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return r == ' ' || r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// differences compares what was read with a table and its entry. Rows that the table
// lacks are printed as rows.go has them, for the series with the given constant.
func differences(table *states.Table, old, read entry, series string, n names) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if old.APIMax != read.APIMax {
		add("API: %s, was %s", read.APIMax, old.APIMax)
	}

	for _, word := range slices.Sorted(maps.Keys(read.States)) {
		target := "NoState"
		if t := read.States[word].Target; t != nil {
			target = constant(n.states, "", *t)
		}
		row := fmt.Sprintf("{%s, %s, span{%s, kept}},", constant(n.states, "", word), target, series)
		s, err := states.Parse(word)
		if err != nil || !table.States().Has(s) {
			add("state to add: %s", row)
			continue
		}
		now := "NoState"
		if t := table.Target(s); t != states.NoState {
			now = n.states[t.String()]
		}
		if now != target {
			add("state with the target %s now: %s", now, row)
		}
	}
	for s := range table.States().All() {
		if _, ok := read.States[s.String()]; !ok {
			add("state to end: %s, dropped by %s", constant(n.states, "", s.String()), series)
		}
	}

	for _, t := range read.Transitions {
		row := fmt.Sprintf("{%s, %s, %s, span{%s, kept}},", constant(n.states, "", t[0]), constant(n.events, "Event", t[1]),
			constant(n.states, "", t[2]), series)
		from, fromErr := states.Parse(t[0])
		event, eventErr := states.ParseEvent(t[1])
		if fromErr != nil || eventErr != nil {
			add("transition to add: %s", row)
			continue
		}
		if to, ok := table.Next(from, event); !ok {
			add("transition to add: %s", row)
		} else if to.String() != t[2] {
			add("transition that leads to %s now: %s", to, row)
		}
	}
	for t := range table.Transitions() {
		if !slices.ContainsFunc(read.Transitions, func(r [3]string) bool { return r[0] == t.From.String() && r[1] == t.Event.String() }) {
			add("transition to end: {%s, %s, %s}, dropped by %s", n.states[t.From.String()], n.events[t.Event.String()],
				n.states[t.To.String()], series)
		}
	}

	for _, verb := range union(old.Verbs, read.Verbs) {
		if old.Verbs[verb] != read.Verbs[verb] {
			add("verb %s: %q, was %q", verb, read.Verbs[verb], old.Verbs[verb])
		}
	}
	for _, set := range union(old.Sets, read.Sets) {
		was, is := words(old.Sets[set]), words(read.Sets[set])
		if !slices.Equal(was, is) {
			add("set %s: %q, was %q", set, is, was)
		}
	}
	return lines
}

func union[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// words returns a set's words, with "None" for Python's None.
func words(set []*string) []string {
	var all []string
	for _, w := range set {
		if w == nil {
			all = append(all, "None")
		} else {
			all = append(all, *w)
		}
	}
	return all
}
