// SPDX-License-Identifier: Apache-2.0

package statestest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// A step is an event and the target named with it, NoState for none.
type step struct {
	event  states.Event
	target states.State
}

// A sequence is a start and the events fired after it.
type sequence struct {
	start node // the target is the stored one, NoState for none
	steps []step
}

// then returns the sequence with one more step.
func (s sequence) then(next step) sequence {
	return sequence{s.start, append(s.steps[:len(s.steps):len(s.steps)], next)}
}

// String returns the form that [Replay] accepts, such as "manageable: clean
// (manageable), wait", with a stored or named target in parentheses.
func (s sequence) String() string {
	start := withTarget(s.start.state.String(), s.start.target)
	if len(s.steps) == 0 {
		return start
	}
	events := make([]string, len(s.steps))
	for i, next := range s.steps {
		events[i] = withTarget(next.event.String(), next.target)
	}
	return start + ": " + strings.Join(events, ", ")
}

func withTarget(word string, target states.State) string {
	if target == states.NoState {
		return word
	}
	return word + " (" + target.String() + ")"
}

// parseSequence parses the output of String. A word that is no state or event is a
// [*states.UnknownError].
func parseSequence(text string) (s sequence, err error) {
	start, events, hasEvents := strings.Cut(text, ": ")
	word, target := cutTarget(start)
	if s.start.state, err = parseOrNumber(word, "State", states.Parse); err != nil {
		return sequence{}, err
	}
	if s.start.target, err = parseOrNumber(target, "State", states.Parse); err != nil {
		return sequence{}, err
	}
	if !hasEvents {
		return s, nil
	}
	for _, text := range strings.Split(events, ", ") {
		var next step
		word, target := cutTarget(text)
		if next.event, err = parseOrNumber(word, "Event", states.ParseEvent); err != nil {
			return sequence{}, err
		}
		if next.target, err = parseOrNumber(target, "State", states.Parse); err != nil {
			return sequence{}, err
		}
		s.steps = append(s.steps, next)
	}
	return s, nil
}

var wordWithTarget = regexp.MustCompile(`^(.*) \((.*)\)$`)

// cutTarget splits a word from the target after it.
func cutTarget(text string) (word, target string) {
	if found := wordWithTarget.FindStringSubmatch(text); found != nil {
		return found[1], found[2]
	}
	return text, ""
}

// parseOrNumber parses a word, or a form like "State(255)", which String prints for a
// number without a word.
func parseOrNumber[T ~uint8](word, kind string, parse func(string) (T, error)) (T, error) {
	var number uint8
	if _, err := fmt.Sscanf(word, kind+"(%d)", &number); err == nil {
		return T(number), nil
	}
	return parse(word)
}
