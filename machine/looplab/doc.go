// Package looplab has Ironic's provisioning state machine for services that are
// built on github.com/looplab/fsm.
//
// [Events] is a series' table as looplab's rows, for those who want only these.
// [New] makes a node's whole machine, an [FSM]. It stands where the service had
// its *fsm.FSM, and the callbacks that the service has go on working:
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
//
// An FSM is a [machine.Machine] and a looplab FSM that follows it. Whichever of
// them is fired at, [FSM.Event] or the Machine that [FSM.Machine] returns, both
// kinds of hooks are called, in this order:
//
//  1. before_<EVENT>, before_event, leave_<STATE>, leave_state: looplab's
//     callbacks that may cancel the event.
//  2. guard, save: the hooks of the [machine.Config].
//  3. The node moves, and looplab's state with it.
//  4. exit, enter: the hooks of the Config.
//  5. enter_<STATE>, enter_state, after_<EVENT>, after_event.
//
// # What looplab alone has not
//
// A looplab FSM knows a state and nothing else. A node also has a target and a
// last error, which follow Ironic's rules here: [FSM.Node] has them,
// [FSM.FireInput] takes what comes with an event. A looplab FSM moves whether or
// not the state was stored; here the save hooks store the node first, and when
// they fail nothing has happened.
//
// A looplab FSM (v1.0.3) refuses every event for good once a context ends before
// the state has changed, a leave callback panics, or an asynchronous transition
// is cancelled: see looplab's issue 115. An FSM takes the next event. And where
// a looplab FSM is fired at by many goroutines, the callbacks of one event can be
// those of another's state; an FSM is safe for concurrent use.
//
// # What differs
//
//   - The looplab FSM that callbacks find in their event is for looking at, and
//     for metadata. Firing at it is refused with [ErrDirect]: fire at the FSM,
//     which [Of] returns.
//   - Firing from a before_ or leave_ callback, with the context that it was
//     given, is an error, [machine.ErrInTurn], where looplab waits for ever.
//     Event and Can of the looplab FSM still do wait for ever there.
//   - A callback's panic is an error that matches [machine.ErrPanic].
//   - Callbacks get the caller's context, which does not end when Event returns.
//   - A key of the callbacks that names no state or event is an error, where
//     looplab ignores it.
//   - leave_state is also called where leave_<STATE> has called Async.
//
// A before_ or leave_ callback must not end its goroutine with runtime.Goexit,
// as the FailNow of a test does: no one else could then clear what looplab has
// begun.
package looplab
