// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/sleep"
)

// askTimeout bounds the methods of a hardware type that have no context. They read the node's record and not the
// hardware. With stepGrace it is shorter than reportTimeout, since the end of work asks within an attempt to store it.
const askTimeout = 5 * time.Second

// question identifies a question to a hardware type about a node, such as "its steps", or a call of it, such as "to
// clean up".
type question struct{ driver, node, what string }

// ask calls methods of a node's hardware type that have no context. If the call panics or does not return in time, ask
// returns a [*HardwareError] that names what was asked for. It returns the context's error if the context has ended.
// While a call does not return that has not returned in time, the same question about the node fails at once: clients
// and work ask again and again, and each call would keep a goroutine and a record. A call that a client has left may be
// in time for others until its own time is over.
func ask[T any](ctx context.Context, types *hardwareTypes, n *Node, what string, f func() T) (answer T, err error) {
	q := question{n.Driver, n.UUID, what}
	if left := types.unanswered.Left(q); left != nil {
		err = fmt.Errorf("an earlier question is not answered yet: %w", left)
	} else {
		due := time.Now().Add(askTimeout)
		limited, cancel := context.WithDeadline(ctx, due)
		defer cancel()
		answer, err = boundedcall.Do(limited, stepGrace, func(context.Context) (T, error) { return f(), nil })
		types.unanswered.NoteFrom(q, err, due)
	}
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	default:
		return answer, &HardwareError{fmt.Errorf("the hardware type could not be asked for %s: %w", what, err)}
	}
}

// operate calls a method of a node's hardware type that has a context, or one of its steps. The call may panic, and has
// stepGrace to return after its context has ended. As long as a call hangs after that, the same call for the node fails
// at once, since each call would keep a goroutine and a record.
func operate[T any](
	ctx context.Context, types *hardwareTypes, n *Node, what string, f func(context.Context) (T, error),
) (result T, err error) {
	q := question{n.Driver, n.UUID, what}
	if types.unanswered.Left(q) != nil {
		return result, fmt.Errorf("an earlier call %s has not returned yet", what)
	}
	var returned atomic.Bool
	result, err = boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (T, error) {
		defer returned.Store(true)
		return f(ctx)
	})
	if !returned.Load() { // else the error may be about a call within this one, which is remembered by itself
		types.unanswered.Note(q, err)
	}
	return result, err
}

// operate is the function operate for a call without a result.
func (ts *hardwareTypes) operate(ctx context.Context, n *Node, what string, f func(context.Context) error) error {
	_, err := operate(ctx, ts, n, what, func(ctx context.Context) (none, error) { return none{}, f(ctx) })
	return err
}

// waitFor waits until each such call that was abandoned has returned. It may have begun within an earlier membership.
func (ts *hardwareTypes) waitFor(ctx context.Context, n *Node, what string) error {
	_, err := sleep.Until(ctx, time.Second, func() (none, bool, error) {
		return none{}, ts.unanswered.Left(question{n.Driver, n.UUID, what}) == nil, nil
	})
	return err
}
