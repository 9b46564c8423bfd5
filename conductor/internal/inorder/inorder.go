// SPDX-License-Identifier: Apache-2.0

// Package inorder calls a function once for each change of a record. The calls for one record are in the order of its
// revisions and never concurrent. Adding a change does not wait for its call.
package inorder

import (
	"slices"
	"sync"
)

// Queues has a queue for each key, the ID of a record. One goroutine at a time empties a queue, and calls the function
// without a lock. Queues is safe for concurrent use.
//
// Two goroutines may learn of their writes of one record in the wrong order. A write is accepted only in place of the
// revision that its writer has read, which is its base. So a write in flight can precede a stored one only if its base
// is the lower revision, and the changes of the stored one wait until no such write is in flight.
type Queues[T any] struct {
	limit         int
	call, dropped func(key string, change T)

	mu     sync.Mutex
	group  *sync.WaitGroup // of the goroutines that call; nil if the goroutines that add changes call
	queues map[string]*queue[T]
}

// queue has the changes of a record.
type queue[T any] struct {
	writes  map[*Write[T]]bool // in flight
	waiting []change[T]        // in the order of the revisions
	calling bool               // a goroutine empties the queue
}

type change[T any] struct {
	revision int64
	value    T
}

// New returns empty queues, which have limit changes of a record at most, and call call for each change. If a queue is
// full, its first change is dropped, for which dropped is called. A nil call stands for one that does nothing.
func New[T any](limit int, call, dropped func(key string, change T)) *Queues[T] {
	return &Queues[T]{limit: limit, call: call, dropped: dropped, queues: map[string]*queue[T]{}}
}

// RunIn has a group's goroutines call from now on; with nil the goroutine that has added a change or ended a write
// calls.
func (qs *Queues[T]) RunIn(group *sync.WaitGroup) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.group = group
}

// Len returns the number of records that have changes or writes in flight.
func (qs *Queues[T]) Len() int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return len(qs.queues)
}

// Write is a write in flight that may change a record. It ends when its changes are added.
type Write[T any] struct {
	queues *Queues[T]
	key    string // "" before Begin
	base   int64
}

// Writing returns a write that has not begun.
func (qs *Queues[T]) Writing() *Write[T] { return &Write[T]{queues: qs} }

// Begin notes that the revision base of a record is about to be replaced.
func (w *Write[T]) Begin(key string, base int64) {
	if w.queues.call == nil {
		return
	}
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	w.key, w.base = key, base
	w.queues.of(key).writes[w] = true
}

// End has the changes called that have waited for the write, if it has begun. The write may begin again.
func (w *Write[T]) End() {
	key := w.key
	if key == "" {
		return
	}
	w.queues.mu.Lock()
	delete(w.queues.queues[key].writes, w)
	w.key = ""
	w.queues.mu.Unlock()
	w.queues.start(key)
}

// Add adds a change, which has led to a revision. The end of a write in flight has it called.
func (qs *Queues[T]) Add(key string, revision int64, value T) {
	if qs.call == nil {
		return
	}
	qs.mu.Lock()
	q := qs.of(key)
	at := len(q.waiting)
	for at > 0 && q.waiting[at-1].revision > revision {
		at--
	}
	q.waiting = slices.Insert(q.waiting, at, change[T]{revision, value})
	var dropped []change[T]
	if over := len(q.waiting) - qs.limit; over > 0 {
		dropped = slices.Clone(q.waiting[:over])
		q.waiting = slices.Delete(q.waiting, 0, over)
	}
	qs.mu.Unlock()
	for _, c := range dropped {
		qs.dropped(key, c.value)
	}
}

// of returns the queue of a record. The caller holds the lock.
func (qs *Queues[T]) of(key string) *queue[T] {
	if qs.queues[key] == nil {
		qs.queues[key] = &queue[T]{writes: map[*Write[T]]bool{}}
	}
	return qs.queues[key]
}

// ready reports whether the first change can be called.
func (q *queue[T]) ready() bool {
	if len(q.waiting) == 0 {
		return false
	}
	for w := range q.writes {
		if w.base < q.waiting[0].revision {
			return false
		}
	}
	return true
}

// start empties the queue of a record, unless a goroutine does so already.
func (qs *Queues[T]) start(key string) {
	qs.mu.Lock()
	q, group := qs.queues[key], qs.group
	if q == nil || q.calling || !q.ready() {
		qs.forget(key)
		qs.mu.Unlock()
		return
	}
	q.calling = true
	if group != nil {
		group.Go(func() { qs.empty(key) }) // with the lock, so that who calls RunIn with nil can wait for the group
	}
	qs.mu.Unlock()
	if group == nil {
		qs.empty(key)
	}
}

// empty calls until no change of the record is ready.
func (qs *Queues[T]) empty(key string) {
	for value, ok := qs.next(key); ok; value, ok = qs.next(key) {
		qs.call(key, value)
	}
}

// next removes the first change from the queue of a record. It returns false if none is ready: the caller then no
// longer empties the queue.
func (qs *Queues[T]) next(key string) (value T, ok bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.queues[key]
	if q.calling = q.ready(); !q.calling {
		qs.forget(key)
		return value, false
	}
	value = q.waiting[0].value
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return value, true
}

// forget removes the queue of a record if nothing is left to do with it. The caller holds the lock.
func (qs *Queues[T]) forget(key string) {
	if q := qs.queues[key]; q != nil && !q.calling && len(q.waiting)+len(q.writes) == 0 {
		delete(qs.queues, key)
	}
}
