// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package keylock

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestALockIsTakenInTheOrderOfTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks Locks
		let := make(chan struct{})
		var order []string
		var all sync.WaitGroup
		lock := func(ctx context.Context, name string) {
			all.Go(func() {
				if err := locks.Lock(ctx, "node"); err != nil {
					require.ErrorIs(t, err, context.Canceled)
					order = append(order, name+" gives up")
					return
				}
				defer locks.Unlock("node")
				order = append(order, name)
				<-let
			})
			synctest.Wait()
		}
		gone, leave := context.WithCancel(t.Context())
		lock(t.Context(), "first")
		lock(gone, "second")
		lock(t.Context(), "third")
		lock(t.Context(), "fourth")
		leave()
		synctest.Wait()
		require.Equal(t, []string{"first", "second gives up"}, order)
		require.NoError(t, locks.Lock(t.Context(), "another node"))
		locks.Unlock("another node")
		require.Len(t, locks.locks, 1)
		close(let)
		all.Wait()
		require.Equal(t, []string{"first", "second gives up", "third", "fourth"}, order)
		require.Empty(t, locks.locks)
	})
}

func TestAnEndedContextTakesNoLock(t *testing.T) {
	var locks Locks
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // a select of two ready channels is random
		require.ErrorIs(t, locks.Lock(ended, "node"), context.Canceled)
		require.Empty(t, locks.locks)
	}
}

// endedContext has a context's end that nobody is told of: its channel stays open.
type endedContext struct {
	context.Context
	ended atomic.Bool
}

// Err implements [context.Context].
func (c *endedContext) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

func TestACallerWhoseContextEndsWhenItsTurnComesPassesTheLockOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks Locks
		late := &endedContext{Context: context.Background()}
		require.NoError(t, locks.Lock(t.Context(), "node"))
		var all sync.WaitGroup
		lock := func(ctx context.Context) (failure func() error) {
			var err error
			all.Go(func() {
				if err = locks.Lock(ctx, "node"); err == nil {
					locks.Unlock("node")
				}
			})
			synctest.Wait()
			return func() error { return err }
		}
		second, third := lock(late), lock(t.Context())
		late.ended.Store(true)
		locks.Unlock("node")
		all.Wait()
		require.ErrorIs(t, second(), context.Canceled)
		require.NoError(t, third())
		require.Empty(t, locks.locks)
	})
}

// lookedAt is a context that calls seen before its end is waited for.
type lookedAt struct {
	context.Context
	seen func()
}

// Done implements [context.Context].
func (c lookedAt) Done() <-chan struct{} {
	c.seen()
	return c.Context.Done()
}

func TestALockThatIsReleasedBeforeItIsWaitedForIsNotLost(t *testing.T) {
	var locks Locks
	require.NoError(t, locks.Lock(t.Context(), "node"))
	late := lookedAt{t.Context(), func() { locks.Unlock("node") }}
	require.NoError(t, locks.Lock(late, "node"))
	locks.Unlock("node")
	require.Empty(t, locks.locks)
}
