// SPDX-License-Identifier: Apache-2.0

package statestest

import "github.com/ironstate/ironstate/states"

// Machine is an implementation of the state machine that has one node.
type Machine interface {
	// Current returns the state of the node.
	Current() states.State
	// Fire moves the node by an event. If the table has no transition for the event
	// in the node's state, Fire returns an error and changes nothing.
	Fire(event states.Event) error
}

// Targeted is a [Machine] that also has the target of its node, Ironic's
// target_provision_state. [Check] finds it by type assertion, and then compares
// targets too.
type Targeted interface {
	Machine
	// Target returns the target of the node. A node in a stable state has none,
	// NoState. In any other state the target is the one named with the event that
	// led there or stored at the start, or else the table's default,
	// [states.Table.Target]. A machine that was started without a target may return
	// NoState until an event moves it.
	Target() states.State
	// FireTo is Fire with a named target. If the target is not a stable state of the
	// table, FireTo returns an error and changes nothing.
	FireTo(event states.Event, target states.State) error
}

// Start makes a machine whose node is in a state and has a stored target, NoState
// for none. A machine that is not [Targeted] ignores the target.
//
// A state that the table does not have, and a target that is not stable, must be
// refused: by an error from Start, or by the machine, which then refuses every
// event.
type Start func(state, target states.State) (Machine, error)
