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
)

// writers is the number of concurrent writers.
const writers = 16

// together runs f in writers goroutines, distributed over the handles, and returns their errors.
func (t *tester) together(f func(i int, s conductor.Store) error) []error {
	errs := make([]error, writers)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range writers {
		s := t.store()
		running.Go(func() {
			<-start
			errs[i] = f(i, s)
		})
	}
	close(start)
	running.Wait()
	return errs
}

// oneOf returns the index of the only attempt that succeeded. refused returns an error for a
// failure that is not allowed.
func oneOf(errs []error, refused func(error) error) (int, error) {
	winner, done := 0, 0
	for i, err := range errs {
		if err == nil {
			winner = i
			done++
		} else if err := refused(err); err != nil {
			return 0, err
		}
	}
	if done != 1 {
		return 0, fmt.Errorf("%d of %d succeeded", done, len(errs))
	}
	return winner, nil
}

func (t *tester) checkUpdateRace(ctx context.Context) error {
	r, err := t.create(ctx, t.record(1, "name=a"))
	if err != nil {
		return err
	}
	for range 20 {
		mine := make([]conductor.Record, writers)
		errs := t.together(func(i int, s conductor.Store) (err error) {
			mine[i] = r
			mine[i].Value = fmt.Appendf(nil, "writer %d", i)
			mine[i].Revision, err = s.Update(ctx, mine[i])
			return err
		})
		winner, err := oneOf(errs, func(err error) error { return wantError(conductor.ErrConflict, err) })
		if err != nil {
			return err
		}
		r = mine[winner]
		if err := t.stored(ctx, r); err != nil {
			return fmt.Errorf("the update of writer %d has succeeded: %w", winner, err)
		}
	}
	return nil
}

func (t *tester) checkCounter(ctx context.Context) error {
	const each = 10
	r := t.record(1)
	r.Value = []byte("0")
	if _, err := t.create(ctx, r); err != nil {
		return err
	}
	errs := t.together(func(_ int, s conductor.Store) error {
		for done, conflicts := 0, 0; done < each; {
			err := increment(ctx, s, r)
			switch {
			case err == nil:
				done++
			case !errors.Is(err, conductor.ErrConflict) || conflicts == writers*each:
				return err
			default:
				conflicts++ // each conflict means that another writer's update succeeded
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r, err := t.store().Get(ctx, t.kind, r.ID)
	if err != nil {
		return err
	}
	if want := strconv.Itoa(writers * each); string(r.Value) != want {
		return fmt.Errorf("after %s increments the value is %s", want, r.Value)
	}
	return nil
}

func increment(ctx context.Context, s conductor.Store, r conductor.Record) error {
	r, err := s.Get(ctx, r.Kind, r.ID)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(r.Value))
	if err != nil {
		return err
	}
	r.Value = strconv.AppendInt(nil, int64(n+1), 10)
	_, err = s.Update(ctx, r)
	return err
}

func (t *tester) checkCreateRace(ctx context.Context) error {
	for round := range 20 {
		for _, sameID := range []bool{false, true} {
			key := fmt.Sprintf("name=%d-%t", round, sameID)
			mine := make([]conductor.Record, writers)
			errs := t.together(func(i int, s conductor.Store) (err error) {
				if sameID {
					mine[i] = t.record(1_000_000+round, fmt.Sprint(key, i))
				} else {
					mine[i] = t.record(round*writers+i, key)
				}
				mine[i].Revision, err = s.Create(ctx, mine[i])
				return err
			})
			if sameID {
				key = id(1_000_000 + round)
			}
			winner, err := oneOf(errs, func(err error) error { return wantDuplicate(err, t.kind, key) })
			if err != nil {
				return err
			}
			got, err := t.store().Get(ctx, t.kind, key)
			if err != nil {
				return err
			}
			if err := same(mine[winner], got); err != nil {
				return fmt.Errorf("get %q: %w", key, err)
			}
		}
	}
	return nil
}

func (t *tester) checkDeleteRace(ctx context.Context) error {
	for range 20 {
		r, err := t.create(ctx, t.record(1, "name=a"))
		if err != nil {
			return err
		}
		revisions := make([]int64, writers)
		errs := t.together(func(i int, s conductor.Store) (err error) {
			if i%2 == 0 {
				revisions[i], err = s.Delete(ctx, r.Kind, r.ID, r.Revision)
			} else {
				revisions[i], err = s.Update(ctx, r)
			}
			return err
		})
		winner, err := oneOf(errs, func(err error) error {
			if errors.Is(err, conductor.NotFound) {
				return nil
			}
			return wantError(conductor.ErrConflict, err)
		})
		if err != nil {
			return err
		}
		if winner%2 == 0 {
			err = errors.Join(t.absent(ctx, r.ID), t.absent(ctx, "name=a"))
		} else {
			r.Revision = revisions[winner]
			if err = t.stored(ctx, r); err == nil {
				_, err = t.delete(ctx, r)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkKeyRace has each writer set keys of its own record for which other writers compete.
func (t *tester) checkKeyRace(ctx context.Context) error {
	const pool, rounds = 6, 20
	errs := t.together(func(i int, s conductor.Store) error {
		random := rand.New(rand.NewPCG(uint64(i), 0))
		r := t.record(i)
		var err error
		if r.Revision, err = s.Create(ctx, r); err != nil {
			return err
		}
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
				return err
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	owners := make(map[string]string)
	for i := range writers {
		r, err := t.store().Get(ctx, t.kind, id(i))
		if err != nil {
			return err
		}
		for _, key := range r.Keys {
			if owners[key] != "" {
				return fmt.Errorf("the records %s and %s both have the key %q", owners[key], r.ID, key)
			}
			owners[key] = r.ID
		}
	}
	return t.checkOwners(ctx, owners, pool)
}

func (t *tester) checkOwners(ctx context.Context, owners map[string]string, pool int) error {
	for i := range 2 * pool {
		key := fmt.Sprintf("name=%d", i/2)
		if i%2 == 1 {
			key = fmt.Sprintf("port=%d", i/2)
		}
		if owners[key] == "" {
			if err := t.absent(ctx, key); err != nil {
				return fmt.Errorf("a key that no record has: %w", err)
			}
			continue
		}
		r, err := t.store().Get(ctx, t.kind, key)
		if err != nil {
			return fmt.Errorf("get %q, a key of %s: %w", key, owners[key], err)
		}
		if r.ID != owners[key] {
			return fmt.Errorf("get %q: want the record %s, got %s", key, owners[key], brief(r))
		}
	}
	return nil
}
