package powersync

import (
	"context"
	"sync"
	"time"
)

// A callContext is the context of one driver call: what context.WithDeadline
// returns, but made when somebody asks for more than the deadline. Calls are
// many, and most drivers that are quick have no use for a timer.
type callContext struct {
	parent   context.Context
	deadline time.Time

	mu     sync.Mutex
	ended  bool
	made   context.Context // nil until it is asked for
	cancel context.CancelFunc
}

func newCallContext(parent context.Context, timeout time.Duration) *callContext {
	deadline := time.Now().Add(timeout)
	if d, ok := parent.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	return &callContext{parent: parent, deadline: deadline}
}

// end cancels the context: the call is over, or was given up.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *callContext) real() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.cancel = context.WithDeadline(c.parent, c.deadline)
		if c.ended {
			c.cancel()
		}
	}
	return c.made
}

func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }
func (c *callContext) Done() <-chan struct{}       { return c.real().Done() }
func (c *callContext) Err() error                  { return c.real().Err() }
func (c *callContext) Value(key any) any           { return c.real().Value(key) }
