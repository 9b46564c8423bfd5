// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// FaultPowerFailure is the fault of a node that a round put into maintenance.
// Recovery takes nodes with this fault and no others.
const FaultPowerFailure = "power failure"

// Record is the part of a stored node that concerns its power. It is a
// value: copy it, compare it with ==. Its JSON keys are Ironic's.
type Record struct {
	ID                string       `json:"uuid"`
	Name              string       `json:"name"` // what users call the node, for texts; empty for none
	ProvisionState    states.State `json:"provision_state"`
	Power             states.Power `json:"power_state"`
	TargetPower       states.Power `json:"target_power_state"`
	Maintenance       bool         `json:"maintenance"`
	MaintenanceReason string       `json:"maintenance_reason"`
	Fault             string       `json:"fault"`
	Reservation       string       `json:"reservation"` // who works on the node; empty for nobody
	LastError         string       `json:"last_error"`
	DisablePowerOff   bool         `json:"disable_power_off"`

	// Revision belongs to the [Store], which gives a record a new one whenever anything
	// about the node changes.
	Revision int64 `json:"-"`
}

// released returns the record without its reservation and target power state.
func (r Record) released() Record {
	r.Reservation = ""
	r.TargetPower = states.NoPower
	return r
}

var (
	// ErrNotFound is the error of a [Store] that has no record of the node. It is [admission.NotFound].
	ErrNotFound error = admission.NotFound
	// ErrConflict is the error of a [Store]'s Update if the record has changed since it
	// was loaded.
	ErrConflict = errors.New("record has changed since it was loaded")
)

// Store has the records of a fleet. Its methods are called from many goroutines at
// once, but Load and Update of one node one at a time. They must return soon after
// their context ends. The context of Load and Update has a deadline, [Config.Timeout]
// from the call. An error or a panic of Load or Update is a failure of that one node. A
// call that does not return is abandoned, as with a [Driver]. [Memory] is a Store;
// package storetest checks others.
//
// A service that moves nodes with package machine writes the same row by a save hook.
// Both then update by one statement whose condition is the revision, and which counts it
// up: Update with r.Revision, the hook with the machine's token. examples/embed shows
// both on one row of SQLite.
type Store interface {
	// Records ranges over the records of all nodes, each once, in any order.
	// Records may be slightly stale when they are yielded, so that a store can read
	// them page by page: a node is loaded again before it is handled. Other methods
	// are called during the iteration. An error stands for one record that could not
	// be read, and comes with the node's ID if the store knows it; the iteration
	// continues if the store can. Nodes that are missing from a list with an error
	// keep their failures and their backoff.
	Records(ctx context.Context) iter.Seq2[Record, error]

	// Load returns a node's current record, or an error that matches ErrNotFound if
	// there is no such node.
	Load(ctx context.Context, id string) (Record, error)

	// Update replaces a record, as a whole or not at all, provided that the
	// stored one still has r.Revision; otherwise its error matches ErrConflict
	// or, if the node was deleted, ErrNotFound. After it has returned, Load returns r
	// with a Revision that this node has never had, so that a change is detected even
	// if all other fields were changed back.
	Update(ctx context.Context, r Record) error
}

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
