// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
)

// writers is the number of concurrent writers.
const writers = 16

// together runs f in writers goroutines, distributed over the handles, and returns the errors with which they end.
func (t *tester) together(f func(i int, s conductor.Store)) []error {
	errs := make([]error, writers)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range writers {
		s := t.store()
		running.Go(func() {
			<-start
			errs[i] = guarded(func() { f(i, s) })
		})
	}
	close(start)
	running.Wait()
	return errs
}

// oneOf returns the index of the only attempt that succeeded. refused returns an error for a
// failure that is not allowed.
func oneOf(errs []error, refused func(error) error) int {
	winner, done := 0, 0
	for i, err := range errs {
		if err == nil {
			winner = i
			done++
		} else {
			try.OK(refused(err))
		}
	}
	if done != 1 {
		try.Failf("%d of %d succeeded", done, len(errs))
	}
	return winner
}

func (t *tester) checkUpdateRace(ctx context.Context) {
	r := t.create(ctx, t.record(1, "name=a"))
	for range 20 {
		mine := make([]conductor.Record, writers)
		winner := oneOf(t.together(func(i int, s conductor.Store) {
			mine[i] = r
			mine[i].Value = fmt.Appendf(nil, "writer %d", i)
			mine[i].Revision = try.Get(s.Update(ctx, mine[i]))
		}), func(err error) error { return wantError(conductor.ErrConflict, err) })
		r = mine[winner]
		try.Within(fmt.Sprintf("the update of writer %d has succeeded", winner), func() { t.stored(ctx, r) })
	}
}

func (t *tester) checkCounter(ctx context.Context) {
	const each = 10
	r := t.record(1)
	r.Value = []byte("0")
	t.create(ctx, r)
	try.OK(errors.Join(t.together(func(_ int, s conductor.Store) {
		for done, conflicts := 0, 0; done < each; {
			err := increment(ctx, s, r)
			switch {
			case err == nil:
				done++
			case !errors.Is(err, conductor.ErrConflict) || conflicts == writers*each:
				try.OK(err)
			default:
				conflicts++ // each conflict means that another writer's update succeeded
			}
		}
	})...))
	r = try.Get(t.store().Get(ctx, t.kind, r.ID))
	if want := strconv.Itoa(writers * each); string(r.Value) != want {
		try.Failf("after %s increments the value is %s", want, r.Value)
	}
}

func increment(ctx context.Context, s conductor.Store, r conductor.Record) error {
	r = try.Get(s.Get(ctx, r.Kind, r.ID))
	r.Value = strconv.AppendInt(nil, int64(try.Get(strconv.Atoi(string(r.Value)))+1), 10)
	_, err := s.Update(ctx, r)
	return err
}

func (t *tester) checkCreateRace(ctx context.Context) {
	for round := range 20 {
		for _, sameID := range []bool{false, true} {
			key := fmt.Sprintf("name=%d-%t", round, sameID)
			mine := make([]conductor.Record, writers)
			errs := t.together(func(i int, s conductor.Store) {
				if sameID {
					mine[i] = t.record(1_000_000+round, fmt.Sprint(key, i))
				} else {
					mine[i] = t.record(round*writers+i, key)
				}
				mine[i].Revision = try.Get(s.Create(ctx, mine[i]))
			})
			if sameID {
				key = id(1_000_000 + round)
			}
			winner := oneOf(errs, func(err error) error { return wantDuplicate(err, t.kind, key) })
			try.OKf(same(mine[winner], try.Get(t.store().Get(ctx, t.kind, key))), "get %q", key)
		}
	}
}

func (t *tester) checkDeleteRace(ctx context.Context) {
	for range 20 {
		r := t.create(ctx, t.record(1, "name=a"))
		revisions := make([]int64, writers)
		errs := t.together(func(i int, s conductor.Store) {
			if i%2 == 0 {
				revisions[i] = try.Get(s.Delete(ctx, r.Kind, r.ID, r.Revision))
			} else {
				revisions[i] = try.Get(s.Update(ctx, r))
			}
		})
		winner := oneOf(errs, func(err error) error {
			if errors.Is(err, conductor.NotFound) {
				return nil
			}
			return wantError(conductor.ErrConflict, err)
		})
		if winner%2 == 0 {
			t.absent(ctx, r.ID)
			t.absent(ctx, "name=a")
		} else {
			r.Revision = revisions[winner]
			t.stored(ctx, r)
			t.delete(ctx, r)
		}
	}
}

// checkKeyRace has each writer set keys of its own record for which other writers compete.
func (t *tester) checkKeyRace(ctx context.Context) {
	const pool, rounds = 6, 20
	try.OK(errors.Join(t.together(func(i int, s conductor.Store) {
		random := rand.New(rand.NewPCG(uint64(i), 0))
		r := t.record(i)
		r.Revision = try.Get(s.Create(ctx, r))
		for range rounds {
			wanted := r
			wanted.Keys = []string{fmt.Sprintf("name=%d", random.IntN(pool)), fmt.Sprintf("port=%d", random.IntN(pool))}
			if random.IntN(3) == 0 {
				wanted.Keys = nil
			}
			var duplicate *conductor.DuplicateError
			revision, err := s.Update(ctx, wanted)
			switch {
			case err == nil:
				r = wanted
				r.Revision = revision
			case !errors.As(err, &duplicate):
				try.OK(err)
			}
		}
	})...))
	owners := make(map[string]string)
	for i := range writers {
		r := try.Get(t.store().Get(ctx, t.kind, id(i)))
		for _, key := range r.Keys {
			if owners[key] != "" {
				try.Failf("the records %s and %s both have the key %q", owners[key], r.ID, key)
			}
			owners[key] = r.ID
		}
	}
	t.checkOwners(ctx, owners, pool)
}

func (t *tester) checkOwners(ctx context.Context, owners map[string]string, pool int) {
	for i := range 2 * pool {
		key := fmt.Sprintf("name=%d", i/2)
		if i%2 == 1 {
			key = fmt.Sprintf("port=%d", i/2)
		}
		if owners[key] == "" {
			try.Within("a key that no record has", func() { t.absent(ctx, key) })
			continue
		}
		r, err := t.store().Get(ctx, t.kind, key)
		try.OKf(err, "get %q, a key of %s", key, owners[key])
		if r.ID != owners[key] {
			try.Failf("get %q: want the record %s, got %s", key, owners[key], brief(r))
		}
	}
}
