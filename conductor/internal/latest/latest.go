// SPDX-License-Identifier: Apache-2.0

// Package latest implements a queue of changes that keeps only the latest change of each key. A
// slow reader does not block writers, and the queue never has more entries than keys were changed.
package latest

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Queue holds the latest change of each key that its reader has not received yet. It has one
// reader and any number of writers. Writers never wait for the reader.
type Queue[V any] struct {
	compare func(a, b V) int
	ready   chan struct{} // holds a token while the queue is not empty

	mu      sync.Mutex
	pending map[string]V
	marks   []V
	err     error
}

// New returns an empty queue. The reader receives pending values in the order of compare.
func New[V any](compare func(a, b V) int) *Queue[V] {
	return &Queue[V]{compare: compare, ready: make(chan struct{}, 1), pending: make(map[string]V)}
}

// Set queues a value of a key, in place of one that the reader has not received. A value that reports
// the removal of the key is such a value, too: the reader may know the key from elsewhere.
func (q *Queue[V]) Set(key string, value V) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending[key] = value
	q.wake()
}

// Mark queues a value that the reader receives after all values that are pending now.
func (q *Queue[V]) Mark(value V) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.marks = append(q.marks, value)
	q.wake()
}

// Fail ends the reader's range with an error, after all pending values.
func (q *Queue[V]) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	q.wake()
}

// wake wakes the reader. The caller holds the lock.
func (q *Queue[V]) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// All yields the queued values, and further values as they are queued, until the context ends,
// which is no error, or [Queue.Fail] is called.
func (q *Queue[V]) All(ctx context.Context) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-q.ready:
			}
			values, err := q.take()
			for _, v := range values {
				if ctx.Err() != nil || !yield(v, nil) {
					return
				}
			}
			if err != nil {
				if ctx.Err() == nil {
					var none V
					yield(none, err)
				}
				return
			}
		}
	}
}

func (q *Queue[V]) take() ([]V, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	values := make([]V, 0, len(q.pending)+len(q.marks))
	values = slices.AppendSeq(values, maps.Values(q.pending))
	slices.SortFunc(values, q.compare)
	values = append(values, q.marks...)
	q.pending, q.marks = make(map[string]V), nil
	return values, q.err
}
