// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// comments returns the comment of each constant in a file, by its name.
func comments(file *ast.File) map[string]string {
	comments := make(map[string]string)
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			comments[spec.Names[0].Name] = spec.Doc.Text()
		}
		return true
	})
	return comments
}

// The descriptions equal the comments that go doc shows.
func TestDescriptionsAreTheComments(t *testing.T) {
	source := sources(t)
	words := make(map[string]string) // each text, by its kind and word
	for s := range states.AllStates() {
		words["state.go "+s.String()] = s.Description()
	}
	for e := range states.AllEvents() {
		words["event.go "+e.String()] = e.Description()
	}
	found := 0
	for _, file := range []string{"state.go", "event.go"} {
		for name, comment := range comments(source[file]) {
			opening, rest, ok := strings.Cut(comment, "): ")
			if !ok {
				continue
			}
			start, word, ok := strings.Cut(opening, ` ("`)
			require.True(t, ok && start == name, comment)
			word, _, _ = strings.Cut(word, `"`)
			var lines []string
			for _, p := range strings.Split(rest, "\n\n") {
				lines = append(lines, strings.Join(strings.Fields(p), " "))
			}
			require.Equal(t, strings.Join(lines, "\n\n"), words[file+" "+word], "go generate ./states brings it up to date")
			found++
		}
	}
	require.Len(t, words, found)
}

func TestStatesAndEventsHaveADescriptionAndOtherNumbersHaveNone(t *testing.T) {
	allStates, allEvents := slices.Collect(states.AllStates()), slices.Collect(states.AllEvents())
	for n := range 256 {
		s, e := states.State(n), states.Event(n)
		require.Equal(t, slices.Contains(allStates, s), s.Description() != "", n)
		require.Equal(t, slices.Contains(allEvents, e), e.Description() != "", n)
	}
}

var quoted = regexp.MustCompile("`([^`]*)`")

// quotedIn returns the words in backquotes.
func quotedIn(text string) []string {
	var words []string
	for _, match := range quoted.FindAllStringSubmatch(text, -1) {
		words = append(words, match[1])
	}
	return words
}

// eventNamed returns the event that has a word, whether the API's or the table's.
func eventNamed(word string) states.Event {
	if e, err := states.ParseVerb(word); err == nil {
		return e
	}
	e, _ := states.ParseEvent(word)
	return e
}

// nodeFields are the fields of a node's record that descriptions name.
var nodeFields = []string{"driver_info", "last_error", "protected"}

// history holds the rows and states of all series together.
type history struct {
	rows   []states.Transition
	states states.Set
}

func wholeHistory() history {
	var h history
	for s := range states.AllSeries() {
		h.states = h.states.Union(s.Table().States())
		for row := range s.Table().Transitions() {
			if !slices.Contains(h.rows, row) {
				h.rows = append(h.rows, row)
			}
		}
	}
	return h
}

// bringing returns the first series whose table satisfies a test, and the last.
func bringing(has func(*states.Table) bool) (first, last states.Series) {
	for s := range states.AllSeries() {
		if has(s.Table()) {
			if first == states.NoSeries {
				first = s
			}
			last = s
		}
	}
	return first, last
}

// A state's description names the events that lead to or from the state, and no
// other event; and of other states only those next to it and their targets.
func TestDescriptionsNameTheStatesOwnTransitions(t *testing.T) {
	h, latest := wholeHistory(), states.Latest().Table()
	for s := range h.states.All() {
		var events []states.Event
		near := states.SetOf(s)
		for _, row := range h.rows {
			if row.From == s || row.To == s {
				events = append(events, row.Event)
				near = near.Union(states.SetOf(row.From, row.To, latest.Target(row.To)))
			}
		}
		for _, word := range quotedIn(s.Description()) {
			state, err := states.Parse(word)
			isState := err == nil && near.Has(state)
			isEvent := slices.Contains(events, eventNamed(word))
			require.True(t, isState || isEvent || slices.Contains(nodeFields, word), "%v names %q", s, word)
		}
		for _, row := range h.rows {
			if row.From == s {
				named := slices.ContainsFunc(quotedIn(s.Description()), func(word string) bool { return eventNamed(word) == row.Event })
				require.True(t, named, "the description of %v lacks %v", s, row)
			}
		}
	}
}

