// SPDX-License-Identifier: Apache-2.0

// Package sleep waits for a time, for a condition, or for the end of a context.
package sleep

import (
	"context"
	"time"
)

// For waits for d or until the context ends. It returns false if the context has ended.
func For(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Until calls f until it is done or fails, with a pause after each call, and returns its last value. If the context
// ends first, the error is the cause of that.
func Until[V any](ctx context.Context, pause time.Duration, f func() (v V, done bool, err error)) (V, error) {
	for {
		v, done, err := f()
		if done || err != nil {
			return v, err
		}
		if !For(ctx, pause) {
			return v, context.Cause(ctx)
		}
	}
}
