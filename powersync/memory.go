package powersync

import (
	"context"
	"iter"
	"sync"
)

// Memory is a [Store] in memory, for tests and for programs that keep their
// records elsewhere. The zero value is empty and ready for use. It is safe for
// concurrent use and must not be copied. The methods of a nil Memory panic, as
// those of a nil [sync.Map] do.
type Memory struct {
	mu      sync.RWMutex
	records []Record       // those with an empty ID are free
	place   map[string]int // of each ID, in records
	free    []int
	changes int64 // since the start; the last one's number is its revision
}

// Put adds a node or replaces its record, whatever its revision: it is for those
// who own the records. A Record without an ID is not stored.
func (m *Memory) Put(r Record) {
	if r.ID == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.place[r.ID]
	if !ok {
		i = m.newPlace(r.ID)
	}
	m.put(i, r)
}

func (m *Memory) newPlace(id string) int {
	if m.place == nil {
		m.place = make(map[string]int)
	}
	i := len(m.records)
	if last := len(m.free) - 1; last >= 0 {
		i, m.free = m.free[last], m.free[:last]
	} else {
		m.records = append(m.records, Record{})
	}
	m.place[id] = i
	return i
}

func (m *Memory) put(i int, r Record) {
	m.changes++
	r.Revision = m.changes
	m.records[i] = r
}

// Delete removes a node. One that is not there is no error.
func (m *Memory) Delete(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.place[id]
	if !ok {
		return
	}
	delete(m.place, id)
	m.records[i] = Record{}
	m.free = append(m.free, i)
}

// Records implements [Store]. Nodes that are added or removed during the range
// may be in it or not.
func (m *Memory) Records(context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for i := 0; ; i++ {
			m.mu.RLock()
			if i >= len(m.records) {
				m.mu.RUnlock()
				return
			}
			r := m.records[i]
			m.mu.RUnlock()
			if r.ID != "" && !yield(r, nil) {
				return
			}
		}
	}
}

// Load implements [Store]. It does not wait, and so does not look at its context.
func (m *Memory) Load(_ context.Context, id string) (Record, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, ok := m.place[id]
	if !ok {
		return Record{}, ErrNotFound
	}
	return m.records[i], nil
}

// Update implements [Store]. It does not wait, and so does not look at its context.
func (m *Memory) Update(_ context.Context, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.place[r.ID]
	switch {
	case !ok:
		return ErrNotFound
	case m.records[i].Revision != r.Revision:
		return ErrConflict
	}
	m.put(i, r)
	return nil
}
