// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// maxGrace is how long a call may take to return once its context ended.
const maxGrace = 2 * time.Second

// calls makes calls of the caller's code, one at a time per key and in the order in which
// they are asked for. A call that does not return is abandoned; until it returns, calls
// with its key fail at once, so that at most one call per key is abandoned.
type calls struct {
	timeout time.Duration // 0 is none
	grace   time.Duration

	mu       sync.Mutex
	inFlight map[string][]chan struct{} // has a key while its call is in flight, with a channel for each that waits
	left     map[string]*boundedcall.AbandonedError
}

func newCalls(timeout, grace time.Duration) *calls {
	return &calls{
		timeout:  timeout,
		grace:    grace,
		inFlight: make(map[string][]chan struct{}),
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
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", errNotCalled, err)
	}
	turn := c.line(key)
	select {
	case <-turn:
	case <-ctx.Done():
	}
	return c.enter(ctx, key, turn)
}

// line puts a call at the end of its key's line. The channel is closed once it is the call's turn, at once if no other
// call is in flight.
func (c *calls) line(key string) (turn chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, busy := c.inFlight[key]
	turn = make(chan struct{})
	c.inFlight[key] = append(waiting, turn)
	if !busy {
		c.next(key)
	}
	return turn
}

// enter ends the wait of a call, whose turn has come or whose context has ended: the call may be made, or leaves the
// line and gives a turn that it has to the next.
func (c *calls) enter(ctx context.Context, key string, turn chan struct{}) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.inFlight[key], turn); i >= 0 {
		c.inFlight[key] = slices.Delete(c.inFlight[key], i, i+1)
		return fmt.Errorf("%w: %w", errNotCalled, ctx.Err())
	}
	if err := ctx.Err(); err != nil { // it ended when the turn came
		c.next(key)
		return fmt.Errorf("%w: %w", errNotCalled, err)
	}
	left := c.left[key]
	if left == nil {
		return nil
	}
	if left.Returned() {
		delete(c.left, key)
		return nil
	}
	c.next(key)
	return fmt.Errorf("%w: an earlier call for the node: %w", errNotCalled, errAbandoned)
}

// next gives the turn to the first that waits for a key. The caller holds mu, and has the turn.
func (c *calls) next(key string) {
	waiting := c.inFlight[key]
	if len(waiting) == 0 {
		delete(c.inFlight, key)
		return
	}
	c.inFlight[key] = waiting[1:]
	close(waiting[0])
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
	c.next(key)
}

// each calls f for every record and every error of a Handler, until f returns false. f must return
// soon after the context ends. After each has returned, f is not called again.
func (c *calls) each(ctx context.Context, purpose string, h Handler, f func(Record, error) bool) error {
	var mu sync.Mutex
	over := false
	_, err := call(ctx, c, purpose, func(ctx context.Context) (none, error) {
		h.Records(ctx)(func(r Record, err error) bool {
			mu.Lock()
			defer mu.Unlock()
			return !over && f(r, err)
		})
		return none{}, nil
	})
	mu.Lock()
	defer mu.Unlock()
	over = true
	return err
}

// boundedStore is a Store whose load and update are bounded.
type boundedStore struct {
	Store
	calls *calls // by node
}

func (b *boundedStore) load(ctx context.Context, id string) (Record, error) {
	r, err := call(ctx, b.calls, id, func(ctx context.Context) (Record, error) { return b.Load(ctx, id) })
	if err == nil && r.ID != id {
		err = fmt.Errorf("asked for node %q, the store loaded %q", id, r.ID)
	}
	return r, err
}

func (b *boundedStore) update(ctx context.Context, r Record) error {
	_, err := call(ctx, b.calls, r.ID, func(ctx context.Context) (none, error) { return none{}, b.Update(ctx, r) })
	return err
}

// boundedDriver is a Driver whose calls are bounded and counted.
type boundedDriver struct {
	driver   Driver
	canForce func(id string) bool // may be nil
	calls    *calls               // by node
	counters *counters
}

// validate returns nil if the driver is no Validator.
func (b *boundedDriver) validate(ctx context.Context, id string) error {
	validator, ok := b.driver.(Validator)
	if !ok {
		return nil
	}
	_, err := callDriver(ctx, b, id, func(ctx context.Context) (none, error) {
		return none{}, validator.Validate(ctx, id)
	})
	return err
}

// read reads a node's power state, after validating its configuration if wanted.
func (b *boundedDriver) read(ctx context.Context, id string, validate bool) (r Reading) {
	if validate {
		if r.Invalid = b.validate(ctx, id); r.Invalid != nil {
			return r
		}
	}
	r.Power, r.Err = callDriver(ctx, b, id, func(ctx context.Context) (states.Power, error) {
		b.counters.reads.Add(1)
		return b.driver.PowerState(ctx, id)
	})
	return r
}

// set requests a power state, by the rule of [Confirm].
func (b *boundedDriver) set(ctx context.Context, id string, power states.Power) error {
	_, err := callDriver(ctx, b, id, func(ctx context.Context) (none, error) {
		b.counters.sets.Add(1)
		return none{}, b.driver.SetPower(ctx, id, power)
	})
	return Confirm(ctx, power, err, func() Reading { return b.read(ctx, id, false) })
}

// forces reports whether rounds may set the power of a node.
func (b *boundedDriver) forces(ctx context.Context, id string) (bool, error) {
	if b.canForce == nil {
		return true, nil
	}
	return callDriver(ctx, b, id, func(context.Context) (bool, error) { return b.canForce(id), nil })
}

type none struct{}

// callDriver makes a call of the driver, and counts the call if it is abandoned.
func callDriver[T any](ctx context.Context, b *boundedDriver, id string, f func(context.Context) (T, error)) (T, error) {
	value, err := call(ctx, b.calls, id, f)
	if errors.Is(err, errAbandoned) && !errors.Is(err, errNotCalled) {
		b.counters.abandoned.Add(1)
	}
	return value, err
}
