// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/internal/bubble"
)

// broken is a Memory with some methods replaced.
type broken struct {
	*conductor.Memory
	get    func(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error)
	list   func(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error)
	create func(ctx context.Context, r conductor.Record) (int64, error)
	update func(ctx context.Context, r conductor.Record) (int64, error)
	delete func(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error)
	watch  func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error]
}

func newBroken() *broken {
	m := new(conductor.Memory)
	return &broken{m, m.Get, m.List, m.Create, m.Update, m.Delete, m.Watch}
}

func (b *broken) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	return b.get(ctx, kind, key)
}

func (b *broken) List(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
	return b.list(ctx, kind, after, limit)
}

func (b *broken) Create(ctx context.Context, r conductor.Record) (int64, error) {
	return b.create(ctx, r)
}

func (b *broken) Update(ctx context.Context, r conductor.Record) (int64, error) {
	return b.update(ctx, r)
}

func (b *broken) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	return b.delete(ctx, kind, id, revision)
}

func (b *broken) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return b.watch(ctx, kind)
}

// force updates a record without a check of its revision.
func (b *broken) force(ctx context.Context, r conductor.Record) (int64, error) {
	for {
		now, err := b.Memory.Get(ctx, r.Kind, r.ID)
		if err != nil {
			return 0, err
		}
		r.Revision = now.Revision
		revision, err := b.Memory.Update(ctx, r)
		if !errors.Is(err, conductor.ErrConflict) {
			return revision, err
		}
	}
}

// changes replaces each change of a watch by the changes that f returns. before has the previous
// change of each record.
func (b *broken) changes(f func(change conductor.Change, before map[string]conductor.Change) []conductor.Change) {
	b.watch = func(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
		return func(yield func(conductor.Change, error) bool) {
			before := make(map[string]conductor.Change)
			for change, err := range b.Memory.Watch(ctx, kind) {
				for _, c := range f(change, before) {
					if !yield(c, err) {
						return
					}
				}
				before[change.Record.ID] = change
			}
		}
	}
}

// TestBrokenPromisesAreFound runs on virtual time, so that hanging methods do not slow it down.
func TestBrokenPromisesAreFound(t *testing.T) {
	for _, mutants := range [][]mutant{brokenRecords, brokenWrites, brokenRaces, brokenLists, brokenWatches} {
		for _, mutant := range mutants {
			t.Run(mutant.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBroken()
					mutant.breaks(b)
					err := storetest.Check(b)
					bubble.Sleep(20 * hang) // until the hanging goroutines have ended
					require.ErrorContains(t, err, mutant.found)
				})
			})
		}
	}
}

// hang is how long a hanging method takes to return.
const hang = 24 * time.Hour

type mutant struct {
	name   string
	found  string // the name of the promise that Check reports
	breaks func(b *broken)
}

// A method that hangs would make each promise wait for minutes.
func TestTheCheckEndsWithThePromiseAtWhichAMethodHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken()
		b.list = func(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
			time.Sleep(hang)
			return b.Memory.List(ctx, kind, after, limit)
		}
		begin := time.Now()
		err := storetest.Check(b)
		require.Equal(t, 2*time.Minute, time.Since(begin))
		require.EqualError(t, err, "a record is stored as written: a method did not return within 1m0s after its context had ended\n"+
			`the check ends with the promise "a record is stored as written", which took longer than 1m0s: the 24 promises after it were not tried`)
		bubble.Sleep(20 * hang) // until the method has returned
	})
}

func TestAHandleThatLagsIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newBroken(), newBroken()
		second.Memory = first.Memory
		second.create, second.update, second.delete, second.watch = first.create, first.update, first.delete, first.watch
		cache := make(map[string]conductor.Record)
		var mu sync.Mutex
		second.get = func(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
			mu.Lock()
			defer mu.Unlock()
			if r, ok := cache[string(kind)+key]; ok {
				return r, nil
			}
			r, err := first.Memory.Get(ctx, kind, key)
			if err == nil {
				cache[string(kind)+key] = r
			}
			return r, err
		}
		second.list = first.list
		require.ErrorContains(t, storetest.Check(first, second), "is stored as written")
	})
}

// failing yields an error in place of the first value of a range, and then ends as an iterator does that defers
// nothing.
func failing[T any](begun, ended *atomic.Int64) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		begun.Add(1)
		yield(none, errors.New("no range"))
		ended.Add(1)
	}
}

func TestACheckThatEndsInARangeLeavesItAsByBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int64
		b := newBroken()
		b.watch = func(context.Context, conductor.Kind) iter.Seq2[conductor.Change, error] {
			return failing[conductor.Change](&begun, &ended)
		}
		require.ErrorContains(t, storetest.Check(b), "a record that a watch has yielded can be read: no range")
		m := newMembers(&board{leases: map[string]*boardLease{}})
		m.join = func(context.Context, conductor.Member) iter.Seq2[[]conductor.Member, error] {
			return failing[[]conductor.Member](&begun, &ended)
		}
		require.ErrorContains(t, storetest.CheckMembership(lease, m.process(), m.process()), "a context that has ended before: no range")
		synctest.Wait()
		require.Equal(t, begun.Load(), ended.Load())
	})
}

func TestAPanicInAGoroutineOfTheCheckIsABrokenPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken()
		b.update = func(context.Context, conductor.Record) (int64, error) { panic("no update") }
		b.watch = func(context.Context, conductor.Kind) iter.Seq2[conductor.Change, error] { panic("no watch") }
		err := storetest.Check(b)
		require.ErrorContains(t, err, "no update is lost: it panicked: no update\n")
		require.ErrorContains(t, err, "then the changes: it panicked: no watch\n")
		m := newMembers(&board{leases: map[string]*boardLease{}})
		m.join = func(context.Context, conductor.Member) iter.Seq2[[]conductor.Member, error] { panic("no member") }
		err = storetest.CheckMembership(lease, m.process(), m.process())
		require.ErrorContains(t, err, "all members see it: it panicked: no member\n")
	})
}
