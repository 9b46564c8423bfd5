// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAWorkerPoolHasOneWorkerForEachNodeAndNoMoreThanItsLimit(t *testing.T) {
	p := newWorkerPool(2, 0)
	require.NoError(t, p.take(t.Context(), "a"))
	require.False(t, p.tryTake("a"), "a worker is busy with it")
	require.True(t, p.tryTake("b"))
	require.Equal(t, 2, p.count())
	require.False(t, p.tryTake("c"))
	require.ErrorIs(t, p.take(t.Context(), "c"), NoWorker)
	p.free("a")
	require.Equal(t, 1, p.count())
	require.True(t, p.tryTake("c"))
	p.free("b")
	p.free("c")
	require.Zero(t, p.count())
}

func TestAHeldNodeHasNoWorkerAndTakesNone(t *testing.T) {
	p := newWorkerPool(1, 0)
	require.True(t, p.tryHold("a"))
	require.False(t, p.tryHold("a"))
	require.False(t, p.tryTake("a"))
	require.Zero(t, p.count())
	require.True(t, p.tryTake("b"))
	require.False(t, p.tryHold("b"))
	p.free("a")
	require.Equal(t, 1, p.count())
	require.False(t, p.tryTake("a"), "the worker is busy")
	require.True(t, p.tryHold("a"))
	p.free("b")
	done := make(chan bool)
	go func() {
		p.close(time.Hour, func() { t.Error("it ends in time") })
		close(done)
	}()
	p.free("a")
	<-done
	require.False(t, p.tryHold("a"))
}

func TestTakeWaitsForTheNodesWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newWorkerPool(1, 0)
		require.NoError(t, p.take(t.Context(), "a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, p.take(ctx, "a"), Locked)
		go func() {
			time.Sleep(time.Second)
			p.free("a")
		}()
		began := time.Now()
		require.NoError(t, p.take(t.Context(), "a"))
		require.Equal(t, time.Second, time.Since(began))
		p.free("a")
	})
}

func TestAClosedWorkerPoolRefusesWork(t *testing.T) {
	p := newWorkerPool(1, 0)
	p.close(time.Minute, func() { t.Error("no worker is busy") })
	require.False(t, p.tryTake("a"))
	err := p.take(t.Context(), "a")
	require.ErrorIs(t, err, NoWorker)
	require.ErrorIs(t, err, errShutdown)
}

func TestCloseWaitsForTheWorkAndStopsItAfterTheTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		work, ends time.Duration
		stops      int
	}{
		"in time":  {30 * time.Second, 30 * time.Second, 0},
		"too late": {time.Hour, 70 * time.Second, 1}, // ten seconds after it was stopped
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newWorkerPool(2, 0)
				stopped := make(chan struct{})
				for _, id := range []string{"a", "b"} {
					require.True(t, p.tryTake(id))
					go func() {
						select {
						case <-time.After(c.work):
						case <-stopped:
							time.Sleep(10 * time.Second)
						}
						p.free(id)
					}()
				}
				began, stops := time.Now(), 0
				p.close(time.Minute, func() { stops++; close(stopped) })
				require.Equal(t, c.ends, time.Since(began))
				require.Equal(t, c.stops, stops)
				require.Zero(t, p.count())
			})
		})
	}
}
