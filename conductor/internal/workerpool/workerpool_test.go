// SPDX-License-Identifier: Apache-2.0

package workerpool_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/workerpool"
)

func TestAPoolHasOneWorkerForEachUUIDAndNoMoreThanItsLimit(t *testing.T) {
	p := workerpool.New(2, 0)
	require.NoError(t, p.Take(t.Context(), "a"))
	require.False(t, p.TryTake("a"), "a worker is busy with it")
	require.True(t, p.TryTake("b"))
	require.Equal(t, 2, p.Busy())
	require.False(t, p.TryTake("c"))
	require.Equal(t, workerpool.ErrFull, p.Take(t.Context(), "c"))
	p.Free("a")
	require.Equal(t, 1, p.Busy())
	require.True(t, p.TryTake("c"))
	p.Free("b")
	p.Free("c")
	require.Zero(t, p.Busy())
}

func TestAHeldUUIDHasNoWorkerAndTakesNone(t *testing.T) {
	p := workerpool.New(1, 0)
	require.True(t, p.TryHold("a"))
	require.False(t, p.TryHold("a"))
	require.False(t, p.TryTake("a"))
	require.Zero(t, p.Busy())
	require.True(t, p.TryTake("b"))
	require.False(t, p.TryHold("b"))
	p.Free("a")
	require.Equal(t, 1, p.Busy())
	require.False(t, p.TryTake("a"), "the worker is busy")
	require.True(t, p.TryHold("a"))
	p.Free("b")
	done := make(chan bool)
	go func() {
		p.Close(time.Hour, func() { t.Error("it ends in time") })
		close(done)
	}()
	p.Free("a")
	<-done
	require.False(t, p.TryHold("a"))
}

func TestTakeWaitsForTheWorkerThatHasTheUUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := workerpool.New(1, 0)
		require.NoError(t, p.Take(t.Context(), "a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.Equal(t, workerpool.ErrTaken, p.Take(ctx, "a"))
		go func() {
			time.Sleep(time.Second)
			p.Free("a")
		}()
		began := time.Now()
		require.NoError(t, p.Take(t.Context(), "a"))
		require.Equal(t, time.Second, time.Since(began))
		p.Free("a")
	})
}

func TestAClosedPoolRefusesWork(t *testing.T) {
	p := workerpool.New(1, 0)
	p.Close(time.Minute, func() { t.Error("no worker is busy") })
	require.False(t, p.TryTake("a"))
	require.Equal(t, workerpool.ErrClosed, p.Take(t.Context(), "a"))
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
				p := workerpool.New(2, 0)
				stopped := make(chan struct{})
				for _, id := range []string{"a", "b"} {
					require.True(t, p.TryTake(id))
					go func() {
						select {
						case <-time.After(c.work):
						case <-stopped:
							time.Sleep(10 * time.Second)
						}
						p.Free(id)
					}()
				}
				began, stops := time.Now(), 0
				p.Close(time.Minute, func() { stops++; close(stopped) })
				require.Equal(t, c.ends, time.Since(began))
				require.Equal(t, c.stops, stops)
				require.Zero(t, p.Busy())
			})
		})
	}
}

func TestSpareWorkLeavesTheReservedWorkers(t *testing.T) {
	p := workerpool.New(3, 2)
	require.True(t, p.TryTakeSpare("a"))
	require.False(t, p.TryTakeSpare("b"))
	require.True(t, p.TryTake("b"))
	p.Free("a")
	require.False(t, p.TryTakeSpare("a"), "one worker is busy, whoever has taken it")
	p.Free("b")
	require.True(t, p.TryTakeSpare("a"))
}

// TestAnyTwoMethodsMayBeCalledAtOnce calls each pair of methods in two goroutines that only the pool puts in an order:
// the race detector finds what a method does without the lock, whichever of the two is first.
func TestAnyTwoMethodsMayBeCalledAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that nobody waits for the worker of a
	methods := []func(*workerpool.Pool){
		func(p *workerpool.Pool) { _ = p.Take(ctx, "a") },
		func(p *workerpool.Pool) { _ = p.Take(ctx, "b") },
		func(p *workerpool.Pool) { p.TryTake("c") },
		func(p *workerpool.Pool) { p.TryTake("d"); p.Busy() },
		func(p *workerpool.Pool) {
			if p.TryTake("e") {
				p.Free("e")
			}
		},
		func(p *workerpool.Pool) { p.TryHold("f") },
		func(p *workerpool.Pool) { p.Busy() },
	}
	for _, one := range methods {
		for _, other := range methods {
			p := workerpool.New(3, 0)
			p.TryTake("a")
			var both sync.WaitGroup
			both.Go(func() { one(p) })
			both.Go(func() { other(p) })
			both.Wait()
		}
	}
}
