// SPDX-License-Identifier: Apache-2.0

// Package retry waits between the attempts at a request that a BMC refuses for the moment.
package retry

import (
	"context"
	"time"
)

type noteKey struct{}

// WithNote returns a context by which note is told of each attempt that is followed by another, and why it has failed.
func WithNote(ctx context.Context, note func(attempt int, err error)) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// Wait waits for the pause that follows a failed attempt. It reports false, at once, if the time of the context does
// not suffice.
func Wait(ctx context.Context, pause time.Duration, attempt int, err error) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause || ctx.Err() != nil {
		return false
	}
	if note, ok := ctx.Value(noteKey{}).(func(int, error)); ok {
		note(attempt, err)
	}
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}
