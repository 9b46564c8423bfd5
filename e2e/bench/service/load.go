// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A rate is the number of runs of a workload per second.
type rate struct {
	perSecond float64
	failed    int
	err       error // of the first failed run
}

// load repeats a workload with concurrent workers until the time is over or the context
// ends, and waits for the runs in flight.
func load(ctx context.Context, s *seeded, w workload, workers int, long time.Duration) (rate, error) {
	var (
		group   sync.WaitGroup
		next    atomic.Int64
		mu      sync.Mutex
		done    int
		outcome rate
	)
	start := time.Now()
	for range workers {
		group.Go(func() {
			for time.Since(start) < long && ctx.Err() == nil {
				err := w.do(ctx, s, int(next.Add(1)))
				mu.Lock()
				if err == nil {
					done++
				} else if outcome.failed++; outcome.err == nil {
					outcome.err = err
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	outcome.perSecond = float64(done) / time.Since(start).Seconds()
	return outcome, ctx.Err()
}

// each calls f for the numbers from 0 to n-1, with concurrent workers, until a call fails.
func each(ctx context.Context, n, workers int, f func(ctx context.Context, number int) error) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := 0; i < n && within.Err() == nil; i++ {
		group.Go(func() error {
			if within.Err() != nil {
				return nil
			}
			return f(within, i)
		})
	}
	return cmp.Or(group.Wait(), context.Cause(ctx))
}
