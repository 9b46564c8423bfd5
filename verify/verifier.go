// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"

	"github.com/ironstate/ironstate/states"
)

// Verifier checks whether a node can be managed. Ironic's three steps are the
// contract: the power interface is valid, the management interface is valid, and
// the power state can be read with the node's credentials.
//
// Verify returns the power state that was read, PowerOn or PowerOff, or an error.
// It should return soon after its context ends. Its error should be an [*Error],
// and must not hold a secret: [Manage] stores the text in the node's last error.
type Verifier interface {
	Verify(ctx context.Context) (states.Power, error)
}

// Func is a function as a [Verifier]. A nil Func panics when it is called, as a nil
// [net/http.HandlerFunc] does; [Manage] returns that panic as an error.
type Func func(ctx context.Context) (states.Power, error)

// Verify calls f.
func (f Func) Verify(ctx context.Context) (states.Power, error) { return f(ctx) }
