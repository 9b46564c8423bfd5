// SPDX-License-Identifier: Apache-2.0

// Package index keeps the records of one kind in memory: by ID, by name, by node, by state, and in the order of their
// creation. An [Index] follows the watch of a store and has the writes of its own process, too, so that a process reads
// its own writes.
package index

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/latest"
	"github.com/ironstate/ironstate/states"
)

// Index holds the decoded records of one kind in memory, oldest first. Its sources are the store's
// Watch and the writes of this process, so that a process reads its own writes; the record with
// the higher revision wins. Its methods are safe for concurrent use.
type Index[R comparable] struct {
	meta   func(R) Meta
	synced chan struct{} // closed when the index has all records of the store
	once   sync.Once

	mu      sync.RWMutex
	records map[string]R
	byName  map[string]R
	byNode  map[string][]R       // by Meta.Node, oldest first
	order   []R                  // sorted by Meta.compare
	inState map[states.State]int // the number of records by Meta.State
	deleted map[string]int64     // revisions of deletions that the watch has not reported yet
	pending map[*pending]bool    // the creations and deletions by this process that have not ended

	watchers map[*latest.Queue[Change[R]]]bool
}

// pending is a creation or a deletion by this process, and what the watch has reported since it was sent.
type pending struct {
	id      string
	deleted int64 // the revision of the last deletion of the record
	unseen  bool  // a new watch is Synced without the record, which may have been deleted before that watch began
}

// Meta holds the fields of a record that an index uses.
type Meta struct {
	ID, Name string // Name is empty for a record without one
	Created  time.Time
	Node     string       // the node that an object belongs to, or the parent of a node; empty for none
	State    states.State // the provision state of a node; NoState for an object
	Revision int64
}

func (m Meta) compare(other Meta) int {
	return cmp.Or(m.Created.Compare(other.Created), cmp.Compare(m.ID, other.ID))
}

// New returns an empty index, which [Index.Follow] fills. R is a pointer or an interface; meta returns the fields of a
// record.
func New[R comparable](meta func(R) Meta) *Index[R] {
	return &Index[R]{
		meta: meta, synced: make(chan struct{}),
		records: map[string]R{}, byName: map[string]R{}, byNode: map[string][]R{}, inState: map[states.State]int{}, deleted: map[string]int64{},
		watchers: map[*latest.Queue[Change[R]]]bool{}, pending: map[*pending]bool{},
	}
}

// put inserts or replaces a record that the watch reports, unless the index has the same or a newer revision.
func (x *Index[R]) put(value R) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.insert(value)
}

// Replace replaces a record that this process has written or read, unless the index has the same or a newer
// revision. If the index lacks the record, or has one of the same ID that was created at another time, the watch
// will report it, or it has reported its deletion while the store's answer was on its way.
func (x *Index[R]) Replace(value R) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old, has := x.records[x.meta(value).ID]; has && x.meta(old).Created.Equal(x.meta(value).Created) {
		x.insert(value)
	}
}

// HasOlder reports whether the index has an earlier revision of a record.
func (x *Index[R]) HasOlder(value R) bool {
	m := x.meta(value)
	x.mu.RLock()
	defer x.mu.RUnlock()
	old, has := x.records[m.ID]
	return has && x.meta(old).Revision < m.Revision
}

// Create calls store, which creates the record and sets its revision, and then inserts the record, unless the watch has
// reported its deletion by then. If another watch has begun meanwhile and has not yielded the record, Create calls
// exists, which reports whether the store has a record. If it has not, or if that fails, Create removes the record
// again unless the watch has yielded it by then. A watch that has not yields it later if the store has it.
func (x *Index[R]) Create(value R, store func() error, exists func(id string) (bool, error)) error {
	p := x.begin(x.meta(value).ID)
	defer x.end(p)
	if err := store(); err != nil {
		return err
	}
	if unseen := x.created(p, value); unseen {
		if stored, _ := exists(p.id); !stored {
			x.forget(value, p)
		}
	}
	return nil
}

// created inserts a record that the store has created, and reports whether another watch has not yielded it.
func (x *Index[R]) created(p *pending, value R) (unseen bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.deleted < x.meta(value).Revision {
		x.insert(value)
	}
	return p.unseen
}

// Delete calls store, which deletes a record and returns the revision of the deletion, and then removes the record.
// Until the watch has reported the deletion, it may report older writes of the record, which the index ignores.
func (x *Index[R]) Delete(id string, store func() (int64, error)) error {
	p := x.begin(id)
	defer x.end(p)
	revision, err := store()
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.deleted < revision {
		x.deleted[id] = revision
	}
	x.removeBefore(id, revision)
	return nil
}

// begin notes a creation or a deletion before it is sent to the store, and end forgets it.
func (x *Index[R]) begin(id string) *pending {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := &pending{id: id}
	x.pending[p] = true
	return p
}

