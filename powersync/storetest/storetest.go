// SPDX-License-Identifier: Apache-2.0

// Package storetest helps to test implementations of [powersync.Store].
//
// [Check] checks that a store fulfils the contract of the interface, as testing/fstest
// does for file systems:
//
//	func TestStore(t *testing.T) {
//		err := storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
//			return open(t.TempDir(), records)
//		})
//		if err != nil {
//			t.Error(err)
//		}
//	}
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/kit"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// patience bounds the check of one promise.
const patience = time.Minute

// An opener opens a new store with the given records.
type opener = func(records ...powersync.Record) (powersync.Store, error)

// Check returns an error for each part of the contract that a store violates, or nil.
// It calls open about ten times; open returns a new store with the given records, sets
// their revisions, and arranges for the store to be closed. Check makes some thousand
// updates. The context of the calls for one part ends after a minute; a call that does not
// return within another minute is abandoned, and the parts after it are not checked.
func Check(open func(records ...powersync.Record) (powersync.Store, error)) error {
	var all []kit.Promise
	for _, promise := range []struct {
		name  string
		check func(context.Context, opener) error
	}{
		{"records come as they were put, each once", checkRecords},
		{"a range may end early", checkEarlyEnd},
		{"a range continues while records are updated", checkUpdateInRange},
		{"an update needs the current revision", checkRevision},
		{"a revision never comes again", checkNoRevisionTwice},
		{"nodes that are not there are not found", checkNotFound},
		{"of several updates at once one is done", checkOneWins},
		{"all fields are kept as they are", checkFields},
		{"an update leaves other nodes alone", checkOthers},
	} {
		all = append(all, kit.Promise{Name: promise.name, Check: func(ctx context.Context) error { return promise.check(ctx, open) }})
	}
	return kit.Check(patience, all)
}

// fleet returns n nodes, "node-0" and so on.
func fleet(n int) []powersync.Record {
	records := make([]powersync.Record, n)
	for i := range records {
		records[i] = powersync.Record{
			ID:             fmt.Sprintf("node-%d", i),
			ProvisionState: states.Available,
			Power:          states.PowerOn,
		}
	}
	return records
}

// requireSame compares records without their revisions.
func requireSame(want, got powersync.Record) error {
	want.Revision, got.Revision = 0, 0
	if want != got {
		return fmt.Errorf("want %+v, got %+v", want, got)
	}
	return nil
}

// requireStored compares a node's stored record.
func requireStored(ctx context.Context, s powersync.Store, want powersync.Record) error {
	got, err := s.Load(ctx, want.ID)
	if err != nil {
		return err
	}
	return requireSame(want, got)
}

func checkRecords(ctx context.Context, open opener) error {
	const more = 2500 // presumably more than a page
	want := fleet(more)
	s, err := open(want...)
	if err != nil {
		return err
	}
	got := make(map[string]powersync.Record)
	for r, err := range s.Records(ctx) {
		if err != nil {
			return err
		}
		if _, twice := got[r.ID]; twice {
			return fmt.Errorf("%q comes twice", r.ID)
		}
		got[r.ID] = r
	}
	if len(got) != len(want) {
		return fmt.Errorf("want %d records, got %d", len(want), len(got))
	}
	for _, r := range want {
		if err := requireSame(r, got[r.ID]); err != nil {
			return err
		}
	}
	if r, err := s.Load(ctx, "node-7"); err != nil || r != got["node-7"] {
		return fmt.Errorf("a range has %+v, Load %+v, %v", got["node-7"], r, err)
	}
	return nil
}

func checkEarlyEnd(ctx context.Context, open opener) error {
	s, err := open(fleet(10)...)
	if err != nil {
		return err
	}
	for range 3 {
		for _, err := range s.Records(ctx) {
			if err != nil {
				return err
			}
			break
		}
	}
	r, err := s.Load(ctx, "node-0")
	if err != nil {
		return err
	}
	return s.Update(ctx, r)
}

func checkUpdateInRange(ctx context.Context, open opener) error {
	const n = 100
	s, err := open(fleet(n)...)
	if err != nil {
		return err
	}
	seen := 0
	for r, err := range s.Records(ctx) {
		if err != nil {
			return err
		}
		r.LastError = "seen"
		if err := s.Update(ctx, r); err != nil {
			return err
		}
		seen++
	}
	if seen != n {
		return fmt.Errorf("want %d records, got %d", n, seen)
	}
	return nil
}

func checkRevision(ctx context.Context, open opener) error {
	s, old, err := openOne(ctx, open)
	if err != nil {
		return err
	}
	first := old
	first.Power = states.PowerOff
	if err := s.Update(ctx, first); err != nil {
		return err
	}
	if err := requireStored(ctx, s, first); err != nil {
		return err
	}
	late := old
	late.LastError = "late"
	if err := s.Update(ctx, late); !errors.Is(err, powersync.ErrConflict) {
		return fmt.Errorf("want ErrConflict, got %v", err)
	}
	return requireStored(ctx, s, first)
}

