// Package machine is one node's life in Ironic's provisioning state machine.
//
// [Node] is what a service stores of it: state, target, last error. Its method
// [Node.Apply] is the machine as a pure function, for those who keep nodes in a
// database and want nothing running:
//
//	node, err := node.Apply(states.Latest().Table(), machine.Input{Event: states.EventManage})
//
// [Machine] is a live node, which many goroutines may fire events at. It calls
// hooks on the way, in this order, for one [Machine.Fire]:
//
//  1. guard: may refuse the transition.
//  2. save: stores the new node. When it fails, nothing has happened.
//  3. The machine moves: state, target and last error change together, and
//     [Machine.Node] shows the new node.
//  4. exit: the old state was left.
//  5. enter: the new state was entered.
//
// Guard and save hooks run in the machine's turn: one transition at a time, in
// the order in which they were saved. Exit and enter hooks run after the turn is
// given up, in the goroutine that fired, so that they may take their time and
// fire the next event themselves, as a hook that enters verifying does.
//
// Neither a cancelled context nor a hook that fails, panics or hangs leaves a
// node between two states: it is whole in the old one or whole in the new one.
//
// The rules are those of ironic/common/fsm.py and
// ironic/conductor/task_manager.py.
package machine
