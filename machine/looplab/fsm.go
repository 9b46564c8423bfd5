// SPDX-License-Identifier: Apache-2.0

package looplab

import (
	"context"
	"slices"
	"sync"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// FSM is a node's machine with the methods of an *fsm.FSM, except SetState: use
// [machine.Machine.SetNode]. Make it with [New]. It is safe for concurrent use.
type FSM struct {
	machine   *machine.Machine
	table     *states.Table
	callbacks map[trigger]fsm.Callback

	// inner runs the callbacks that may cancel an event. It never completes an event:
	// SetState sets it to the machine's state.
	inner *fsm.FSM

	mu      sync.Mutex
	pending *firing // an asynchronous transition that is not completed yet
}

// metadataKey is the key of the inner FSM's metadata that holds the FSM.
const metadataKey = "github.com/ironstate/ironstate/machine/looplab"

// New makes the FSM of a node, with the hooks of package machine and looplab's
// callbacks. It returns the errors of [machine.New], and one for a key of callbacks
// that names no state or event of any series, or has the same meaning as another key.
// Callbacks for states and events of other series are never called.
func New(c machine.Config, callbacks fsm.Callbacks) (*FSM, error) {
	at, err := byTrigger(callbacks)
	if err != nil {
		return nil, err
	}
	if _, err := machine.New(c); err != nil { // before the hooks are wrapped: a nil one is found at its index
		return nil, err
	}
	f := &FSM{table: c.Table, callbacks: at}
	c.Guard = slices.Concat([]machine.Hook{f.runGuards}, f.plainHooks(c.Guard))
	c.Save = append(f.plainHooks(c.Save), f.mirrorState)
	c.Exit = f.plainHooks(c.Exit)
	c.Enter = append(f.plainHooks(c.Enter), f.notify)
	if f.machine, err = machine.New(c); err != nil {
		return nil, err
	}
	f.inner = fsm.NewFSM(f.Current(), Events(c.Table), f.guards())
	f.inner.SetMetadata(metadataKey, f)
	return f, nil
}

// Of returns the FSM that wraps a looplab FSM, nil if there is none. It is for
// callbacks, whose event has the looplab FSM.
func Of(inner *fsm.FSM) *FSM {
	f, _ := inner.Metadata(metadataKey)
	outer, _ := f.(*FSM)
	return outer
}

// Looplab returns the wrapped looplab FSM, for its metadata and for drawing it. It
// refuses events; the next event overwrites a state that is set on it.
func (f *FSM) Looplab() *fsm.FSM { return f.inner }

// Machine returns the node's machine, for functions that need one. Events that are
// fired at it call looplab's callbacks too.
func (f *FSM) Machine() *machine.Machine { return f.machine }

// Event moves the node by the event of a word, the table's ("deploy") or the API's
// ("active"). The callbacks' event has args and the table's word.
//
// Event returns looplab's errors. An fsm.CanceledError, InTransitionError or
// AsyncError is returned unchanged. An fsm.UnknownEventError or InvalidEventError is
// wrapped: use [errors.As]. The wrapping error also wraps the [*machine.EventError],
// which matches [states.ErrNotAllowed], or, for a word that no series has, the
// [*states.UnknownError]. It also returns the errors of [machine.Machine.Apply].
//
// While an asynchronous event is pending, every word is refused with an
// fsm.InTransitionError, also one that the state does not have.
func (f *FSM) Event(ctx context.Context, event string, args ...any) error {
	if f.pendingNow() != nil {
		return fsm.InTransitionError{Event: event}
	}
	e, err := eventOf(event)
	if err != nil {
		return &refusal{fsm.UnknownEventError{Event: event}, err}
	}
	return asLooplab(f.table, f.Apply(ctx, machine.Input{Event: e}, args...))
}

// eventOf returns the event of a word, the table's or the API's.
func eventOf(word string) (states.Event, error) {
	e, noVerb := states.ParseVerb(word)
	if noVerb == nil {
		return e, nil
	}
	e, err := states.ParseEvent(word)
	if err == nil && e == states.NoEvent {
		return e, noVerb
	}
	return e, err
}

// Apply moves the node by an Input; the callbacks' event has args. It returns
// the errors of [machine.Machine.Apply]: looplab's are wrapped in a
// [*machine.HookError].
func (f *FSM) Apply(ctx context.Context, in machine.Input, args ...any) error {
	return f.fire(ctx, &firing{in: in, args: args})
}

// Metadata returns the metadata of a key, as looplab's FSM does.
func (f *FSM) Metadata(key string) (any, bool) { return f.inner.Metadata(key) }

// SetMetadata sets the metadata of a key.
func (f *FSM) SetMetadata(key string, value any) { f.inner.SetMetadata(key, value) }

// DeleteMetadata deletes the metadata of a key.
func (f *FSM) DeleteMetadata(key string) { f.inner.DeleteMetadata(key) }

// Current returns the word of the state that the node is in.
func (f *FSM) Current() string { return f.machine.Node().State.String() }

// Is reports whether the node is in the state of a word.
func (f *FSM) Is(state string) bool { return f.Current() == state }

// Can reports whether the table allows the event of a word now. A hook may still
// refuse it.
func (f *FSM) Can(event string) bool {
	e, err := eventOf(event)
	return err == nil && f.machine.Can(e) && f.pendingNow() == nil
}

// Cannot is the opposite of [FSM.Can].
func (f *FSM) Cannot(event string) bool { return !f.Can(event) }

// AvailableTransitions returns the words of the events that the table has for the
// node's state, in the order of [states.AllEvents].
func (f *FSM) AvailableTransitions() []string {
	var words []string
	for event := range f.machine.Events() {
		words = append(words, event.String())
	}
	return words
}
