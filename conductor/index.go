// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/latest"
	"github.com/ironstate/ironstate/states"
)

// index holds the decoded records of one kind in memory, oldest first. Its sources are the store's
// watch and the writes of this process, so that a conductor reads its own writes; the record with
// the higher revision wins. It is safe for concurrent use.
type index[R indexed] struct {
	kind   Kind
	decode func(Record) (R, error)
	synced chan struct{} // closed when the index has all records of the store
	once   sync.Once

	mu      sync.RWMutex
	records map[string]R
	byName  map[string]R
	byNode  map[string][]R       // by meta.node, oldest first
	order   []R                  // sorted by meta.compare
	inState map[states.State]int // the number of records by meta.state
	deleted map[string]int64     // revisions of deletions that the watch has not reported yet
	// unanswered has the creations and deletions by this process that the store has not answered.
	unanswered map[*unanswered]bool

	watchers map[*latest.Queue[indexChange[R]]]bool
}

// unanswered is a creation or a deletion by this process. A created record is left to the watch if, before the store
// has answered, the watch has reported a later deletion or has begun again.
type unanswered struct {
	id      string
	deleted int64 // the revision of the last deletion that the watch has reported meanwhile
	again   bool  // the watch has begun again
}

// indexChange is a change to an index. The zero value means that all existing records have been
// yielded.
type indexChange[R indexed] struct {
	id    string
	value R // nil if the record was deleted
}

// stored is a *Node or an Object.
type stored interface{ meta() meta }

// indexed is stored, and comparable to nil.
type indexed interface {
	comparable
	stored
}

// meta holds the fields of a record that an index uses.
type meta struct {
	id, name string
	created  time.Time
	node     string       // the node that an object belongs to, or the parent of a node; empty for none
	state    states.State // the provision state of a node; NoState for an object
	revision int64
}

func (m meta) compare(other meta) int {
	return cmp.Or(m.created.Compare(other.created), cmp.Compare(m.id, other.id))
}

func newIndex[R indexed](kind Kind, decode func(Record) (R, error)) *index[R] {
	return &index[R]{
		kind: kind, decode: decode, synced: make(chan struct{}),
		records: map[string]R{}, byName: map[string]R{}, byNode: map[string][]R{}, inState: map[states.State]int{}, deleted: map[string]int64{},
		watchers: map[*latest.Queue[indexChange[R]]]bool{}, unanswered: map[*unanswered]bool{},
	}
}

// put inserts or replaces a record that the watch reports, unless the index has the same or a newer revision.
func (x *index[R]) put(value R) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.insert(value)
}

// replace replaces a record that this process has written or read, unless the index has the same or a newer
// revision. If the index lacks the record, or has one of the same ID that was created at another time, the watch
// will report it, or it has reported its deletion while the store's answer was on its way.
func (x *index[R]) replace(value R) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old, has := x.records[value.meta().id]; has && old.meta().created.Equal(value.meta().created) {
		x.insert(value)
	}
}

// hasOlder reports whether the index has an earlier revision of a record.
func (x *index[R]) hasOlder(value R) bool {
	m := value.meta()
	x.mu.RLock()
	defer x.mu.RUnlock()
	old, has := x.records[m.id]
	return has && old.meta().revision < m.revision
}

// create calls store, which creates the record and sets its revision, and then inserts the record. If the watch has
// reported its deletion by then, or has begun again, the record is left to the watch.
func (x *index[R]) create(value R, store func() error) error {
	c, err := x.ask(value.meta().id, store)
	defer x.mu.Unlock()
	if err == nil && !c.again && c.deleted < value.meta().revision {
		x.insert(value)
	}
	return err
}

// delete calls store, which deletes a record and returns the revision of that, and then removes the record. Until the
// watch has reported the deletion, it may report older writes of the record, which put ignores.
func (x *index[R]) delete(id string, store func() (int64, error)) error {
	var revision int64
	d, err := x.ask(id, func() (err error) {
		revision, err = store()
		return err
	})
	defer x.mu.Unlock()
	if err != nil {
		return err
	}
	if d.deleted < revision {
		x.deleted[id] = revision
	}
	x.removeBefore(id, revision)
	return nil
}

// ask calls store, which asks the store, and returns what the watch has reported meanwhile. It leaves the lock to the
// caller.
func (x *index[R]) ask(id string, store func() error) (*unanswered, error) {
	u := &unanswered{id: id}
	x.mu.Lock()
	x.unanswered[u] = true
	x.mu.Unlock()
	err := store()
	x.mu.Lock()
	delete(x.unanswered, u)
	return u, err
}

// insert is put for a caller that holds the lock.
func (x *index[R]) insert(value R) {
	m := value.meta()
	if x.deleted[m.id] > m.revision {
		return
	}
	if old, has := x.records[m.id]; has {
		oldMeta := old.meta()
		if oldMeta.revision >= m.revision {
			return
		}
		if oldMeta.compare(m) == 0 && oldMeta.node == m.node {
			x.order[x.position(x.order, m)] = value
			x.byNode[m.node][x.position(x.byNode[m.node], m)] = value
			x.unname(old, oldMeta)
			x.name(value, m)
			return
		}
		x.remove(old, oldMeta)
	}
	x.order = slices.Insert(x.order, x.position(x.order, m), value)
	x.byNode[m.node] = slices.Insert(x.byNode[m.node], x.position(x.byNode[m.node], m), value)
	x.name(value, m)
}

