// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Memory is a [Store] in memory, for tests and for programs that persist their records
// elsewhere. The zero value is empty and ready for use. It is safe for concurrent use
// and must not be copied.
type Memory struct {
	mu      sync.RWMutex
	records map[string]Record // by ID
	changes int64             // number of changes; each change's number is its revision
}

// Put adds a node or replaces its record, whatever its revision: it is for the owner
// of the records. A Record without an ID is not stored.
func (m *Memory) Put(r Record) {
	if r.ID == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(r)
}

func (m *Memory) put(r Record) {
	if m.records == nil {
		m.records = make(map[string]Record)
	}
	m.changes++
	r.Revision = m.changes
	m.records[r.ID] = r
}

// Delete removes a node. Deleting an unknown node is no error.
func (m *Memory) Delete(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, id)
}

// Records implements [Store], in the order of the IDs. Nodes that are added or
// removed during the iteration may be in it or not.
func (m *Memory) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		m.mu.RLock()
		ids := slices.Sorted(maps.Keys(m.records))
		m.mu.RUnlock()
		for _, id := range ids {
			if r, err := m.Load(ctx, id); err == nil && !yield(r, nil) {
				return
			}
		}
	}
}

// Load implements [Store]. It does not block, and ignores its context.
func (m *Memory) Load(_ context.Context, id string) (Record, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, ok := m.records[id]
	if !ok {
		return Record{}, ErrNotFound
	}
	return r, nil
}

// Update implements [Store]. It does not block, and ignores its context.
func (m *Memory) Update(_ context.Context, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, ok := m.records[r.ID]
	switch {
	case !ok:
		return ErrNotFound
	case stored.Revision != r.Revision:
		return ErrConflict
	}
	m.put(r)
	return nil
}
