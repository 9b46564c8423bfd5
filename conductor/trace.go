// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"runtime/debug"
	"sync"
)

// Tracer traces requests into the work that they start. That work continues after the
// response, possibly in another conductor. A Tracer must be safe for concurrent use.
type Tracer interface {
	// Origin returns a text that identifies the request of a context, such as a W3C
	// traceparent, or "". The text is stored with the node on which the request starts work.
	Origin(request context.Context) string
	// Trace must call do once, with ctx or a context derived from it. do returns the
	// operation's error, which contains no secret. If Trace panics or does not call do, the
	// conductor still does the operation.
	Trace(ctx context.Context, o Operation, do func(context.Context) error)
}

// Operation is a piece of work on a node that a [Tracer] sees.
type Operation struct {
	// Name is the provision state or power state that is worked on ("deploying", "power
	// on"), the name of a step ("deploy.deploy"), or a call of the node's hardware:
	// "verify", "read power", or "set " followed by a power state.
	Name string
	Node *Node
	// Origin is the origin of the request that started the work. It is empty for an
	// operation within another, and for one that no request has started.
	Origin string
}

// traced does an operation within a call of the configured tracer.
func (c *Config) traced(ctx context.Context, o Operation, do func(context.Context) error) error {
	if c.Tracer == nil {
		return do(ctx)
	}
	var once sync.Once
	var err error
	within := false
	run := func(ctx context.Context) error {
		once.Do(func() {
			within = true
			err = do(ctx)
			within = false
		})
		return err
	}
	func() {
		defer func() {
			if within {
				return // a panic of the operation propagates
			}
			if value := recover(); value != nil {
				c.Log.Error("the tracer has panicked", "node", o.Node.UUID, "value", value, "stack", string(debug.Stack()))
			}
		}()
		c.Tracer.Trace(ctx, o, run)
	}()
	return run(ctx)
}

// origin returns the text that is stored with the work that a request starts.
func (c *Config) origin(request context.Context) string {
	if origin, ok := request.Value(originKey{}).(string); ok {
		return origin
	}
	if c.Tracer == nil {
		return ""
	}
	return c.Tracer.Origin(request)
}

// originKey is the key of the origin in the context of a call of another conductor.
type originKey struct{}
