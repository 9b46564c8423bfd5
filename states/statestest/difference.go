// SPDX-License-Identifier: Apache-2.0

package statestest

import (
	"strings"
	"unicode"

	"github.com/ironstate/ironstate/states"
)

// A difference is a sequence whose last event has another outcome than the table
// requires. In a sequence without events it is the start that has the other outcome.
type difference struct {
	sequence  sequence
	before    node // the node before the last event, by the table
	want, got outcome
	flaky     bool // the sequence did not show the difference again
}

// A cause groups differences: those with equal causes are reported as one.
type cause struct {
	kind   string
	detail string
	later  bool // the difference depends on events before the last one
}

// alone returns the sequence of the last event by itself.
func (d *difference) alone() sequence {
	return sequence{start: d.before, steps: d.sequence.steps[len(d.sequence.steps)-1:]}
}

// run runs a sequence and returns the first difference, nil if there is none.
func (c *checker) run(s sequence) *difference {
	m, got := c.begin(s.start)
	if !c.valid(s.start) {
		return c.runRefused(s, m, got)
	}
	at := c.model(s.start.state, s.start.target)
	if s.start.target == states.NoState && got.node.target == states.NoState {
		at.target = states.NoState
	}
	if want := (outcome{node: at}).seenOn(m); !got.agrees(want) {
		return &difference{sequence: sequence{start: s.start}, want: want, got: got}
	}
	for i, next := range s.steps {
		want := c.apply(at, next)
		wantSeen, got := want.seenOn(m), fire(m, next)
		if !got.agrees(wantSeen) {
			return &difference{
				sequence: sequence{s.start, s.steps[:i+1]}, before: outcome{node: at}.seenOn(m).node, want: wantSeen, got: got,
			}
		}
		at = want.node
	}
	return nil
}

// runRefused runs a sequence in which either the start or every event must be refused.
func (c *checker) runRefused(s sequence, m Machine, got outcome) *difference {
	want := outcome{node: node{state: s.start.state}, err: errRefused}
	wrong := func(steps []step) *difference {
		return &difference{sequence: sequence{s.start, steps}, want: want, got: got}
	}
	if got.panicked != "" {
		return wrong(nil)
	}
	if m == nil {
		return nil
	}
	for i, next := range s.steps {
		if got = fire(m, next); got.err == nil {
			return wrong(s.steps[:i+1])
		}
	}
	return nil
}

// cause returns the cause of a difference: a wrong start, or else a wrong outcome of the last event.
func (c *checker) cause(d *difference) cause {
	s := d.sequence
	if len(s.steps) == 0 || !c.valid(s.start) {
		return startCause(s.start, d.want, d.got)
	}
	return c.stepCause(s.steps[len(s.steps)-1], d.want, d.got)
}

// laterCause returns the cause of a difference that depends on earlier events. It
// ignores which events and states are involved.
func (c *checker) laterCause(d *difference) cause { return cause{kind: c.cause(d).kind, later: true} }

// startCause returns the cause of a difference at a start.
func startCause(start node, want, got outcome) cause {
	kind := "start"
	if start.target != states.NoState {
		kind = "start with target"
	}
	switch {
	case got.panicked != "":
		return cause{kind: kind + " panics", detail: withoutDigits(got.panicked)}
	case want.err != nil:
		return cause{kind: kind + " accepted"}
	case got.err != nil:
		return cause{kind: kind + " refused"}
	case got.node.state != want.node.state:
		return cause{kind: kind + " in another state"}
	default:
		return cause{kind: kind + " has another target"}
	}
}

// stepCause returns the cause of a difference at an event.
func (c *checker) stepCause(s step, want, got outcome) cause {
	named := s.target != states.NoState
	switch {
	case got.panicked != "":
		return cause{kind: "panic", detail: withoutDigits(got.panicked)}
	case want.err == nil && got.err != nil && c.missing.Has(want.node.state):
		return cause{kind: "start refused"}
	case want.err == nil && got.err != nil && named:
		return cause{kind: "target refused"}
	case want.err == nil && got.err != nil:
		return cause{kind: "refused", detail: s.event.String()}
	case want.err != nil && got.err == nil && named:
		return cause{kind: "target accepted"}
	case want.err != nil && got.err == nil && got.node.state == want.node.state:
		return cause{kind: "ignored"}
	case want.err != nil && got.err == nil:
		return cause{kind: "accepted", detail: s.event.String()}
	case want.err != nil:
		return cause{kind: "changed although refused"}
	case got.node.state != want.node.state:
		return cause{kind: "in another state", detail: got.node.state.String() + " for " + want.node.state.String()}
	case want.node.target == states.NoState:
		return cause{kind: "target in a stable state"}
	case named:
		return cause{kind: "named target lost"}
	default:
		return cause{kind: "another target"}
	}
}

// withoutDigits drops the numbers of a panic, such as an index and an address.
func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}
