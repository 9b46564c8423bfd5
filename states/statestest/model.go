// SPDX-License-Identifier: Apache-2.0

package statestest

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// A node is a node's state and target.
type node struct {
	state, target states.State
}

// An outcome is the result of a start or an event.
type outcome struct {
	node     node
	err      error  // the refusal, nil if there was none
	panicked string // the quoted text of the panic, empty if there was none
}

// errRefused is the error of the model's outcome if the table requires a refusal.
var errRefused = errors.New("refused")

func (o outcome) String() string {
	if o.panicked != "" {
		return o.panicked
	}
	text := "accepted"
	if o.err != nil {
		text = "refused"
	}
	if o.err != nil && o.err != errRefused {
		text += fmt.Sprintf(" (%.*q)", maxQuoted, o.err.Error())
	}
	text += fmt.Sprintf(", in %q", o.node.state)
	if o.node.target != states.NoState {
		text += fmt.Sprintf(" with target %q", o.node.target)
	}
	return text
}

// maxQuoted is the number of characters quoted from an error or a panic.
const maxQuoted = 200

// agrees compares outcomes without the texts of their errors.
func (o outcome) agrees(other outcome) bool {
	return o.node == other.node && (o.err == nil) == (other.err == nil) && o.panicked == other.panicked
}

// seenOn returns the part of an outcome that a machine shows: a machine that is not
// [Targeted] shows no target.
func (o outcome) seenOn(m Machine) outcome {
	if _, ok := m.(Targeted); !ok {
		o.node.target = states.NoState
	}
	return o
}

// model returns the node in a state with a stored or named target, if any.
func (c *checker) model(state, target states.State) node {
	switch {
	case c.table.Stable().Has(state):
		return node{state, states.NoState}
	case target != states.NoState:
		return node{state, target}
	default:
		return node{state, c.table.Target(state)}
	}
}

// apply returns the outcome that the table requires of a step.
func (c *checker) apply(at node, s step) outcome {
	to, ok := c.table.Next(at.state, s.event)
	if !ok || s.target != states.NoState && !c.table.Stable().Has(s.target) {
		return outcome{node: at, err: errRefused}
	}
	return outcome{node: c.model(to, s.target)}
}

// valid reports whether a machine must accept a start: the table has the state, and
// the stored target is stable or NoState.
func (c *checker) valid(start node) bool {
	return c.table.States().Has(start.state) && (start.target == states.NoState || c.table.Stable().Has(start.target))
}

// begin starts a machine and returns the outcome. The machine is nil unless it
// started.
func (c *checker) begin(start node) (Machine, outcome) {
	var m Machine
	got := guard(func() (node, error) {
		var err error
		if m, err = c.start(start.state, start.target); err != nil {
			return node{state: start.state}, err
		}
		return look(m), nil
	})
	if got.err != nil || got.panicked != "" {
		return nil, got
	}
	return m, got
}

// fire fires an event on a machine and returns the outcome.
func fire(m Machine, s step) outcome {
	return guard(func() (node, error) {
		if s.target == states.NoState {
			err := m.Fire(s.event)
			return look(m), err
		}
		targeted, ok := m.(Targeted)
		if !ok {
			return look(m), fmt.Errorf("%T takes no target", m)
		}
		err := targeted.FireTo(s.event, s.target)
		return look(m), err
	})
}

func look(m Machine) node {
	at := node{state: m.Current()}
	if m, ok := m.(Targeted); ok {
		at.target = m.Target()
	}
	return at
}

// guard returns the outcome of a function that may panic.
func guard(do func() (node, error)) (o outcome) {
	defer func() {
		if value := recover(); value != nil {
			o = outcome{panicked: fmt.Sprintf("a panic (%.*q)", maxQuoted, fmt.Sprint(value))}
		}
	}()
	at, err := do()
	return outcome{node: at, err: err}
}