func (x *Index[R]) end(p *pending) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.pending, p)
}

// insert is put for a caller that holds the lock.
func (x *Index[R]) insert(value R) {
	m := x.meta(value)
	if x.deleted[m.ID] > m.Revision {
		return
	}
	old, has := x.records[m.ID]
	if has && x.meta(old).Revision >= m.Revision {
		return
	}
	if has && x.meta(old).compare(m) == 0 && x.meta(old).Node == m.Node {
		x.order[x.position(x.order, m)] = value
		x.byNode[m.Node][x.position(x.byNode[m.Node], m)] = value
		x.unlink(old)
	} else {
		if has {
			x.remove(old)
		}
		x.order = slices.Insert(x.order, x.position(x.order, m), value)
		x.byNode[m.Node] = slices.Insert(x.byNode[m.Node], x.position(x.byNode[m.Node], m), value)
	}
	x.link(value)
}

// link adds a record to the counters and to the maps by ID and by name, and reports it to the
// watchers. The caller holds the lock.
func (x *Index[R]) link(value R) {
	m := x.meta(value)
	x.report(Change[R]{m.ID, value})
	x.records[m.ID] = value
	x.inState[m.State]++
	if m.Name != "" {
		x.byName[m.Name] = value
	}
}

// unlink undoes link, unless another record has the name already. The record's ID is removed or gets another value.
func (x *Index[R]) unlink(value R) {
	m := x.meta(value)
	x.inState[m.State]--
	if x.byName[m.Name] == value {
		delete(x.byName, m.Name)
	}
}

// report tells the watchers of a change. The caller holds the lock.
func (x *Index[R]) report(c Change[R]) {
	for w := range x.watchers {
		w.Set(c.ID, c)
	}
}

// drop applies a deletion that the watch reports.
func (x *Index[R]) drop(id string, revision int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.deleted[id] <= revision {
		delete(x.deleted, id)
	}
	for p := range x.pending {
		if p.id == id {
			p.deleted = max(p.deleted, revision)
		}
	}
	x.removeBefore(id, revision)
}

// removeBefore removes a record, unless it is newer than a revision. The caller holds the lock.
func (x *Index[R]) removeBefore(id string, revision int64) {
	if old, ok := x.records[id]; ok && x.meta(old).Revision < revision {
		x.remove(old)
	}
}

// remove removes a record and reports its deletion to the watchers. The caller holds the lock.
func (x *Index[R]) remove(value R) {
	m := x.meta(value)
	x.report(Change[R]{ID: m.ID})
	i := x.position(x.order, m)
	x.order = slices.Delete(x.order, i, i+1)
	if of := x.byNode[m.Node]; len(of) == 1 {
		delete(x.byNode, m.Node)
	} else {
		i := x.position(of, m)
		x.byNode[m.Node] = slices.Delete(of, i, i+1)
	}
	delete(x.records, m.ID)
	x.unlink(value)
}

// position returns where a record with the fields is in a sorted list, or would be.
func (x *Index[R]) position(in []R, m Meta) int {
	i, _ := slices.BinarySearchFunc(in, m, func(value R, m Meta) int { return x.meta(value).compare(m) })
	return i
}

// Get returns the record with an ID, or nil.
func (x *Index[R]) Get(id string) R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.records[id]
}

// Named returns the record with a name, or nil.
func (x *Index[R]) Named(name string) R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byName[name]
}

// Wait waits until the index has all records of the store.
func (x *Index[R]) Wait(ctx context.Context) error {
	select {
	case <-x.synced:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// All returns the current records without waiting.
func (x *Index[R]) All() []R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.order)
}

// Count waits until the index has all records of the store, and returns the number of records in
// one of the states.
func (x *Index[R]) Count(ctx context.Context, in states.Set) (int, error) {
	if err := x.Wait(ctx); err != nil {
		return 0, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	count := 0
	for state := range in.All() {
		count += x.inState[state]
	}
	return count, nil
}

// ListOf waits until the index has all records of the store, and returns the records that belong to a node.
func (x *Index[R]) ListOf(ctx context.Context, node string) ([]R, error) {
	if err := x.Wait(ctx); err != nil {
		return nil, err
	}
	return x.AllOf(node), nil
}

// AllOf returns the current records that belong to a node without waiting.
func (x *Index[R]) AllOf(node string) []R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.byNode[node])
}

// Owners returns the UUIDs of the nodes that the records belong to.
func (x *Index[R]) Owners() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	owners := make([]string, 0, len(x.byNode))
	for node := range x.byNode {
		if node != "" {
			owners = append(owners, node)
		}
	}
	return owners
}

// Unreported returns the number of deletions by this process that the watch has not reported yet.
func (x *Index[R]) Unreported() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.deleted)
}
