// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"time"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/internal/sleep"
)

// Permit returns nil if a request to a node's hardware may be sent. The context comes from the call
// for which the request is sent. If the call needs the node's reservation and this process has lost
// it, Permit returns an error, and the request must not be sent; if this process may have lost it,
// Permit waits until that is known. A context that no conductor has made needs no permission.
//
// A [Hardware] calls Permit immediately before each request that changes the machine, and before each log-in that
// begins a session on it: both count in package hardwaretest. Credentials that are part of a request are no log-in.
// [Fake] and the hardware types of package hardware do so for each request, in all their methods and steps, so that a
// [Step] made of their methods needs no call of Permit.
func Permit(ctx context.Context) error { return fence.Check(ctx) }

// fenced returns the context for operations on the hardware of a node that this process has
// reserved. It first waits for the permission that [Permit] gives before each request.
func (e *engine) fenced(ctx context.Context, n *Node) (context.Context, error) {
	id := n.Claim
	ctx = fence.With(ctx, func(ctx context.Context) error { return e.holding(ctx, id) })
	return ctx, fence.Check(ctx)
}

// holdsInterval is the period at which holding calls Holds.
const holdsInterval = 50 * time.Millisecond

// holding waits until a member certainly holds its reservations: until its lease has not expired. It
// returns the cause if the context ends first, as the work's context does when the membership is
// lost.
func (e *engine) holding(ctx context.Context, member string) error {
	for ctx.Err() == nil {
		if e.config.Membership.Holds(member) {
			return nil
		}
		sleep.For(ctx, holdsInterval)
	}
	return context.Cause(ctx)
}
