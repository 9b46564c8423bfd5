// SPDX-License-Identifier: Apache-2.0

// Package abandoned remembers calls of foreign code that do not return, so that no more of them are made meanwhile.
package abandoned

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
)

// Calls are the calls that package boundedcall has abandoned and that have not returned since, by the key of what they
// are about. The zero value has none. It is safe for concurrent use.
type Calls[K comparable] struct {
	mu   sync.Mutex
	left map[K][]*call
}

type call struct {
	due      time.Time // from which on the call is left
	err      error     // nil unless the call was abandoned
	returned bool
}

// Do calls f as [boundedcall.Do] does. If the call is abandoned, it is left until f has returned.
func Do[K comparable, T any](
	ctx context.Context, c *Calls[K], key K, grace time.Duration, f func(context.Context) (T, error),
) (T, error) {
	return DoUntil(ctx, c, key, time.Time{}, grace, f)
}

// DoUntil is Do for a call that may be in time until it is due, also if ctx ends earlier: until then it is not left.
func DoUntil[K comparable, T any](
	ctx context.Context, c *Calls[K], key K, due time.Time, grace time.Duration, f func(context.Context) (T, error),
) (T, error) {
	made := &call{due: due}
	value, err := boundedcall.Do(ctx, grace, func(ctx context.Context) (T, error) {
		defer c.end(key, made)
		return f(ctx)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if !made.returned { // err is not of a call within f, since f has returned nothing
		made.err = err
		if c.left == nil {
			c.left = map[K][]*call{}
		}
		c.left[key] = append(c.left[key], made)
	}
	return value, err
}

// end notes that a call has returned.
func (c *Calls[K]) end(key K, made *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	made.returned = true
	if made.err == nil {
		return
	}
	c.left[key] = slices.DeleteFunc(c.left[key], func(other *call) bool { return other == made })
	if len(c.left[key]) == 0 {
		delete(c.left, key)
	}
}

// Left returns the error of a call with a key that is left and due, nil if there is none.
func (c *Calls[K]) Left(key K) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.left[key] {
		if !call.due.After(time.Now()) {
			return call.err
		}
	}
	return nil
}
