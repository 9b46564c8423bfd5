package powersync

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// Syncer keeps recorded power states true. Make it with [New]. It is safe for
// concurrent use, and several may share a Store, in one process or many, if
// their names differ.
type Syncer struct {
	config   Config
	store    guardedStore
	failing  failures // in sync rounds
	ailing   failures // in recovery rounds
	holds    holds
	limit    forceLimit
	counters counters
	running  [numRounds]atomic.Bool
}

// New makes a Syncer, which asks nothing yet. The error is a [*ConfigError].
func New(c Config) (*Syncer, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return &Syncer{
		config: c,
		store:  guardedStore{c.Store},
		limit:  forceLimit{most: c.ForceLimit},
	}, nil
}

// Sync does one round, as the package comment says, the nodes with the most
// failures first. The report covers the nodes that were seen also where there is
// an error: [ErrRunning], when a round of this Syncer is under way and nothing
// was done; the context's; or the store's, when it did not list all nodes.
//
// All goroutines of the round have ended when Sync returns, but for calls that
// the Driver did not return from in time.
func (s *Syncer) Sync(ctx context.Context) (Report, error) { return s.round(ctx, SyncRound) }

// Recover does one recovery round: nodes in maintenance with
// [FaultPowerFailure], no target power state and no reservation, and not in
// enroll, are read. Those that can be are taken out of maintenance, and what was
// read is recorded. The report counts these nodes alone; errors are as with
// Sync. A round of each kind may be under way at a time.
func (s *Syncer) Recover(ctx context.Context) (Report, error) { return s.round(ctx, RecoveryRound) }

func (s *Syncer) round(ctx context.Context, kind Round) (Report, error) {
	if !s.running[kind].CompareAndSwap(false, true) {
		return Report{Round: kind}, ErrRunning
	}
	defer s.running[kind].Store(false)

	report := Report{Round: kind, Start: time.Now()}
	s.releaseUnsaved(ctx)
	var err error
	interval := s.config.Interval
	if kind == SyncRound {
		report.Nodes, err = s.syncAll(ctx)
	} else {
		interval = s.config.RecoveryInterval
		report.Nodes, err = s.recoverAll(ctx)
	}
	report.Took = time.Since(report.Start)
	report.Overran = interval != Never && report.Took > interval
	s.counters.add(report)
	s.logReport(ctx, report, err)
	if ended := ctx.Err(); ended != nil {
		return report, ended
	}
	return report, err
}

func (s *Syncer) syncAll(ctx context.Context) (Counts, error) {
	crew := s.newCrew(ctx, s.syncNode)
	first := s.failing.worst()
	given := make(map[string]struct{}, len(first))
	for _, id := range first {
		given[id] = struct{}{}
		if !crew.give(id) {
			break
		}
	}
	err := crew.list(func(r Record) (bool, Outcome) {
		_, done := given[r.ID]
		if r.Reservation == s.config.Name {
			return !done, NoOutcome // may be one to reclaim
		}
		return !done, SkipSync(r)
	})
	return crew.finish(), err
}

func (s *Syncer) recoverAll(ctx context.Context) (Counts, error) {
	crew := s.newCrew(ctx, s.recoverNode)
	err := crew.list(func(r Record) (bool, Outcome) {
		skip := SkipRecovery(r)
		return skip != SkippedEnroll && skip != SkippedNoPowerFailure, skip
	})
	return crew.finish(), err
}

// Ironic warns about a round that takes over so many intervals.
const warnIntervals = 3

func (s *Syncer) logReport(ctx context.Context, r Report, err error) {
	level := slog.LevelInfo
	interval := s.config.Interval
	if r.Round == RecoveryRound {
		interval = s.config.RecoveryInterval
	}
	if err != nil && !errors.Is(err, context.Canceled) || r.Overran && r.Took > warnIntervals*interval {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("round", r.Round.String()),
		slog.Duration("took", r.Took),
		slog.Bool("overran", r.Overran),
		slog.Any("nodes", r.Nodes),
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	s.config.Logger.LogAttrs(ctx, level, "power sync round", attrs...)
}

// tell counts an event, and tells of it where there is something to tell.
func (s *Syncer) tell(ctx context.Context, e Event) {
	s.counters.nodes[e.Outcome].Add(1)
	if e.quiet() {
		return
	}
	e.Time = time.Now()
	s.logEvent(ctx, e)
	if s.config.OnEvent != nil {
		s.callBack(ctx, "OnEvent", func() { s.config.OnEvent(e) })
	}
}

// callBack calls a function of the user's, whose panic is logged.
func (s *Syncer) callBack(ctx context.Context, name string, f func()) {
	var err error
	func() {
		defer recoverTo(&err)
		f()
	}()
	if err != nil {
		s.config.Logger.LogAttrs(ctx, slog.LevelError, "callback panicked",
			slog.String("callback", name), slog.Any("error", err))
	}
}

func (s *Syncer) logEvent(ctx context.Context, e Event) {
	level := slog.LevelInfo
	switch {
	case e.Outcome == IntoMaintenance:
		level = slog.LevelError
	case e.Outcome.Failed() || e.Outcome == Forced || e.Outcome == ForceHeld || e.Outcome == Reclaimed:
		level = slog.LevelWarn
	}
	if !s.config.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("node", e.ID),
		slog.String("outcome", e.Outcome.String()),
		slog.Any("recorded", e.Recorded),
		slog.Any("read", e.Read),
		slog.Any("asked", e.Asked),
		slog.Int("attempts", e.Attempts),
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	if e.LastError != "" {
		attrs = append(attrs, slog.String("last_error", e.LastError))
	}
	if e.ClearedError != "" {
		attrs = append(attrs, slog.String("cleared_error", e.ClearedError))
	}
	s.config.Logger.LogAttrs(ctx, level, "node power", attrs...)
}
