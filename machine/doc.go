// Package machine runs Ironic's provisioning state machine for one node.
//
// [Node] is the part of a node that a service stores: state, target, last error. Its
// methods are the machine as pure functions, for services that keep nodes in a
// database. [Node.Request] moves a node by a client's request, [Node.Report] by a
// report of the conductor or the hardware about the work:
//
//	table := states.Latest().Table()
//	node, err := node.Request(table, "manage", 113)          // enroll to verifying
//	node, err = node.Report(table, states.EventFail, reason) // back to enroll, with last_error
//
// Both apply the conductor's rules: which target a manual cleaning has, which event
// ends it, when the last error is cleared. [Node.Apply] is the low level: it applies
// one event without these rules. [Node.Orphaned] and [Node.TimedOut] report whether a
// node must be failed because its conductor died, or because its wait timed out.
//
// [Machine] is a live node, which many goroutines may move at once:
//
//	m, err := machine.New(machine.Config{Table: table, Node: node, Save: []machine.Hook{store}})
//	err = m.Request(ctx, "manage", 113) // as above, and stored before anyone sees it
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
// between two states: its transition has either happened or not.
//
// The rules are those of ironic/common/fsm.py and
// ironic/conductor/task_manager.py.
package machine
