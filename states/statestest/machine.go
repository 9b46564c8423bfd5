package statestest

import "github.com/ironstate/ironstate/states"

// Machine is an implementation of the state machine that has one node.
type Machine interface {
	// Current returns the state that the node is in.
	Current() states.State
	// Fire moves the node by an event. Where the table has no row for the event
	// in the node's state, it returns an error and changes nothing.
	Fire(event states.Event) error
}

// Targeted is what a [Machine] may be that also knows where its node is headed.
// [Check] finds out by type assertion, and then compares targets too.
type Targeted interface {
	Machine
	// Target returns the state that the node is headed for. A node in a stable
	// state is at rest and headed for none, NoState. A node in another state is
	// headed for the target that was named with the event that brought it there,
	// or that was stored; failing these for the table's default,
	// [states.Table.Target]. Started with none stored, it may also say none until
	// an event moves it.
	Target() states.State
	// FireTo is Fire with a named target. Where that is not a stable state of the
	// table, it returns an error and changes nothing.
	FireTo(event states.Event, target states.State) error
}

// Start makes a machine whose node is in a state. The target is the one stored
// with the state, NoState for none; a machine that is not [Targeted] ignores it.
//
// A state that the table lacks and a stored target that is not stable must be
// refused: by an error from Start, or by the machine's refusing every event.
type Start func(state, target states.State) (Machine, error)
