// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"sync/atomic"
)

// ShareReads returns a context for calls of a [Driver] that read several properties of one machine at about the same
// time. Over a kept connection, Health, Vendor, BootMode and SecureBoot then share one read of the Redfish system,
// until another call has the context. A call with another context does not end the sharing: what it changes is not
// seen. The power state is always read.
func ShareReads(ctx context.Context) context.Context {
	return context.WithValue(ctx, shareKey{}, new(atomic.Pointer[sharedSystem]))
}

type shareKey struct{}

// sharedSystem is a system as it was read over a connection.
type sharedSystem struct {
	by     *redfishConnection
	system resource
}

// sharedIn returns the system that calls in a context share, and a variable of its own for a context without one.
func sharedIn(ctx context.Context) *atomic.Pointer[sharedSystem] {
	if shared, ok := ctx.Value(shareKey{}).(*atomic.Pointer[sharedSystem]); ok {
		return shared
	}
	return new(atomic.Pointer[sharedSystem])
}

// sharing returns the context of a call that has the node's lock. A call that does not share ends the sharing of what
// was read before.
func (of call) sharing(ctx context.Context) context.Context {
	if of.shares {
		return ctx
	}
	sharedIn(ctx).Store(nil)
	return context.WithValue(ctx, shareKey{}, nil)
}
