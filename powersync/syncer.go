// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
)

// Syncer keeps recorded power states in agreement with the hardware. Make it with
// [New]. It is safe for concurrent use. Several Syncers may share a Store, in one
// process or many, if their names differ.
type Syncer struct {
	config           Config
	handler          Handler
	reserved         reservations // none if a Handler was configured
	fleet            *fleet       // nil if a Handler was configured
	lists            *calls       // by purpose
	reporter         reporter
	counters         counters
	syncFailures     failingNodes
	recoveryFailures failingNodes
	limit            forceLimit
	syncing          atomic.Bool
	recovering       atomic.Bool
}

// New makes a Syncer. It calls neither Store nor Driver. The error is a [*machine.ConfigError].
// New does not detect a Store or Driver that is a nil pointer in the interface:
// its calls fail or panic, and rounds report that.
func New(c Config) (*Syncer, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s := &Syncer{config: c, handler: c.Handler, lists: newCalls(0, c.grace()), limit: forceLimit{most: c.ForceLimit}}
	s.reporter = reporter{
		config: &s.config, counters: &s.counters,
		onEvent: callback{name: "OnEvent"}, onReport: callback{name: "OnReport"}, logger: callback{name: "Logger"},
	}
	s.syncFailures = failingNodes{first: c.Backoff, most: c.MaxBackoff}
	s.recoveryFailures = failingNodes{first: c.Backoff, most: c.MaxBackoff}
	if c.Handler == nil {
		s.fleet = newFleet(s)
		s.handler = s.fleet
	}
	return s, nil
}

// Config returns the configuration, with its defaults filled in.
func (s *Syncer) Config() Config { return s.config }

const (
	// maxSettleTime bounds the storing of the outcome of a change of power, which
	// continues after the caller's context has ended.
	maxSettleTime   = 10 * time.Second
	maxCallbackTime = 10 * time.Second
)

// Sync does one round by the rules of the package comment, the nodes with the most
// failures first. The error is [ErrRunning] if this Syncer runs a round already and
// nothing was done; the context's; or the store's, if it did not list all nodes. In case
// of an error the report still covers the nodes that were handled.
//
// All goroutines of the round have ended when Sync returns, except abandoned calls of
// the Driver, the Store or a callback.
func (s *Syncer) Sync(ctx context.Context) (Report, error) { return s.round(ctx, syncRound) }

// Recover does one recovery round. It reads the nodes in maintenance with
// [FaultPowerFailure] that have no target power state and no reservation and are not in
// enroll. It takes those that can be read out of maintenance, and records the reading.
// The report counts only nodes in maintenance with FaultPowerFailure; the errors are
// the same as Sync's. One round of each kind may run at a time.
func (s *Syncer) Recover(ctx context.Context) (Report, error) { return s.round(ctx, recoveryRound) }

func (s *Syncer) round(ctx context.Context, k kind) (Report, error) {
	report := Report{Recovery: k == recoveryRound}
	running, interval, do := &s.syncing, s.config.Interval, s.syncAll
	if report.Recovery {
		running, interval, do = &s.recovering, s.config.RecoveryInterval, s.recoverAll
	}
	if !running.CompareAndSwap(false, true) {
		return report, ErrRunning
	}
	defer running.Store(false)

	report.Start = time.Now()
	var err error
	report.Nodes, err = do(ctx)
	report.Seen, report.Skipped, report.Failed = count(report.Nodes)
	report.Took = time.Since(report.Start)
	report.Overran = interval > 0 && report.Took > interval
	s.reporter.round(ctx, report, interval, err)
	if ended := ctx.Err(); ended != nil {
		return report, ended
	}
	return report, err
}

// Run does rounds of both kinds, the first at once, until the context ends; then
// it returns the context's error, after one [Config.Timeout] at most. Before the
// first round it drops the reservations that a process of the same name left; see
// [Syncer.Reclaim].
//
// If the release of a node could not be stored, Run tries again every 5 seconds, so
// that the node is not reserved until the next round.
//
// If a round takes longer than its interval, the next round follows at once, and the
// rounds that were due in between are left out. Errors of rounds are logged and passed
// to [Config.OnReport]; they do not end Run.
func (s *Syncer) Run(ctx context.Context) error {
	var others sync.WaitGroup
	if s.fleet != nil {
		s.fleet.startRun(ctx)
		others.Add(1)
		go func() {
			defer others.Done()
			s.fleet.retryReleases(ctx)
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

func (s *Syncer) loop(ctx context.Context, k kind, interval time.Duration) {
	for next := time.Now(); sleep.For(ctx, time.Until(next)+rand.N(max(1, s.config.Jitter))); {
		done, err := s.round(ctx, k)
		if report := s.config.OnReport; report != nil {
			s.reporter.callBack(ctx, &s.reporter.onReport, func() { report(done, err) })
		}
		next = next.Add(interval)
		if now := time.Now(); next.Before(now) {
			next = now
		}
	}
}
