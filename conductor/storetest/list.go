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
	"github.com/ironstate/ironstate/internal/try"
)

// fill creates records with the given numbers concurrently.
func (t *tester) fill(ctx context.Context, numbers []int) {
	try.OK(errors.Join(t.together(func(writer int, s conductor.Store) {
		for i := writer; i < len(numbers); i += writers {
			_, err := s.Create(ctx, t.record(numbers[i], fmt.Sprintf("name=%d", numbers[i])))
			try.OKf(err, "create")
		}
	})...))
}

func (t *tester) checkList(ctx context.Context) {
	const n = 2500 // more than the page size of most stores
	t.fill(ctx, rand.New(rand.NewPCG(1, 0)).Perm(n))
	for _, size := range []int{1, 97, 1000, n - 1, n, 2 * n} {
		begin, after := 0, ""
		if size == 1 {
			begin, after = n-50, id(n-51)
		}
		all := pages(ctx, t.store(), t.kind, after, size, nil)
		if len(all) != n-begin {
			try.Failf("pages of %d: want %d records, got %d", size, n-begin, len(all))
		}
		for i, r := range all {
			if want := t.record(begin + i); r.ID != want.ID || string(r.Value) != string(want.Value) || len(r.Keys) != 1 {
				try.Failf("pages of %d: want the record %d to be %s, got %s", size, i, brief(want), brief(r))
			}
		}
	}
	t.checkBounds(ctx, n)
}

// pages lists all records after an ID in pages. It calls between, if not nil, between two pages.
func pages(ctx context.Context, s conductor.Store, kind conductor.Kind, after string, size int, between func()) []conductor.Record {
	var all []conductor.Record
	for {
		page, err := s.List(ctx, kind, after, size)
		try.OKf(err, "list %d records after %q", size, after)
		if len(page) > size {
			try.Failf("list %d records after %q: got %d", size, after, len(page))
		}
		all = append(all, page...)
		if len(page) < size {
			return all
		}
		after = page[len(page)-1].ID
		if between != nil {
			between()
		}
	}
}

func (t *tester) checkBounds(ctx context.Context, n int) {
	t.delete(ctx, try.Get(t.store().Get(ctx, t.kind, id(n/2))))
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
		try.OKf(err, "list %s", c.name)
		var ids []string
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		if !slices.Equal(ids, c.want) {
			try.Failf("list %s: want %q, got %q", c.name, c.want, ids)
		}
	}
}

// checkListDuringWrites lists records while those with odd numbers are created and deleted, and
// the others are updated.
func (t *tester) checkListDuringWrites(ctx context.Context) {
	const n = 400
	var stay []int
	for i := 0; i < n; i += 2 {
		stay = append(stay, i)
	}
	t.fill(ctx, stay)
	t.listStaying(ctx, t.store(), len(stay), t.changeFirst(ctx))
	var writing atomic.Int64
	writing.Store(writers - 1)
	try.OK(errors.Join(t.together(func(i int, s conductor.Store) {
		if i == 0 {
			for writing.Load() > 0 {
				time.Sleep(time.Millisecond) // lets virtual time advance
				t.listStaying(ctx, s, len(stay), nil)
			}
			return
		}
		defer writing.Add(-1)
		random := rand.New(rand.NewPCG(uint64(i), 0))
		for range 25 {
			odd := 2*(random.IntN(n/2/writers)*writers+i) + 1 // a number that no other writer uses
			r := t.record(odd)
			try.Get(s.Delete(ctx, r.Kind, r.ID, try.Get(s.Create(ctx, r))))
			r = try.Get(s.Get(ctx, t.kind, id(stay[random.IntN(len(stay))])))
			if _, err := s.Update(ctx, r); !errors.Is(err, conductor.ErrConflict) {
				try.OK(err)
			}
		}
	})...))
}

// changeFirst returns a function that alternately creates and deletes a record that sorts before
// all others.
func (t *tester) changeFirst(ctx context.Context) func() {
	r := t.record(1)
	there := false
	return func() {
		if there = !there; there {
			r = t.create(ctx, r)
		} else {
			t.delete(ctx, r)
		}
	}
}

// listStaying lists all records and checks that the list has the want records that are never
// deleted, which are those with a key.
func (t *tester) listStaying(ctx context.Context, s conductor.Store, want int, between func()) {
	staying, last := 0, ""
	for _, r := range pages(ctx, s, t.kind, "", 23, between) {
		if r.ID <= last {
			try.Failf("%s comes after %s", r.ID, last)
		}
		last = r.ID
		if len(r.Keys) == 1 {
			staying++
		}
	}
	if staying != want {
		try.Failf("%d of the %d records that existed throughout", staying, want)
	}
}
