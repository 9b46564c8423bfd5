// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/ironstate/ironstate/internal/abandoned"
	"github.com/ironstate/ironstate/internal/sleep"
)

// askTimeout bounds the methods of a hardware type that have no context. They read the node's record and not the
// hardware.
const askTimeout = 5 * time.Second

// question identifies a question to a hardware type about a node, such as "its steps", or a call of it, such as "to
// clean up".
type question struct{ driver, node, what string }

// askHardware calls methods of a node's hardware type that have no context. If the call panics or does not return in
// time, askHardware returns a [*HardwareError] that says what was asked for. It returns the context's error if the
// context has ended. As long as a call that is late has not returned, the same question about the node fails at once:
// clients and work ask again and again, and each call would keep a goroutine and a record. A call that a client has
// left may be in time for others until its own time is over.
func askHardware[T any](ctx context.Context, types *hardwareTypes, n *Node, what string, f func() T) (answer T, err error) {
	q := question{n.Driver, n.UUID, what}
	if left := types.unanswered.Left(q); left != nil {
		err = fmt.Errorf("an earlier question is not answered yet: %w", left)
	} else {
		due := time.Now().Add(askTimeout)
		limited, cancel := context.WithDeadline(ctx, due)
		defer cancel()
		answer, err = abandoned.DoUntil(limited, &types.unanswered, q, due, stepGrace, func(context.Context) (T, error) { return f(), nil })
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

// callHardware calls a method of a node's hardware type that has a context, or one of its steps. The call may panic,
// and has stepGrace to return after its context has ended. As long as a call hangs after that, the same call for the
// node fails at once, since each call would keep a goroutine and a record.
func callHardware[T any](
	ctx context.Context, types *hardwareTypes, n *Node, what string, f func(context.Context) (T, error),
) (result T, err error) {
	q := question{n.Driver, n.UUID, what}
	if types.unanswered.Left(q) != nil {
		return result, fmt.Errorf("an earlier call %s has not returned yet", what)
	}
	return abandoned.Do(ctx, &types.unanswered, q, stepGrace, f)
}

// call is callHardware for a call without a result.
func (ts *hardwareTypes) call(ctx context.Context, n *Node, what string, f func(context.Context) error) error {
	_, err := callHardware(ctx, ts, n, what, func(ctx context.Context) (none, error) { return none{}, f(ctx) })
	return err
}

// preparation asks others about a change of a node's record, such as the node's hardware type and the store, and
// returns the change, which asks nobody. It may modify the node. An error refuses the change.
type preparation func(ctx context.Context, n *Node) (change func(*Node) error, err error)

// editPrepared reads a node, prepares a change of it, and calls edit with both, such as [fleet.editFrom]. It prepares
// the change again only if another writer has meanwhile changed a field on which the answers may depend.
func (f *fleet) editPrepared(
	ctx context.Context, ident string, prepare preparation,
	edit func(ctx context.Context, ident string, read *Node, change func(*Node) error) (before, n *Node, err error),
) (before, n *Node, err error) {
	asked, err := f.node(ctx, ident)
	if err != nil {
		return nil, nil, err
	}
	for {
		var newer *Node
		change, refusal := prepare(ctx, asked.Clone())
		before, n, err = edit(ctx, ident, asked, func(n *Node) error {
			switch {
			case !n.answersAs(asked):
				newer = n
				return errAskAgain
			case refusal != nil:
				return refusal
			default:
				return change(n)
			}
		})
		if newer == nil {
			return before, n, err
		}
		asked = newer
	}
}

// errAskAgain ends an edit of a record that has changed since others were asked about it.
var errAskAgain = errors.New("the node's record has changed meanwhile")

// answersAs reports whether the answers about an earlier record of a node hold for this one: nothing has changed
// on which an answer may depend.
func (n *Node) answersAs(earlier *Node) bool {
	if n.Revision == earlier.Revision {
		return true
	}
	same := *n
	same.Revision, same.UpdatedAt, same.Health = earlier.Revision, earlier.UpdatedAt, earlier.Health
	same.Agent.LastHeartbeat = earlier.Agent.LastHeartbeat
	return reflect.DeepEqual(&same, earlier)
}

// waitFor waits until each such call that was abandoned has returned. It may have begun within an earlier membership.
func (ts *hardwareTypes) waitFor(ctx context.Context, n *Node, what string) error {
	_, err := sleep.Until(ctx, time.Second, func() (none, bool, error) {
		return none{}, ts.unanswered.Left(question{n.Driver, n.UUID, what}) == nil, nil
	})
	return err
}
