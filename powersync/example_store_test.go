// SPDX-License-Identifier: Apache-2.0

package powersync_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
)

// A register is a store: records, and a revision that changes with each update.
type register struct {
	mu      sync.Mutex
	records map[string]powersync.Record
}

func (s *register) Records(context.Context) iter.Seq2[powersync.Record, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	records := slices.Collect(maps.Values(s.records)) // so that the lock is not held while the caller ranges
	return func(yield func(powersync.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *register) Load(_ context.Context, id string) (powersync.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	if !ok {
		return r, powersync.ErrNotFound
	}
	return r, nil
}

func (s *register) Update(_ context.Context, r powersync.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, ok := s.records[r.ID]
	switch {
	case !ok:
		return powersync.ErrNotFound
	case stored.Revision != r.Revision:
		return powersync.ErrConflict
	}
	r.Revision++
	s.records[r.ID] = r
	return nil
}

// Package storetest checks an implementation of Store.
func ExampleStore() {
	err := storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		s := &register{records: make(map[string]powersync.Record)}
		for _, r := range records {
			s.records[r.ID] = r
		}
		return s, nil
	})
	fmt.Println(err)
	// Output: <nil>
}
