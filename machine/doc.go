// SPDX-License-Identifier: Apache-2.0

// Package machine runs Ironic's provisioning state machine for one node.
//
// [Node] is the part of a node that a service stores: state, target, last error. Its
// methods are the machine as pure functions, for services that keep nodes in a
// database. A node is moved by one of three methods, each for its own caller:
//
//   - Request is called by an API handler, for a client's request: "manage", "active", once
//     package admission has accepted it: a node whose work runs is reserved.
//   - Report is called by the code that does or watches the work: a worker that has finished or
//     failed, a handler of the agent's callback, a timer ([Node.TimedOut]), a process
//     that starts and finds a node [Node.Orphaned].
//   - Apply is the low level: one event of the table without the conductor's rules, for
//     tools and tests, and for reports that carry more than an event and an error.
//
// For example:
//
//	table := states.Latest().Table()
//	node, err := node.Request(table, "manage", 115)          // enroll to verifying
//	node, err = node.Report(table, states.EventFail, reason) // back to enroll, with last_error
//
// Request and Report apply the conductor's rules: which target a manual cleaning has, which event
// ends it, when the last error is cleared.
//
// [Machine] is a live node with the same three methods, and [Machine.Fire] as Apply's short
// form. Many goroutines may move it at once:
//
//	m, err := machine.New(machine.Config{Table: table, Node: node, Save: []machine.Hook{store}})
//	err = m.Request(ctx, "manage", 115) // as above, and stored before it is visible
//
// It calls hooks in this order for one transition:
//
//  1. guard: may refuse the transition.
//  2. save: stores the new node. When it fails, nothing has happened.
//  3. The machine moves: state, target and last error change together, and
//     [Machine.Node] shows the new node.
//  4. exit: the old state was left.
//  5. enter: the new state was entered.
//
// Guard and save hooks of a machine run for one transition at a time, in the order
// in which the transitions happen. Exit and enter hooks run afterwards, in the
// goroutine that moved the machine, so that they may be slow and may fire the next
// event themselves, as an enter hook for verifying does. There is no order between the
// exit and enter hooks of different goroutines.
//
// A cancelled context or a hook that fails, panics or hangs never leaves a node
// between two states: its transition has either happened or not, and [Moved] tells
// which from the error.
//
// # Work that takes long
//
// Work may end after another caller has moved its node: a client has aborted the work and begun other work, or the same
// work once more. A [Sequence] refuses the report of its end then, which package verify uses:
//
//	work := m.Sequence()
//	err := work.Request(ctx, "provide", 115)     // begins a cleaning
//	...
//	err = work.Report(ctx, states.EventDone, "") // refused if another caller of m has moved the node since
//
// It learns of the row's other writers by [Machine.SetNode] alone; until then the row's revision refuses its moves.
//
// # One row, several writers
//
// A stored row often has other writers: another process, an operator, package powersync
// through its Store. A save hook then updates the row only if it still has the revision
// that the machine's node was read with. That revision is the machine's token
// ([Config.Token]), which the hook finds in [Transition.Token]; after a conflict the
// service reads the row again and calls [Machine.SetNode]. The example of SetNode shows
// the hook; examples/embed has one SQLite row that a save hook and a powersync.Store
// write by the same statement.
//
// The rules come from ironic/common/fsm.py and
// ironic/conductor/task_manager.py.
package machine
