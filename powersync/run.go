// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
)

// Run does rounds of both kinds, the first at once, until the context ends; then
// it returns the context's error, after one [Config.Timeout] at most. Before the
// first round it drops the reservations that a process of the same name left; see
// [Syncer.Reclaim].
//
// If the release of a node could not be stored, Run tries again every 5 seconds, so
// that the node is not reserved until the next round.
//
// If a round takes longer than its interval, the next round follows at once, and the
// rounds that were due meanwhile are left out. Errors of rounds are logged and passed
// to [Config.OnReport]; they do not end Run.
func (s *Syncer) Run(ctx context.Context) error {
	var others sync.WaitGroup
	if s.config.Handler == nil {
		if n, err := s.Reclaim(ctx); n > 0 || err != nil {
			s.reporter.write(ctx, slog.LevelWarn, "old reservations dropped",
				slog.Int("nodes", n), slog.Any("error", err))
		}
		others.Add(1)
		go func() {
			defer others.Done()
			for sleep.For(ctx, releaseInterval) {
				for _, id := range s.holds.unsaved() {
					_ = s.holds.retryRelease(ctx, id) // a failed release is tried again
				}
			}
		}()
	}
	if s.config.RecoveryInterval > 0 {
		others.Add(1)
		go func() {
			defer others.Done()
			s.loop(ctx, recoveryRound, s.config.RecoveryInterval)
		}()
	}
	s.loop(ctx, syncRound, s.config.Interval)
	others.Wait()
	return ctx.Err()
}

// releaseInterval is the time between two attempts to release the nodes whose release
// could not be stored.
const releaseInterval = 5 * time.Second

func (s *Syncer) loop(ctx context.Context, k kind, interval time.Duration) {
	jitter := func() time.Duration { return 0 }
	if s.config.Jitter > 0 {
		jitter = func() time.Duration { return rand.N(s.config.Jitter) }
	}
	for next := time.Now(); sleep.For(ctx, time.Until(next)+jitter()); {
		done, err := s.round(ctx, k)
		if report := s.reporter.report; report != nil {
			s.reporter.callBack(ctx, &s.reporter.onReport, func() { report(done, err) })
		}
		next = next.Add(interval)
		if now := time.Now(); next.Before(now) {
			next = now
		}
	}
}
