// Package machine is one node's life in Ironic's provisioning state machine.
//
// [Node] is the part of it that a service stores: state, target, last error. Its
// methods are the machine as pure functions, for services that keep nodes in a
// database. [Node.Request] moves a node by a client's request, [Node.Report] by a
// report of the conductor or the hardware about the work:
//
//	table := states.Latest().Table()
//	node, err := node.Request(table, "manage", 113)          // enroll to verifying
//	node, err = node.Report(table, states.EventFail, reason) // back to enroll, with last_error
//
// Both know the conductor's rules: which target goes with a manual cleaning, which
// event ends it, when the last error is cleared. [Node.Apply], below them, applies
// one event as it is given. [Node.Orphaned] and [Node.TimedOut] say whether a node is
// to be failed because its conductor died, or because its wait took too long.
//
// [Machine] is a live node, which many goroutines may move at once:
//
//	m, err := machine.New(machine.Config{Table: table, Node: node, Save: []machine.Hook{store}})
//	err = m.Request(ctx, "manage", 113) // as above, and stored before anyone sees it
//
// It calls hooks on the way, in this order, for one transition:
//
//  1. guard: may refuse the transition.
//  2. save: stores the new node. When it fails, nothing has happened.
//  3. The machine moves: state, target and last error change together, and
//     [Machine.Node] shows the new node.
//  4. exit: the old state was left.
//  5. enter: the new state was entered.
//
// Guard and save hooks of a machine run for one transition at a time, in the order
// in which the transitions happen. Exit and enter hooks run after that, in the
// goroutine that moved the machine, so that they may take their time and move it
// on themselves, as a hook that enters verifying does. Between goroutines their
// order is not kept.
//
// Neither a cancelled context nor a hook that fails, panics or hangs leaves a
// node between two states: it is whole in the old one or whole in the new one.
//
// The rules are those of ironic/common/fsm.py and
// ironic/conductor/task_manager.py.
package machine
