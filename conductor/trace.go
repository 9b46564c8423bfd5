package conductor

import (
	"context"
	"runtime/debug"
	"sync"
)

// Tracer follows requests into the work that they begin, which goes on after the answer
// and may be another conductor's. It is safe for concurrent use.
type Tracer interface {
	// Origin returns a text that names the request of a context, such as a W3C
	// traceparent, or an empty one. It is stored with the node that the request begins
	// work on.
	Origin(request context.Context) string
	// Trace calls do once, with ctx or a context derived from it; the error is that of
	// the operation, and has no secret. The operation is done also where Trace panics or
	// does not call do.
	Trace(ctx context.Context, o Operation, do func(context.Context) error)
}

// Operation is a piece of work on a node that a [Tracer] sees.
type Operation struct {
	// Name is the provision state whose work is done ("deploying"), the name of a
	// step ("deploy.deploy"), or a call of the node's hardware: "verify", "read power",
	// or "set " and a power state.
	Name string
	Node *Node
	// Origin is that of the request which has begun the work, empty for an operation
	// within another and for one that no request has begun.
	Origin string
}

// traced does an operation with the configured tracer around it.
func (c *Conductor) traced(ctx context.Context, o Operation, do func(context.Context) error) error {
	if c.config.Tracer == nil {
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
				return // the operation's own panic goes on
			}
			if value := recover(); value != nil {
				c.config.Log.Error("the tracer has panicked", "node", o.Node.UUID, "value", value, "stack", string(debug.Stack()))
			}
		}()
		c.config.Tracer.Trace(ctx, o, run)
	}()
	return run(ctx)
}

// origin returns the text that is stored with the work which a request begins.
func (c *Conductor) origin(request context.Context) string {
	if c.config.Tracer == nil {
		return ""
	}
	return c.config.Tracer.Origin(request)
}