// name adds a record to the counters and to the maps by ID and by name, and reports it to the
// watchers. The caller holds the lock.
func (x *index[R]) name(value R, m meta) {
	for w := range x.watchers {
		w.Set(m.id, indexChange[R]{m.id, value})
	}
	x.records[m.id] = value
	x.inState[m.state]++
	if m.name != "" {
		x.byName[m.name] = value
	}
}

// unname undoes name for a record whose ID is removed or gets another value, unless another record has the name
// already.
func (x *index[R]) unname(value R, m meta) {
	x.inState[m.state]--
	if x.byName[m.name] == value {
		delete(x.byName, m.name)
	}
}

// drop applies a deletion that the watch reports.
func (x *index[R]) drop(id string, revision int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.deleted[id] <= revision {
		delete(x.deleted, id)
	}
	for u := range x.unanswered {
		if u.id == id {
			u.deleted = max(u.deleted, revision)
		}
	}
	x.removeBefore(id, revision)
}

// removeBefore removes a record, unless it is newer than a revision. The caller holds the lock.
func (x *index[R]) removeBefore(id string, revision int64) {
	if old, ok := x.records[id]; ok && old.meta().revision < revision {
		x.remove(old, old.meta())
	}
}

// remove removes a record and reports its deletion to the watchers. The caller holds the lock.
func (x *index[R]) remove(value R, m meta) {
	for w := range x.watchers {
		w.Set(m.id, indexChange[R]{id: m.id})
	}
	i := x.position(x.order, m)
	x.order = slices.Delete(x.order, i, i+1)
	if of := x.byNode[m.node]; len(of) == 1 {
		delete(x.byNode, m.node)
	} else {
		i := x.position(of, m)
		x.byNode[m.node] = slices.Delete(of, i, i+1)
	}
	delete(x.records, m.id)
	x.unname(value, m)
}

func (x *index[R]) position(in []R, m meta) int {
	i, _ := slices.BinarySearchFunc(in, m, func(value R, m meta) int { return value.meta().compare(m) })
	return i
}

// get returns the record with an ID, or nil.
func (x *index[R]) get(id string) R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.records[id]
}

// named returns the record with a name, or nil.
func (x *index[R]) named(name string) R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byName[name]
}

// wait waits until the index has all records of the store.
func (x *index[R]) wait(ctx context.Context) error {
	select {
	case <-x.synced:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// list waits until the index has all records of the store, and returns them.
func (x *index[R]) list(ctx context.Context) ([]R, error) {
	if err := x.wait(ctx); err != nil {
		return nil, err
	}
	return x.all(), nil
}

// all returns the current records without waiting.
func (x *index[R]) all() []R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.order)
}

// count waits until the index has all records of the store, and returns the number of records in
// one of the states.
func (x *index[R]) count(ctx context.Context, in states.Set) (int, error) {
	if err := x.wait(ctx); err != nil {
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

// listOf is list for the records that belong to a node.
func (x *index[R]) listOf(ctx context.Context, node string) ([]R, error) {
	if err := x.wait(ctx); err != nil {
		return nil, err
	}
	return x.known(node), nil
}

// known returns the current records that belong to a node without waiting.
func (x *index[R]) known(node string) []R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.byNode[node])
}

// owners returns the UUIDs of the nodes that the records belong to.
func (x *index[R]) owners() []string {
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

// Range selects records of one kind. The zero value selects all, oldest first.
type Range struct {
	// Of selects the nodes with this ParentNode, or the objects with this NodeUUID; "" selects those
	// without one, nil selects both.
	Of *string
	// After is the UUID of a record, empty for none. The range begins with the next one.
	After string
	// Backwards orders the records from the newest to the oldest.
	Backwards bool
}

// scanned is the number of records that in copies at a time.
const scanned = 256

// in waits until the index has all records of the store, and returns the records of a range. It does not
// visit the others. A record that is written meanwhile may be yielded or not. The error matches
// [NotFound] if the record After does not exist.
func (x *index[R]) in(ctx context.Context, r Range) (iter.Seq[R], error) {
	if err := x.wait(ctx); err != nil {
		return nil, err
	}
	var first *meta
	if r.After != "" {
		x.mu.RLock()
		after, has := x.records[r.After]
		x.mu.RUnlock()
		if !has {
			return nil, refuse(NotFound, "%s %s could not be found.", x.kind, r.After)
		}
		m := after.meta()
		first = &m
	}
	return func(yield func(R) bool) {
		for after := first; ; {
			part := x.part(r.Of, after, r.Backwards)
			for _, value := range part {
				if !yield(value) {
					return
				}
			}
			if len(part) < scanned {
				return
			}
			last := part[scanned-1].meta()
			after = &last
		}
	}, nil
}

// part returns the next records of a range, at most scanned.
func (x *index[R]) part(of *string, after *meta, backwards bool) []R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	list := x.order
	if of != nil {
		list = x.byNode[*of]
	}
	switch {
	case after == nil:
	case backwards:
		list = list[:x.position(list, *after)]
	default:
		list = list[x.position(list, *after):]
		if len(list) > 0 && list[0].meta().compare(*after) == 0 {
			list = list[1:]
		}
	}
	if !backwards {
		return slices.Clone(list[:min(scanned, len(list))])
	}
	part := slices.Clone(list[max(0, len(list)-scanned):])
	slices.Reverse(part)
	return part
}
