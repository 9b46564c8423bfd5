// SPDX-License-Identifier: Apache-2.0

// Package abandoned remembers calls of foreign code that do not return, so that no more of them are made meanwhile.
package abandoned

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
)

// Calls are the calls that package boundedcall has abandoned, by the key of what they are about. The zero value has
// none. It is safe for concurrent use.
type Calls[K comparable] struct {
	mu   sync.Mutex
	left map[K][]call
}

type call struct {
	*boundedcall.AbandonedError
	due time.Time // from which on the call is left
}

// Note remembers the call that has ended with an error, if it was abandoned, and reports whether it was.
func (c *Calls[K]) Note(key K, err error) bool { return c.NoteFrom(key, err, time.Time{}) }

// NoteFrom is Note for a call that may be in time until it is due: until then it is not left.
func (c *Calls[K]) NoteFrom(key K, err error, due time.Time) bool {
	noted := call{due: due}
	if !errors.As(err, &noted.AbandonedError) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil {
		c.left = map[K][]call{}
	}
	c.left[key] = append(c.left[key], noted)
	return true
}

// Left returns the error of an abandoned call with a key that is due and has not returned yet, nil if there is none.
func (c *Calls[K]) Left(key K) *boundedcall.AbandonedError {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := slices.DeleteFunc(c.left[key], func(call call) bool { return call.Returned() })
	if len(left) == 0 {
		delete(c.left, key)
		return nil
	}
	c.left[key] = left
	for _, call := range left {
		if !call.due.After(time.Now()) {
			return call.AbandonedError
		}
	}
	return nil
}
