// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor/internal/inorder"
	"github.com/ironstate/ironstate/states"
)

// TransitionRecord is an entry of a node's Transitions. It is not in Ironic's record. Its text form,
// which the store has, is short: a fleet has many of them.
type TransitionRecord struct {
	Time     time.Time // in microseconds, UTC
	Event    states.Event
	From, To states.State
	// Target is the node's target after the transition, NoState for none.
	Target states.State
	// LastError is the node's last error after the transition. A text of more than 256 bytes is cut
	// off; the complete text of a failure is in the node's history, see [Conductor.History].
	LastError string
}

// Transition is a stored transition of a node.
type Transition struct {
	TransitionRecord
	// Node is the node as it was stored. If one write had several transitions, as the abort of a
	// service has, it is the node after the last of them.
	Node *Node
}

// String returns the transition as "enroll --manage--> verifying".
func (t TransitionRecord) String() string {
	return states.Transition{From: t.From, Event: t.Event, To: t.To}.String()
}

// MarshalText implements [encoding.TextMarshaler]. The text is the time in microseconds since 1970,
// the event, the states and the last error, separated by commas.
func (t TransitionRecord) MarshalText() ([]byte, error) {
	text := strconv.AppendInt(make([]byte, 0, 64+len(t.LastError)), t.Time.UnixMicro(), 10)
	target := ""
	if t.Target != states.NoState {
		target = t.Target.String()
	}
	for _, part := range []string{t.Event.String(), t.From.String(), t.To.String(), target} {
		text = append(append(text, ','), part...)
	}
	if t.LastError != "" {
		text = append(append(text, ','), t.LastError...)
	}
	return text, nil
}

// UnmarshalText takes the output of MarshalText; t keeps its value on error.
func (t *TransitionRecord) UnmarshalText(text []byte) error {
	micros, rest, _ := strings.Cut(string(text), ",")
	event, rest, _ := strings.Cut(rest, ",")
	from, rest, _ := strings.Cut(rest, ",")
	to, rest, complete := strings.Cut(rest, ",")
	target, lastError, _ := strings.Cut(rest, ",")
	if !complete {
		return fmt.Errorf("conductor: %q is no transition", text)
	}
	at, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return fmt.Errorf("conductor: %q is no transition: %w", text, err)
	}
	parsed := TransitionRecord{Time: time.UnixMicro(at).UTC(), LastError: lastError}
	if parsed.Event, err = states.ParseEvent(event); err != nil {
		return err
	}
	if parsed.From, err = states.Parse(from); err != nil {
		return err
	}
	if parsed.To, err = states.Parse(to); err != nil {
		return err
	}
	if target != "" {
		if parsed.Target, err = states.Parse(target); err != nil {
			return err
		}
	}
	*t = parsed
	return nil
}

// TransitionsSince returns the node's transitions that an earlier version of its record does not
// have, oldest first. It returns all of the record's if earlier is nil.
func (n *Node) TransitionsSince(earlier *Node) []TransitionRecord {
	if earlier == nil || len(earlier.Transitions) == 0 {
		return n.Transitions
	}
	last := earlier.Transitions[len(earlier.Transitions)-1]
	for i := len(n.Transitions) - 1; i >= 0; i-- {
		if n.Transitions[i] == last {
			return n.Transitions[i+1:]
		}
	}
	return n.Transitions
}

// isSameMove reports whether two entries differ in their times alone.
func (t TransitionRecord) isSameMove(other TransitionRecord) bool {
	other.Time = t.Time
	return t == other
}

// rowsOf returns the rows of the table by which an event that was requested or reported leads from a
// state to another. They are two for the abort of a service, see [machine.Node.Request]. The row's
// event is another one if [machine.Node.Report] has replaced it.
func rowsOf(table *states.Table, from states.State, event states.Event, to states.State) []states.Transition {
	via, _ := table.Next(from, event)
	if end, _ := table.Next(via, event); end == to {
		return []states.Transition{{From: from, Event: event, To: via}, {From: via, Event: event, To: to}}
	}
	if via != to {
		for other := range table.Events(from) {
			if end, _ := table.Next(from, other); end == to {
				event = other
				break
			}
		}
	}
	return []states.Transition{{From: from, Event: event, To: to}}
}

// maxExcerpt bounds the last error of a TransitionRecord, in bytes.
const maxExcerpt = 256

// excerpt returns the beginning of a text.
func excerpt(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	end := maxExcerpt - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// maxQueuedTransitions bounds the transitions of one node that wait for OnTransition.
const maxQueuedTransitions = 100

// newTransitions returns the queues of [Config.OnTransition].
func newTransitions(c *Config) *inorder.Queues[Transition] {
	if c.OnTransition == nil {
		return inorder.New[Transition](0, nil, nil)
	}
	call := func(id string, t Transition) {
		if err := bounded(context.Background(), func(context.Context) error { c.OnTransition(t); return nil }); err != nil {
			c.Log.Error("OnTransition failed", "node", id, "error", err)
		}
	}
	return inorder.New(maxQueuedTransitions, call, func(id string, t Transition) {
		c.Log.Error("a transition was not reported, since an earlier call of OnTransition does not return",
			"node", id, "transition", t.String())
	})
}

// moved logs the transitions since an earlier version of a node's record, and queues them for OnTransition.
func (e *engine) moved(earlier, n *Node) {
	for _, t := range n.TransitionsSince(earlier) {
		e.config.logMoved(n, t)
		e.transitions.Add(n.UUID, n.Revision, Transition{t, n})
	}
}

// editAndNotify is fleet.editFrom for a change that may move the node. A write whose response was lost is looked for
// once.
func (e *engine) editAndNotify(ctx context.Context, ident string, read *Node, change func(*Node) error) (before, n *Node, err error) {
	write := e.transitions.Writing()
	defer write.End()
	var old, attempt *Node // of a write in flight
	before, n, err = e.fleet.editFrom(ctx, ident, read, func(n *Node) error {
		write.End() // an earlier attempt has met a conflict
		old, attempt = n.Clone(), nil
		err := change(n)
		if err == nil {
			write.Begin(n.UUID, n.Revision)
			attempt = n
		}
		return err
	})
	if err != nil && attempt != nil && !errors.As(err, new(*Error)) && !errors.Is(err, ErrTooLarge) {
		if stored := e.fleet.stored(ctx, attempt); stored != nil {
			before, n, err = old, stored, nil
		}
	}
	if err == nil {
		e.moved(before, n)
	}
	return before, n, err
}

// stored returns a node as it is stored if a write whose response was lost has stored it, and nobody has written it
// since; otherwise nil.
func (f *fleet) stored(ctx context.Context, attempt *Node) *Node {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	want, err := encodeNode(attempt)
	if err != nil {
		return nil
	}
	got, err := f.load(ctx, KindNode, attempt.UUID)
	if err != nil || got.Revision == attempt.Revision || !bytes.Equal(got.Value, want.Value) {
		return nil
	}
	n, err := decodeNode(got)
	if err != nil {
		return nil
	}
	f.nodes.Replace(n)
	return n
}
