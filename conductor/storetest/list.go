// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/conductor"
)

// fill creates records with the given numbers concurrently.
func (t *tester) fill(ctx context.Context, numbers []int) error {
	var next atomic.Int64
	return errors.Join(t.together(func(_ int, s conductor.Store) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(numbers) {
				return nil
			}
			r := t.record(numbers[i], fmt.Sprintf("name=%d", numbers[i]))
			if _, err := s.Create(ctx, r); err != nil {
				return fmt.Errorf("create: %w", err)
			}
		}
	})...)
}

func (t *tester) checkList(ctx context.Context) error {
	const n = 2500 // more than the page size of most stores
	if err := t.fill(ctx, rand.New(rand.NewPCG(1, 0)).Perm(n)); err != nil {
		return err
	}
	for _, size := range []int{1, 97, 1000, n - 1, n, 2 * n} {
		begin, after := 0, ""
		if size == 1 {
			begin, after = n-50, id(n-51)
		}
		got, err := pages(ctx, t.store(), t.kind, after, size, nil)
		if err != nil {
			return err
		}
		if len(got) != n-begin {
			return fmt.Errorf("pages of %d: want %d records, got %d", size, n-begin, len(got))
		}
		for i, r := range got {
			if want := t.record(begin + i); r.ID != want.ID || string(r.Value) != string(want.Value) || len(r.Keys) != 1 {
				return fmt.Errorf("pages of %d: want the record %d to be %s, got %s", size, i, brief(want), brief(r))
			}
		}
	}
	return t.checkBounds(ctx, n)
}

// pages lists all records after an ID in pages. It calls between, if not nil, between two pages.
func pages(
	ctx context.Context, s conductor.Store, kind conductor.Kind, after string, size int, between func() error,
) ([]conductor.Record, error) {
	var all []conductor.Record
	for {
		page, err := s.List(ctx, kind, after, size)
		switch {
		case err != nil:
			return nil, fmt.Errorf("list %d records after %q: %w", size, after, err)
		case len(page) > size:
			return nil, fmt.Errorf("list %d records after %q: got %d", size, after, len(page))
		}
		all = append(all, page...)
		if len(page) < size {
			return all, nil
		}
		after = page[len(page)-1].ID
		if between == nil {
			continue
		}
		if err := between(); err != nil {
			return nil, err
		}
	}
}

func (t *tester) checkBounds(ctx context.Context, n int) error {
	removed, err := t.store().Get(ctx, t.kind, id(n/2))
	if err != nil {
		return err
	}
	if _, err := t.delete(ctx, removed); err != nil {
		return err
	}
	for _, c := range []struct {
		name, after string
		limit       int
		want        []string
	}{
		{"from the first", "", 2, []string{id(0), id(1)}},
		{"after an ID that does not exist", id(n / 2), 1, []string{id(n/2 + 1)}},
		{"across an ID that does not exist", id(n/2 - 2), 2, []string{id(n/2 - 1), id(n/2 + 1)}},
		{"of the last", id(n - 2), 10, []string{id(n - 1)}},
		{"after the last", id(n - 1), 10, nil},
		{"with the limit 0", "", 0, nil},
	} {
		page, err := t.store().List(ctx, t.kind, c.after, c.limit)
		if err != nil {
			return fmt.Errorf("list %s: %w", c.name, err)
		}
		var got []string
		for _, r := range page {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, c.want) {
			return fmt.Errorf("list %s: want %q, got %q", c.name, c.want, got)
		}
	}
	return nil
}

// checkListDuringWrites lists records while those with odd numbers are created and deleted, and
// the others are updated.
func (t *tester) checkListDuringWrites(ctx context.Context) error {
	const n = 400
	var stay []int
	for i := 0; i < n; i += 2 {
		stay = append(stay, i)
	}
	if err := t.fill(ctx, stay); err != nil {
		return err
	}
	if err := t.listStaying(ctx, t.store(), len(stay), t.changeFirst(ctx)); err != nil {
		return err
	}
	var writing atomic.Int64
	writing.Store(writers - 1)
	errs := t.together(func(i int, s conductor.Store) error {
		if i == 0 {
			for writing.Load() > 0 {
				time.Sleep(time.Millisecond) // lets virtual time advance
				if err := t.listStaying(ctx, s, len(stay), nil); err != nil {
					return err
				}
			}
			return nil
		}
		defer writing.Add(-1)
		random := rand.New(rand.NewPCG(uint64(i), 0))
		for range 25 {
			odd := 2*(random.IntN(n/2/writers)*writers+i) + 1 // a number that no other writer uses
			if err := createAndDelete(ctx, s, t.record(odd)); err != nil {
				return err
			}
			r, err := s.Get(ctx, t.kind, id(stay[random.IntN(len(stay))]))
			if err != nil {
				return err
			}
			if _, err := s.Update(ctx, r); err != nil && !errors.Is(err, conductor.ErrConflict) {
				return err
			}
		}
		return nil
	})
	return errors.Join(errs...)
}

// createAndDelete creates a record and deletes it.
func createAndDelete(ctx context.Context, s conductor.Store, r conductor.Record) error {
	revision, err := s.Create(ctx, r)
	if err != nil {
		return err
	}
	_, err = s.Delete(ctx, r.Kind, r.ID, revision)
	return err
}

// changeFirst returns a function that alternately creates and deletes a record that sorts before
// all others.
func (t *tester) changeFirst(ctx context.Context) func() error {
	r := t.record(1)
	there := false
	return func() (err error) {
		if there = !there; there {
			r, err = t.create(ctx, r)
			return err
		}
		_, err = t.delete(ctx, r)
		return err
	}
}

// listStaying lists all records and checks that the list has the want records that are never
// deleted, which are those with a key.
func (t *tester) listStaying(ctx context.Context, s conductor.Store, want int, between func() error) error {
	all, err := pages(ctx, s, t.kind, "", 23, between)
	if err != nil {
		return err
	}
	staying, last := 0, ""
	for _, r := range all {
		if r.ID <= last {
			return fmt.Errorf("%s comes after %s", r.ID, last)
		}
		last = r.ID
		if len(r.Keys) == 1 {
			staying++
		}
	}
	if staying != want {
		return fmt.Errorf("%d of the %d records that existed throughout", staying, want)
	}
	return nil
}
