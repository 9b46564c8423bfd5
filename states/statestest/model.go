package statestest

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// A node is where a machine's node is and where it is headed.
type node struct {
	state, target states.State
}

// An outcome is what came of a start or an event.
type outcome struct {
	node     node
	err      error  // why it was refused
	panicked string // with what, if it did
}

// errRefused is the error of an outcome that the table wants.
var errRefused = errors.New("refused")

func (o outcome) String() string {
	if o.panicked != "" {
		return "a panic: " + o.panicked
	}
	text := "accepted"
	if o.err != nil {
		text = "refused"
	}
	if o.err != nil && o.err != errRefused {
		text += fmt.Sprintf(" (%.*s)", maxQuoted, o.err.Error())
	}
	text += ", in " + o.node.state.String()
	if o.node.target != states.NoState {
		text += " headed for " + o.node.target.String()
	}
	return text
}

// maxQuoted is how much is quoted of an error or a panic.
const maxQuoted = 200

// agrees compares all but an error's text.
func (o outcome) agrees(other outcome) bool {
	return o.node == other.node && (o.err == nil) == (other.err == nil) && o.panicked == other.panicked
}

// seenOn returns what of an outcome can be seen on a machine, or on none (nil).
func (o outcome) seenOn(m Machine) outcome {
	if _, ok := m.(Targeted); !ok {
		o.node.target = states.NoState
	}
	return o
}

// model returns a node in a state with a stored or named target, if any.
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

// apply is the machine as the table has it.
func (c *checker) apply(at node, event states.Event, target states.State) outcome {
	to, ok := c.table.Next(at.state, event)
	if !ok || target != states.NoState && !c.table.Stable().Has(target) {
		return outcome{node: at, err: errRefused}
	}
	return outcome{node: c.model(to, target)}
}

// begin starts a machine and tells what came of it. The machine is nil unless it
// started.
func (c *checker) begin(state, target states.State) (Machine, outcome) {
	var m Machine
	got := guard(func() (node, error) {
		var err error
		if m, err = c.start(state, target); err != nil {
			return node{state: state}, err
		}
		return look(m), nil
	})
	if got.err != nil || got.panicked != "" {
		return nil, got
	}
	return m, got
}

// fire fires an event on a machine and tells what came of it.
func fire(m Machine, event states.Event, target states.State) outcome {
	return guard(func() (node, error) {
		if target == states.NoState {
			err := m.Fire(event)
			return look(m), err
		}
		err := m.(Targeted).FireTo(event, target)
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

// guard makes an outcome of what is done, be it a panic.
func guard(do func() (node, error)) (o outcome) {
	defer func() {
		if value := recover(); value != nil {
			o = outcome{panicked: fmt.Sprintf("%.*s", maxQuoted, fmt.Sprint(value))}
		}
	}()
	at, err := do()
	return outcome{node: at, err: err}
}
