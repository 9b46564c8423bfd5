// SPDX-License-Identifier: Apache-2.0

// Package latest implements a queue of changes that keeps only the latest change of each key. A
// slow reader does not block writers, and the queue never has more entries than there are keys.
package latest

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// Queue holds the latest change of each key that its reader has not received yet. It has one
// reader and any number of writers. Writers never wait for the reader.
type Queue[V any] struct {
	compare func(a, b V) int
	ready   chan struct{} // holds a token while the queue is not empty

	mu      sync.Mutex
	pending map[string]entry[V]
	marks   []V
	err     error
}

type entry[V any] struct {
	value V
	// unseen is true if the reader has not received any value of the key.
	unseen bool
}

// New returns an empty queue. The reader receives pending values in the order of compare.
func New[V any](compare func(a, b V) int) *Queue[V] {
	return &Queue[V]{compare: compare, ready: make(chan struct{}, 1), pending: make(map[string]entry[V])}
}

// Add queues the first value of a key.
func (q *Queue[V]) Add(key string, value V) { q.set(key, value, true) }

// Set queues another value of a key that was added before.
func (q *Queue[V]) Set(key string, value V) { q.set(key, value, false) }

func (q *Queue[V]) set(key string, value V, added bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if before, ok := q.pending[key]; ok {
		added = before.unseen
	}
	q.pending[key] = entry[V]{value, added}
	q.wake()
}

// Remove queues a value that reports the removal of a key. A key that is added and removed
// before the reader receives it is dropped from the queue.
func (q *Queue[V]) Remove(key string, value V) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pending[key].unseen {
		delete(q.pending, key)
		return
	}
	q.pending[key] = entry[V]{value: value}
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
	for _, e := range q.pending {
		values = append(values, e.value)
	}
	slices.SortFunc(values, q.compare)
	values = append(values, q.marks...)
	q.pending, q.marks = make(map[string]entry[V]), nil
	return values, q.err
}
