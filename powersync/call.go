// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/machine"
)

// maxGrace is how long a call may take to return once its context ended.
const maxGrace = 2 * time.Second

// calls makes calls of the caller's code, one at a time per key. A call that does not
// return is abandoned; until it returns, calls with its key fail at once, so that at
// most one call per key is abandoned.
type calls struct {
	timeout time.Duration // 0 is none
	grace   time.Duration

	mu       sync.Mutex
	inFlight map[string]chan struct{} // closed when the call has returned or is abandoned; nil while nobody waits
	left     map[string]*boundedcall.AbandonedError
}

func newCalls(timeout, grace time.Duration) *calls {
	return &calls{
		timeout:  timeout,
		grace:    grace,
		inFlight: make(map[string]chan struct{}),
		left:     make(map[string]*boundedcall.AbandonedError),
	}
}

// call makes a call. Its timeout begins once no other call with the key is in flight.
// If the call was not made, the error matches errNotCalled.
func call[T any](ctx context.Context, c *calls, key string, f func(context.Context) (T, error)) (T, error) {
	if err := c.begin(ctx, key); err != nil {
		var none T
		return none, err
	}
	outer := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	value, err := boundedcall.Do(ctx, c.grace, f)
	c.end(key, err)

	var abandoned *boundedcall.AbandonedError
	switch panicked, ok := err.(*boundedcall.PanicError); {
	case ok:
		err = (*machine.PanicError)(panicked)
	case errors.As(err, &abandoned) && outer.Err() == nil:
		err = fmt.Errorf("no answer in %v: %w: %w", c.timeout, errAbandoned, abandoned.Err)
	case errors.As(err, &abandoned):
		err = fmt.Errorf("%w: %w", errAbandoned, abandoned.Err)
	}
	return value, err
}

// begin waits until no other call with the key is in flight.
func (c *calls) begin(ctx context.Context, key string) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: %w", errNotCalled, err)
		}
		c.mu.Lock()
		other, busy := c.inFlight[key]
		left := c.left[key]
		if left != nil && left.Returned() {
			delete(c.left, key)
			left = nil
		}
		switch {
		case left != nil:
		case !busy:
			c.inFlight[key] = nil
		case other == nil:
			other = make(chan struct{})
			c.inFlight[key] = other
		}
		c.mu.Unlock()
		switch {
		case left != nil:
			return fmt.Errorf("%w: an earlier call for the node: %w", errNotCalled, errAbandoned)
		case !busy:
			return nil
		}
		select {
		case <-other:
		case <-ctx.Done():
		}
	}
}

// end records that the call has returned, or that it is abandoned if the error says
// so.
func (c *calls) end(key string, err error) {
	var abandoned *boundedcall.AbandonedError
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.As(err, &abandoned) {
		c.left[key] = abandoned
	}
	if waiting := c.inFlight[key]; waiting != nil {
		close(waiting)
	}
	delete(c.inFlight, key)
}
