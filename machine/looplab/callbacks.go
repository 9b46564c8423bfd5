// SPDX-License-Identifier: Apache-2.0

package looplab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/states"
)

// A trigger says when a callback is called.
type trigger struct {
	when moment
	word string // the state or event, empty for any
}

type moment uint8

const (
	before moment = iota
	leave
	enter
	after
)

var prefixes = [...]struct {
	text string
	when moment
	any  string
	name func(string) bool
}{
	{"before_", before, "event", isEvent},
	{"leave_", leave, "state", isState},
	{"enter_", enter, "state", isState},
	{"after_", after, "event", isEvent},
}

func isState(word string) bool {
	s, err := states.Parse(word)
	return err == nil && s != states.NoState
}

func isEvent(word string) bool {
	e, err := states.ParseEvent(word)
	return err == nil && e != states.NoEvent
}

// triggerOf returns the meaning of a key of fsm.Callbacks. The keys "rescue" and
// "error" mean the states and not the events.
func triggerOf(key string) (trigger, bool) {
	for _, p := range prefixes {
		word, ok := strings.CutPrefix(key, p.text)
		switch {
		case !ok:
		case word == p.any:
			return trigger{when: p.when}, true
		default:
			return trigger{p.when, word}, p.name(word)
		}
	}
	if isState(key) {
		return trigger{enter, key}, true
	}
	return trigger{after, key}, isEvent(key)
}

// byTrigger returns the callbacks by their triggers.
func byTrigger(callbacks fsm.Callbacks) (map[trigger]fsm.Callback, error) {
	at := make(map[trigger]fsm.Callback, len(callbacks))
	for _, key := range slices.Sorted(maps.Keys(callbacks)) {
		p, ok := triggerOf(key)
		if !ok {
			return nil, fmt.Errorf("callback %q: want before_, leave_, enter_ or after_ with a state or an event, or just one of these", key)
		}
		if _, twice := at[p]; twice {
			return nil, fmt.Errorf("callback %q: another key means the same", key)
		}
		at[p] = callbacks[key]
	}
	return at, nil
}
