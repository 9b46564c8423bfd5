// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
)

func TestCallsForANodeAreMadeInTheOrderInWhichTheyWereAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call, keys := powersync.NewCalls()
		let, open := gate()
		var order []string
		var all sync.WaitGroup
		ask := func(ctx context.Context, name string) {
			all.Go(func() {
				err := call(ctx, "node", func(context.Context) error {
					order = append(order, name)
					<-let
					return nil
				})
				if err != nil {
					order = append(order, name+" gives up")
				}
			})
			synctest.Wait()
		}
		gone, leave := context.WithCancel(t.Context())
		late, end := context.WithCancel(t.Context())
		ask(t.Context(), "first")
		ask(gone, "second")
		ask(t.Context(), "third")
		ask(late, "fourth")
		ask(t.Context(), "fifth")
		leave()
		synctest.Wait()
		require.Equal(t, []string{"first", "second gives up"}, order)
		require.NoError(t, call(t.Context(), "another node", func(context.Context) error { end(); return nil }))
		synctest.Wait()
		open()
		all.Wait()
		require.Equal(t, []string{"first", "second gives up", "fourth gives up", "third", "fifth"}, order)
		require.NoError(t, call(t.Context(), "node", func(context.Context) error { return nil }), "the key is free")
		require.Zero(t, keys(), "and forgotten")
	})
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

func TestACallWhoseContextEndsWhenItsTurnComesPassesTheTurnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call, _ := powersync.NewCalls()
		late := &endedContext{Context: context.Background()}
		let, open := gate()
		var all sync.WaitGroup
		ask := func(ctx context.Context, f func(context.Context) error) (failure func() error) {
			var err error
			all.Go(func() { err = call(ctx, "node", f) })
			synctest.Wait()
			return func() error { return err }
		}
		ask(t.Context(), func(context.Context) error { <-let; return nil })
		second := ask(late, func(context.Context) error { panic("called after the end") })
		third := ask(t.Context(), func(context.Context) error { return nil })
		late.ended.Store(true)
		open()
		all.Wait()
		require.ErrorIs(t, second(), context.Canceled)
		require.NoError(t, third(), "it has the turn of the one before")
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

func TestATurnThatComesBeforeItIsWaitedForIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call, _ := powersync.NewCalls()
		let, open := gate()
		var all sync.WaitGroup
		all.Go(func() { _ = call(t.Context(), "node", func(context.Context) error { <-let; return nil }) })
		synctest.Wait()
		called := false
		all.Go(func() {
			late := lookedAt{t.Context(), sync.OnceFunc(func() {
				open()
				synctest.Wait() // the first call has returned
			})}
			_ = call(late, "node", func(context.Context) error { called = true; return nil })
		})
		all.Wait()
		require.True(t, called)
	})
}
