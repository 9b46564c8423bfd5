// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/internal/boundedcall"
)

// maxQueuedTransitions bounds the transitions of one node that wait for OnTransition.
const maxQueuedTransitions = 100

// transitionQueues calls [Config.OnTransition]. Each node has a queue, which one goroutine at a time empties: the calls
// for a node are in the order of its revisions and never overlap, and no work waits for them. It is safe for concurrent
// use.
//
// Two goroutines may learn of their writes of one node in the wrong order. The store accepts a write only in place of
// the revision that its writer has read, which is its base. So a write in flight can precede a stored one only if its
// base is the lower revision, and the transitions of the stored one wait until no such write is in flight.
type transitionQueues struct {
	config *Config

	mu    sync.Mutex
	group *sync.WaitGroup             // of the goroutines of Run; nil unless Run runs
	nodes map[string]*transitionQueue // by UUID
}

// transitionQueue has the transitions of a node.
type transitionQueue struct {
	writes  map[*transitionWrite]bool // in flight
	waiting []Transition              // in the order of the revisions
	calling bool                      // a goroutine empties the queue
}

// ready reports whether the first transition can be reported.
func (q *transitionQueue) ready() bool {
	if len(q.waiting) == 0 {
		return false
	}
	for w := range q.writes {
		if w.base < q.waiting[0].Node.Revision {
			return false
		}
	}
	return true
}

// runIn has a group's goroutines call OnTransition from now on; with nil the goroutine that has written a transition
// calls it.
func (qs *transitionQueues) runIn(group *sync.WaitGroup) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.group = group
}

// of returns the queue of a node. The caller holds the lock.
func (qs *transitionQueues) of(id string) *transitionQueue {
	if qs.nodes[id] == nil {
		if qs.nodes == nil {
			qs.nodes = map[string]*transitionQueue{}
		}
		qs.nodes[id] = &transitionQueue{writes: map[*transitionWrite]bool{}}
	}
	return qs.nodes[id]
}

// transitionWrite is a write in flight that may move a node. It ends when its transitions are in the queue.
type transitionWrite struct {
	queues *transitionQueues
	node   string // the UUID; "" before begin
	base   int64
}

// writing returns a write that has not begun.
func (qs *transitionQueues) writing() *transitionWrite { return &transitionWrite{queues: qs} }

// begin notes that a node, or a changed clone of it, is about to be replaced in the store.
func (w *transitionWrite) begin(n *Node) {
	if w.queues.config.OnTransition == nil {
		return
	}
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
	w.node, w.base = n.UUID, n.Revision
	w.queues.of(w.node).writes[w] = true
}

// end reports the transitions that have waited for the write, if it has begun.
func (w *transitionWrite) end() {
	id := w.node
	if id == "" {
		return
	}
	w.queues.mu.Lock()
	delete(w.queues.nodes[id].writes, w)
	w.node = ""
	w.queues.mu.Unlock()
	w.queues.report(id)
}

// add puts a transition into the queue of its node. If the queue is full, its first transition is dropped.
func (qs *transitionQueues) add(t Transition) {
	if qs.config.OnTransition == nil {
		return
	}
	qs.mu.Lock()
	q := qs.of(t.Node.UUID)
	at := len(q.waiting)
	for at > 0 && q.waiting[at-1].Node.Revision > t.Node.Revision {
		at--
	}
	q.waiting = slices.Insert(q.waiting, at, t)
	var dropped []Transition
	if over := len(q.waiting) - maxQueuedTransitions; over > 0 {
		dropped = slices.Clone(q.waiting[:over])
		q.waiting = slices.Delete(q.waiting, 0, over)
	}
	qs.mu.Unlock()
	for _, t := range dropped {
		qs.config.Log.Error("a transition was not reported, since an earlier call of OnTransition does not return",
			"node", t.Node.UUID, "transition", t.String())
	}
}

// report calls OnTransition for the transitions of a node that are ready, unless a goroutine does so already.
func (qs *transitionQueues) report(id string) {
	qs.mu.Lock()
	q, group := qs.nodes[id], qs.group
	if q == nil || q.calling || !q.ready() {
		qs.forget(id)
		qs.mu.Unlock()
		return
	}
	q.calling = true
	if group != nil {
		group.Go(func() { qs.empty(id) }) // with the lock, so that Run waits for it
	}
	qs.mu.Unlock()
	if group == nil {
		qs.empty(id)
	}
}

// empty calls OnTransition until no transition of the node is ready.
func (qs *transitionQueues) empty(id string) {
	for t, ok := qs.next(id); ok; t, ok = qs.next(id) {
		_, err := boundedcall.Do(context.Background(), 0, func(context.Context) (struct{}, error) {
			qs.config.OnTransition(t)
			return struct{}{}, nil
		})
		if err != nil {
			qs.config.Log.Error("OnTransition failed", "node", id, "error", err)
		}
	}
}

// next removes the first transition from the queue of a node. It returns false if none is ready: the caller then no
// longer empties the queue.
func (qs *transitionQueues) next(id string) (t Transition, ok bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.nodes[id]
	if q.calling = q.ready(); !q.calling {
		qs.forget(id)
		return Transition{}, false
	}
	t = q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return t, true
}

// forget removes the queue of a node if nothing is left to do with it. The caller holds the lock.
func (qs *transitionQueues) forget(id string) {
	if q := qs.nodes[id]; q != nil && !q.calling && len(q.waiting)+len(q.writes) == 0 {
		delete(qs.nodes, id)
	}
}
