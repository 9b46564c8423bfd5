// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// Sequence is a series of moves by one caller with no other's in between. It is for long work, such as a verification:
// the report of its end must not end other work that has begun since. The first move of a Sequence is like a move of
// the Machine. Each later one is refused with a [*SupersededError] once another caller has moved the node, even if it
// is back in the same state, or [Machine.SetNode] has changed its state or target (its documentation says what that
// leaves out). A move for whose error [Moved] is false changes nothing, and the caller may try again.
//
// Ironic keeps a node locked until the work ends. A Sequence locks nothing: a client can abort the work, and the worker
// gets the error. Several goroutines must not use a Sequence at once; an exit or enter hook of its move may go on with
// it.
type Sequence struct {
	m     *Machine
	began bool
	count uint64       // of the machine after the last move
	to    states.State // see State
}

// Sequence returns a new Sequence of moves.
func (m *Machine) Sequence() *Sequence { return &Sequence{m: m} }

// State returns the state to which the last move of the Sequence has led, NoState before its first. Another caller may
// have moved the node since, so that [Machine.Node] does not tell what became of the Sequence's own move.
func (s *Sequence) State() states.State { return s.to }

// Request is [Machine.Request] as a move of the Sequence.
func (s *Sequence) Request(ctx context.Context, target string, v states.APIVersion) error {
	twice := false
	err := s.move(ctx, func(n Node) (Input, error) {
		in, err := n.requested(s.m.table, target, v)
		twice = n.abortsTwice(s.m.table, in.Event)
		return in, err
	})
	if !twice || !Moved(err) {
		return err
	}
	second := s.Apply(ctx, serviceAborted)
	if !Moved(second) {
		second = &secondError{second}
	}
	return errors.Join(err, second)
}

// Report is [Machine.Report] as a move of the Sequence.
func (s *Sequence) Report(ctx context.Context, event states.Event, lastError string) error {
	return s.move(ctx, func(n Node) (Input, error) { return n.reported(s.m.table, event, lastError) })
}

// Apply is [Machine.Apply] as a move of the Sequence.
func (s *Sequence) Apply(ctx context.Context, in Input) error {
	return s.move(ctx, func(Node) (Input, error) { return in, nil })
}

// move moves the node by the input that derive returns for it.
func (s *Sequence) move(ctx context.Context, derive func(Node) (Input, error)) error {
	before := *s
	err := s.m.move(ctx, func(n Node) (Input, error) {
		if s.began && s.count != s.m.count {
			return Input{}, &SupersededError{State: n.State}
		}
		s.began, s.count = true, s.m.count+1 // before the exit and enter hooks, which may go on with the Sequence
		in, err := derive(n)
		s.to, _ = s.m.table.Next(n.State, in.Event)
		return in, err
	})
	if !Moved(err) {
		*s = before
	}
	return err
}

// SupersededError says that a move of a [Sequence] was refused, because another caller has moved the node since the
// Sequence has. It matches [states.ErrNotAllowed].
type SupersededError struct {
	State states.State // the node's state now
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("another caller has moved the node since, it is now in state %q", e.State)
}

// Is reports whether target is [states.ErrNotAllowed].
func (e *SupersededError) Is(target error) bool { return target == states.ErrNotAllowed }
