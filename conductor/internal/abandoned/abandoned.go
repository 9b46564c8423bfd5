// SPDX-License-Identifier: Apache-2.0

// Package abandoned remembers calls of foreign code that do not return, so that no more of them are made meanwhile.
package abandoned

import (
	"errors"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/internal/boundedcall"
)

// Calls are the calls that package boundedcall has abandoned, by the key of what they are about. The zero value has
// none. It is safe for concurrent use.
type Calls[K comparable] struct {
	mu   sync.Mutex
	left map[K][]*boundedcall.AbandonedError
}

// Note remembers the call that has ended with an error, if it was abandoned, and reports whether it was.
func (c *Calls[K]) Note(key K, err error) bool {
	var call *boundedcall.AbandonedError
	if !errors.As(err, &call) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil {
		c.left = map[K][]*boundedcall.AbandonedError{}
	}
	c.left[key] = append(c.left[key], call)
	return true
}

// Left returns the error of an abandoned call with a key that has not returned yet, nil if there is none.
func (c *Calls[K]) Left(key K) *boundedcall.AbandonedError {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := slices.DeleteFunc(c.left[key], func(call *boundedcall.AbandonedError) bool { return call.Returned() })
	if len(left) == 0 {
		delete(c.left, key)
		return nil
	}
	c.left[key] = left
	return left[0]
}
