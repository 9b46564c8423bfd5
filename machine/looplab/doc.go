// SPDX-License-Identifier: Apache-2.0

// Package looplab provides Ironic's provisioning state machine for services that are
// built on github.com/looplab/fsm.
//
// [New] makes a node's machine, an [FSM]. It replaces the service's *fsm.FSM, and the
// service's callbacks continue to work:
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
// [FSM.Event] and [FSM.Can] also accept the API's words: "active" is the event
// deploy, "deleted" and "undeploy" are the event delete. [Events] returns a series'
// table as looplab's rows, for programs that need only these.
//
// An FSM is a [machine.Machine] and a looplab FSM that follows it. An event may be
// fired at the FSM or at the Machine that [FSM.Machine] returns. In both cases the
// hooks of both are called, in this order:
//
//  1. before_<EVENT>, before_event, leave_<STATE>, leave_state: looplab's
//     callbacks that may cancel the event.
//  2. guard, save: the hooks of the [machine.Config].
//  3. The node and looplab's FSM move to the new state.
//  4. exit, enter: the hooks of the Config.
//  5. enter_<STATE>, enter_state, after_<EVENT>, after_event.
//
// # Inside
//
// [FSM.Event] calls [machine.Machine.Apply] with the event and its arguments in the
// context (firingOf). The machine calls the guard hook runGuards, which fires the event
// at the inner looplab FSM, with the caller's context inside the context (callerOf). The
// inner FSM calls the before_ and leave_ callbacks, and its last one cancels the event,
// so that the inner FSM never moves by itself. After the Config's save hooks, mirrorState
// sets the inner FSM's state; after its enter hooks, notify calls the enter_ and after_
// callbacks.
//
// # Why the engine is ours
//
// A looplab FSM (v1.0.3) refuses every later event once a context ends before the
// state has changed, a leave callback panics, or an asynchronous transition is
// cancelled (looplab's issue 115). It has a state only, while a node also has a target
// and a last error that follow Ironic's rules. It changes its state even if the node
// could not be stored. Each looplab FSM copies the whole table into its own maps, while
// all machines of this module share one table. TestMachineApplyAndLooplabAgree shows
// for every series that both accept the same events and reach the same states.
//
// # What differs
//
//   - An FSM is safe for concurrent use. If many goroutines fire events at a looplab
//     FSM, it can call the callbacks of one event with another event's states.
//   - The looplab FSM in a callback's event is for queries and metadata. It refuses
//     events: fire at the FSM, which [Of] returns.
//   - Firing an event from a before_ or leave_ callback with the callback's context is
//     an error; looplab blocks forever. Event and Can of the looplab FSM still block
//     forever there.
//   - A callback's panic is a [*machine.PanicError].
//   - Callbacks get the caller's context, which does not end when Event returns.
//   - A key of the callbacks that names no state or event is an error, where
//     looplab ignores it.
//   - leave_state is also called after a leave_<STATE> that has called Async.
//   - fsm.InvalidEventError and UnknownEventError are wrapped in the error that
//     Event returns: use [errors.As].
//
// A before_ or leave_ callback must not end its goroutine with runtime.Goexit, which a
// test's FailNow calls: looplab then refuses every later event.
package looplab
