// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
)

// TestACallIsMadeHoweverCloselyItFollowsTheOneBefore makes calls whose begins fall together with the ends of others. A call
// that is forgotten leaves the bubble without a goroutine that can go on.
func TestACallIsMadeHoweverCloselyItFollowsTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 4
		each, call := unraced(5_000), powersync.NewCalls()
		var all sync.WaitGroup
		made := 0
		for range callers {
			all.Go(func() {
				for range each {
					if err := call(t.Context(), "node", func(context.Context) error { made++; return nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, callers*each, made)
	})
}

func TestARoundWhoseNodesWaitForAWorkerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := newFixture(t, newHardware(isOn, isOn, isOn, isOn), nodes(node(isOn), node(isOn), node(isOn), node(isOn)),
			func(c *powersync.Config) { c.Workers = 1 })
		h.onRead = func(ctx context.Context, _ string) { <-ctx.Done() }
		time.AfterFunc(time.Second, cancel) // one node is read, one is in the queue, and two wait for the queue
		begun := time.Now()
		report, err := h.Sync(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Second, time.Since(begun))
		require.Equal(t, 1, report.Seen)
	})
}