// If an event was added to or removed from a state after the state's first series, the
// description says when.
func TestDescriptionsDateTheStatesTransitions(t *testing.T) {
	h := wholeHistory()
	for s := range h.states.All() {
		brought, _ := bringing(func(t *states.Table) bool { return t.States().Has(s) })
		for _, row := range h.rows {
			if row.From != s {
				continue
			}
			first, last := bringing(func(t *states.Table) bool { to, ok := t.Next(s, row.Event); return ok && to == row.To })
			if first > brought {
				requireDate(t, s.Description(), row.Event, "since "+display(first))
			}
			if last != states.Latest() {
				requireDate(t, s.Description(), row.Event, "until "+display(last))
			}
		}
	}
}

// display returns a series as the descriptions write it: Kilo and 2023.2.
func display(s states.Series) string {
	word := s.String()
	return strings.ToUpper(word[:1]) + word[1:]
}

var sentenceEnd = regexp.MustCompile(`\.\s`)

// requireDate fails unless a sentence names the event and the date.
func requireDate(t *testing.T, text string, event states.Event, date string) {
	t.Helper()
	for _, sentence := range sentenceEnd.Split(text, -1) {
		if !strings.Contains(strings.ToLower(sentence), strings.ToLower(date)) {
			continue
		}
		if slices.ContainsFunc(quotedIn(sentence), func(word string) bool { return eventNamed(word) == event }) {
			return
		}
	}
	require.Fail(t, fmt.Sprintf("no sentence says %q of %v", date, event), text)
}

// The three paragraphs of a state's description: what it means, with the series that
// brought it and whether it is stable; who moves a node on; what an operator does.
func TestDescriptionsOfStatesHaveTheirParts(t *testing.T) {
	latest := states.Latest().Table()
	moves := regexp.MustCompile(`^(A client|The conductor|The ramdisk's call|A report)\b.* moves? |^A client .* with `)
	for s := range states.AllStates() {
		text := s.Description()
		if !latest.States().Has(s) {
			require.Contains(t, text, "No series has it in its table", s)
			continue
		}
		first, _ := bringing(func(t *states.Table) bool { return t.States().Has(s) })
		came := "Since " + display(first)
		if latest.Stable().Has(s) {
			came = "A stable state since " + display(first)
		}
		paragraphs := strings.Split(text, "\n\n")
		require.Len(t, paragraphs, 3, s)
		require.Regexp(t, regexp.QuoteMeta(came)+`[.,]`, paragraphs[0], s)
		require.Regexp(t, moves, paragraphs[1], s)
		require.Regexp(t, `operator|client`, paragraphs[2], s)

		_, last := bringing(func(t *states.Table) bool {
			return len(slices.Collect(t.Requests(s, t.Series().MaxAPIVersion()))) > 0
		})
		require.Equal(t, last == states.NoSeries, strings.Contains(text, "the API takes no request"), s)
	}
}

func TestDescriptionsOfEvents(t *testing.T) {
	h := wholeHistory()
	for event := range states.AllEvents() {
		text := event.Description()
		first, last := bringing(func(t *states.Table) bool {
			return slices.ContainsFunc(slices.Collect(t.Transitions()), func(row states.Transition) bool { return row.Event == event })
		})
		if last == states.Latest() {
			require.Regexp(t, `(?i)since `+regexp.QuoteMeta(display(first))+`\.$`, text, event)
		} else {
			require.Contains(t, text, "until "+display(last), event)
		}
		for _, verb := range states.WordsOf(event) {
			require.True(t, verb == event.String() || slices.Contains(quotedIn(text), verb), "%v lacks its word %q", event, verb)
		}
		require.Regexp(t, `^(A client|The conductor|The call)`, text, event)
		for _, word := range quotedIn(text) {
			named := slices.Contains(states.WordsOf(event), word)
			for _, row := range h.rows {
				named = named || row.Event == event && (row.From.String() == word || row.To.String() == word)
			}
			require.True(t, named || event == states.EventError && word == "fail", "%v names %q", event, word)
		}
	}
}
