// SPDX-License-Identifier: Apache-2.0

// Package fence lets the context of a call decide, immediately before each request to
// hardware, whether the request may still be sent.
package fence

import "context"

type key struct{}

// With returns a context whose requests to hardware need a permission. A nil error of
// permit permits one request. permit may wait; it gets the context of the request.
func With(ctx context.Context, permit func(context.Context) error) context.Context {
	return context.WithValue(ctx, key{}, permit)
}

// Check asks for the permission to send a request. It returns nil if the context needs
// none.
func Check(ctx context.Context) error {
	permit, ok := ctx.Value(key{}).(func(context.Context) error)
	if !ok {
		return nil
	}
	return permit(ctx)
}
