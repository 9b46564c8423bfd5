// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/conductor/internal/latest"
)

// Memory is a [Store] in memory, for tests and for fleets that need not outlive the
// process. The zero value is empty and ready for use. It is safe for concurrent use
// and must not be copied. With a context that has ended, a method does nothing and returns
// the context's error, or yields nothing. A slow watcher delays no writer: of several changes to a
// record it receives only the last.
type Memory struct {
	mu       sync.Mutex
	revision int64
	kinds    map[Kind]*memoryKind
}

type memoryKind struct {
	records  map[string]Record
	owners   map[string]string // from key to the record's ID
	ids      []string          // sorted; nil until the next List sorts them
	watchers map[*latest.Queue[Change]]bool
}

// kind returns the records of a kind. The caller holds the lock.
func (m *Memory) kind(kind Kind) *memoryKind {
	k := m.kinds[kind]
	if k != nil {
		return k
	}
	if m.kinds == nil {
		m.kinds = make(map[Kind]*memoryKind)
	}
	k = &memoryKind{
		records:  make(map[string]Record),
		owners:   make(map[string]string),
		watchers: make(map[*latest.Queue[Change]]bool),
	}
	m.kinds[kind] = k
	return k
}

// find returns the record with an ID or a key.
func (k *memoryKind) find(key string) (Record, bool) {
	if r, ok := k.records[key]; ok {
		return r, true
	}
	id, ok := k.owners[key]
	return k.records[id], ok
}

// put stores a record, in place of an earlier one with the same ID.
func (k *memoryKind) put(r Record) {
	old, replaces := k.records[r.ID]
	for _, key := range old.Keys {
		delete(k.owners, key)
	}
	for _, key := range r.Keys {
		k.owners[key] = r.ID
	}
	k.records[r.ID] = r
	if !replaces {
		k.ids = nil
	}
	for w := range k.watchers {
		w.Set(r.ID, Change{Record: r})
	}
}

// write stores a record under a new revision, which it returns. The error is a [*DuplicateError] if
// another record has r's ID or one of its keys. The caller holds the lock.
func (m *Memory) write(k *memoryKind, r Record) (int64, error) {
	for _, key := range append([]string{r.ID}, r.Keys...) {
		if other, ok := k.find(key); ok && other.ID != r.ID {
			return 0, &DuplicateError{Kind: r.Kind, Key: key}
		}
	}
	m.revision++
	r.Revision = m.revision
	k.put(r)
	return r.Revision, nil
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, kind Kind, key string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.kind(kind).find(key)
	if !ok {
		return Record{}, NotFound
	}
	return r, nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, kind Kind, after string, limit int) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kind(kind)
	if k.ids == nil {
		k.ids = slices.Sorted(maps.Keys(k.records))
	}
	first, found := slices.BinarySearch(k.ids, after)
	if found {
		first++
	}
	rest := k.ids[first:]
	page := make([]Record, min(max(limit, 0), len(rest)))
	for i := range page {
		page[i] = k.records[rest[i]]
	}
	return page, nil
}

// Create implements [Store].
func (m *Memory) Create(ctx context.Context, r Record) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kind(r.Kind)
	if _, ok := k.records[r.ID]; ok {
		return 0, &DuplicateError{Kind: r.Kind, Key: r.ID}
	}
	return m.write(k, r)
}

// Update implements [Store].
func (m *Memory) Update(ctx context.Context, r Record) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kind(r.Kind)
	if err := k.current(r.ID, r.Revision); err != nil {
		return 0, err
	}
	return m.write(k, r)
}

// current returns an error unless the record has the revision.
func (k *memoryKind) current(id string, revision int64) error {
	r, ok := k.records[id]
	switch {
	case !ok:
		return NotFound
	case r.Revision != revision:
		return ErrConflict
	}
	return nil
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, kind Kind, id string, revision int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kind(kind)
	if err := k.current(id, revision); err != nil {
		return 0, err
	}
	m.revision++
	for _, key := range k.records[id].Keys {
		delete(k.owners, key)
	}
	delete(k.records, id)
	k.ids = nil
	gone := Change{Record: Record{Kind: kind, ID: id, Revision: m.revision}, Deleted: true}
	for w := range k.watchers {
		w.Set(id, gone)
	}
	return m.revision, nil
}

// Watch implements [Store].
func (m *Memory) Watch(ctx context.Context, kind Kind) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		changes := latest.New(func(a, b Change) int {
			return cmp.Compare(a.Record.Revision, b.Record.Revision)
		})
		m.mu.Lock()
		k := m.kind(kind)
		for id, r := range k.records {
			changes.Set(id, Change{Record: r})
		}
		changes.Mark(Change{Synced: true})
		k.watchers[changes] = true
		m.mu.Unlock()
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(k.watchers, changes)
		}()
		changes.All(ctx)(yield)
	}
}
