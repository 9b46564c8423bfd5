// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"time"
)

// These are variables because tests on a busy machine need more time.
var (
	// graceTime is how long a call may continue after its context has ended, in order
	// to leave no session open.
	graceTime = 1900 * time.Millisecond
	// loginGrace is the part of graceTime for the answer to a log-in.
	loginGrace = 1200 * time.Millisecond
	// probeWait is the time for the answer to a request over IPMI without credentials, of which four are sent.
	probeWait = time.Second
	// pauseTime is the time until a request is repeated that has failed for the moment.
	pauseTime = 3 * time.Second
)

type graceKey struct{}

// withGrace returns a context for a call. Its value is the context that ends with the
// call's grace time.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(graceTime, cancel) })
	return context.WithValue(ctx, graceKey{}, late), func() {
		stop()
		cancel()
	}
}

// closeConnection closes a connection within the grace time, even if the context has
// ended.
func closeConnection(ctx context.Context, c connection) {
	late, ok := ctx.Value(graceKey{}).(context.Context)
	if !ok {
		late = context.WithoutCancel(ctx)
	}
	late, cancel := context.WithTimeout(late, graceTime)
	defer cancel()
	c.close(late)
}