func openOne(ctx context.Context, open opener) (powersync.Store, powersync.Record, error) {
	s, err := open(fleet(1)...)
	if err != nil {
		return nil, powersync.Record{}, err
	}
	r, err := s.Load(ctx, "node-0")
	return s, r, err
}

func checkNoRevisionTwice(ctx context.Context, open opener) error {
	s, r, err := openOne(ctx, open)
	seen := make(map[int64]bool)
	for range 10 {
		switch {
		case err != nil:
			return err
		case seen[r.Revision]:
			return fmt.Errorf("revision %d came twice", r.Revision)
		}
		seen[r.Revision] = true
		if err := s.Update(ctx, r); err != nil { // only the revision changes
			return err
		}
		r, err = s.Load(ctx, r.ID)
	}
	return err
}

func checkNotFound(ctx context.Context, open opener) error {
	s, r, err := openOne(ctx, open)
	if err != nil {
		return err
	}
	if _, err := s.Load(ctx, "nobody"); !errors.Is(err, powersync.ErrNotFound) {
		return fmt.Errorf("want ErrNotFound from Load, got %v", err)
	}
	r.ID = "nobody"
	if err := s.Update(ctx, r); !errors.Is(err, powersync.ErrNotFound) {
		return fmt.Errorf("want ErrNotFound from Update, got %v", err)
	}
	return nil
}

func checkOneWins(ctx context.Context, open opener) error {
	s, r, err := openOne(ctx, open)
	if err != nil {
		return err
	}
	for range 20 {
		won, err := race(ctx, s, r)
		if err != nil {
			return err
		}
		if r, err = s.Load(ctx, r.ID); err != nil {
			return err
		}
		if r.LastError != won || r.MaintenanceReason != won {
			return fmt.Errorf("the update of writer %s was done, and stored are fields of the writers %s and %s",
				won, r.LastError, r.MaintenanceReason)
		}
	}
	return nil
}

// race makes several writers update one record and returns the one that succeeded.
func race(ctx context.Context, s powersync.Store, r powersync.Record) (won string, err error) {
	var errs [8]error
	var writers sync.WaitGroup
	for i := range errs {
		writers.Add(1)
		go func() {
			defer writers.Done()
			mine := r
			mine.LastError = fmt.Sprint(i)
			mine.MaintenanceReason = mine.LastError // an update is done as a whole
			errs[i] = s.Update(ctx, mine)
		}()
	}
	writers.Wait()
	winners := 0
	for i, err := range errs {
		switch {
		case err == nil:
			winners++
			won = fmt.Sprint(i)
		case !errors.Is(err, powersync.ErrConflict):
			return "", fmt.Errorf("want nil or ErrConflict, got %w", err)
		}
	}
	if winners != 1 {
		return "", fmt.Errorf("%d updates succeeded", winners)
	}
	return won, nil
}

func checkFields(ctx context.Context, open opener) error {
	full := powersync.Record{
		ID:                "node-0",
		Name:              "rack 1's \"first\"",
		ProvisionState:    states.DeployFail,
		Power:             states.PowerOff,
		TargetPower:       states.PowerOn,
		Maintenance:       true,
		MaintenanceReason: "it's \"hot\";\n-- %s",
		Fault:             powersync.FaultPowerFailure,
		Reservation:       "conductor-1",
		LastError:         "ä€😀",
		DisablePowerOff:   true,
	}
	s, err := open(full)
	if err != nil {
		return err
	}
	if err := requireStored(ctx, s, full); err != nil {
		return err
	}
	for _, next := range []powersync.Record{{ID: full.ID}, full} {
		now, err := s.Load(ctx, full.ID)
		if err != nil {
			return err
		}
		next.Revision = now.Revision
		if err := s.Update(ctx, next); err != nil {
			return err
		}
		if err := requireStored(ctx, s, next); err != nil {
			return err
		}
	}
	return nil
}

func checkOthers(ctx context.Context, open opener) error {
	s, err := open(fleet(2)...)
	if err != nil {
		return err
	}
	before, err := s.Load(ctx, "node-1")
	if err != nil {
		return err
	}
	r, err := s.Load(ctx, "node-0")
	if err != nil {
		return err
	}
	r.Power = states.PowerOff
	if err := s.Update(ctx, r); err != nil {
		return err
	}
	if after, err := s.Load(ctx, "node-1"); err != nil || after != before {
		return fmt.Errorf("want %+v, got %+v, %v", before, after, err)
	}
	return nil
}
