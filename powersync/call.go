// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/abandoned"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/keylock"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// calls makes calls of the caller's code, one at a time per key and in the order in which
// they are asked for. A call that does not return is abandoned; until it returns, calls
// with its key fail at once, so that at most one call per key is abandoned.
type calls struct {
	timeout   time.Duration // 0 is none
	grace     time.Duration
	locks     keylock.Locks
	abandoned abandoned.Calls[string]
}

func newCalls(timeout, grace time.Duration) *calls { return &calls{timeout: timeout, grace: grace} }

// call makes a call like callWithin, with the timeout of c.
func call[T any](ctx context.Context, c *calls, key string, f func(context.Context) (T, error)) (T, error) {
	return callWithin(ctx, c, c.timeout, key, f)
}

// callWithin makes a call. Its timeout begins once no other call with the key is in flight.
// If the call was not made, the error matches errNotCalled.
func callWithin[T any](
	ctx context.Context, c *calls, timeout time.Duration, key string, f func(context.Context) (T, error),
) (value T, err error) {
	if err := c.locks.Lock(ctx, key); err != nil {
		return value, fmt.Errorf("%w: %w", errNotCalled, err)
	}
	defer c.locks.Unlock(key)
	if c.abandoned.Left(key) != nil {
		return value, fmt.Errorf("%w: an earlier call for the node: %w", errNotCalled, errAbandoned)
	}
	outer := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	value, err = abandoned.Do(ctx, &c.abandoned, key, c.grace, f)
	switch failure := err.(type) {
	case *boundedcall.PanicError:
		return value, (*machine.PanicError)(failure)
	case *boundedcall.AbandonedError:
		if outer.Err() == nil {
			return value, fmt.Errorf("no answer in %v: %w: %w", timeout, errAbandoned, failure.Err)
		}
		return value, fmt.Errorf("%w: %w", errAbandoned, failure.Err)
	}
	return value, err
}

// each calls f for every record and every error that a list yields, until f returns false. f must
// return soon after the context ends. After each has returned, f is not called again.
func (c *calls) each(
	ctx context.Context, purpose string, list func(context.Context) iter.Seq2[Record, error], f func(Record, error) bool,
) error {
	var mu sync.Mutex
	over := false
	_, err := call(ctx, c, purpose, func(ctx context.Context) (none, error) {
		list(ctx)(func(r Record, err error) bool {
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
	timeout  time.Duration        // of set
	counters *counters
}

// validate returns nil if the driver is no Validator.
func (b *boundedDriver) validate(ctx context.Context, id string) error {
	validator, ok := b.driver.(Validator)
	if !ok {
		return nil
	}
	_, err := callDriver(ctx, b, b.calls.timeout, id, func(ctx context.Context) (none, error) {
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
	r.Power, r.Err = callDriver(ctx, b, b.calls.timeout, id, func(ctx context.Context) (states.Power, error) {
		b.counters.add(func(s *Stats) { s.Reads++ })
		return b.driver.PowerState(ctx, id)
	})
	return r
}

// set requests a power state, by the rule of [Confirm].
func (b *boundedDriver) set(ctx context.Context, id string, power states.Power) error {
	_, err := callDriver(ctx, b, b.timeout, id, func(ctx context.Context) (none, error) {
		b.counters.add(func(s *Stats) { s.Sets++ })
		return none{}, b.driver.SetPower(ctx, id, power)
	})
	return Confirm(ctx, power, err, func() Reading { return b.read(ctx, id, false) })
}

// forces reports whether rounds may set the power of a node.
func (b *boundedDriver) forces(ctx context.Context, id string) (bool, error) {
	if b.canForce == nil {
		return true, nil
	}
	return callDriver(ctx, b, b.calls.timeout, id, func(context.Context) (bool, error) { return b.canForce(id), nil })
}

type none struct{}

// callDriver makes a call of the driver, and counts the call if it is abandoned.
func callDriver[T any](
	ctx context.Context, b *boundedDriver, timeout time.Duration, id string, f func(context.Context) (T, error),
) (T, error) {
	value, err := callWithin(ctx, b.calls, timeout, id, f)
	if errors.Is(err, errAbandoned) && !errors.Is(err, errNotCalled) {
		b.counters.add(func(s *Stats) { s.Abandoned++ })
	}
	return value, err
}
