// Package looplab has Ironic's provisioning state machine for services that are
// built on github.com/looplab/fsm.
//
// [New] makes a node's machine, an [FSM]. It stands where the service had its
// *fsm.FSM, and the service's callbacks go on working:
//
//	f, err := looplab.New(machine.Config{
//		Table: states.Latest().Table(),
//		Node:  node, // as it was stored
//	}, fsm.Callbacks{
//		"enter_verifying": verify,
//	})
//	...
//	err = f.Event(ctx, "manage")
//
// States and events are named by Ironic's words, as in "enter_wait call-back".
// [FSM.Event] and [FSM.Can] also take the API's words: "active" is the event
// deploy, "deleted" and "undeploy" are the event delete. [Events] is a series'
// table as looplab's rows, for those who want only these.
//
// An FSM is a [machine.Machine] and a looplab FSM that follows it. An event may be
// fired at the FSM or at the Machine that [FSM.Machine] returns. Either way the
// hooks of both are called, in this order:
//
//  1. before_<EVENT>, before_event, leave_<STATE>, leave_state: looplab's
//     callbacks that may cancel the event.
//  2. guard, save: the hooks of the [machine.Config].
//  3. The node moves, and looplab's state with it.
//  4. exit, enter: the hooks of the Config.
//  5. enter_<STATE>, enter_state, after_<EVENT>, after_event.
//
// # Why the engine is ours
//
// A looplab FSM (v1.0.3) refuses every event for good once a context ends before
// the state has changed, a leave callback panics, or an asynchronous transition is
// cancelled (looplab's issue 115). It knows a state and nothing else, where a node
// also has a target and a last error that follow Ironic's rules, and it moves
// whether or not the node could be stored. Each FSM copies the whole table into maps
// of its own, where all machines here share one, and
// TestMachineApplyAndLooplabAgree shows for every series that both take the same
// events to the same states.
//
// # What differs
//
//   - An FSM is safe for concurrent use. A looplab FSM at which many goroutines
//     fire can call the callbacks of one event with another's states.
//   - The looplab FSM that callbacks find in their event is for looking at, and
//     for metadata. Firing at it is refused: fire at the FSM, which [Of] returns.
//   - Firing from a before_ or leave_ callback, with the context that it was
//     given, is an error, where looplab waits for ever.
//     Event and Can of the looplab FSM still do wait for ever there.
//   - A callback's panic is a [*machine.PanicError].
//   - Callbacks get the caller's context, which does not end when Event returns.
//   - A key of the callbacks that names no state or event is an error, where
//     looplab ignores it.
//   - leave_state is also called where leave_<STATE> has called Async.
//   - fsm.InvalidEventError and UnknownEventError are wrapped in the error that
//     Event returns: use [errors.As].
//
// A before_ or leave_ callback must not end its goroutine with runtime.Goexit, as
// the FailNow of a test does: looplab then refuses every later event.
package looplab
