// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
)

// A reporter counts, logs and reports what a Syncer does.
type reporter struct {
	log                       *slog.Logger
	event                     func(Event)         // OnEvent; may be nil
	report                    func(Report, error) // OnReport; may be nil
	timeout                   time.Duration       // of a callback
	counters                  *counters
	onEvent, onReport, logger callback
}

// emit counts an event, and logs and reports it unless nothing has happened.
func (r *reporter) emit(ctx context.Context, e Event) {
	r.counters.count(e.Outcome)
	if (e.Outcome == Equal || slices.Contains(skips, e.Outcome)) && e.ClearedError == "" {
		return
	}
	e.Time = time.Now()
	level := slog.LevelInfo
	switch {
	case e.Outcome == IntoMaintenance:
		level = slog.LevelError
	case slices.Contains(failed, e.Outcome), e.Outcome == Forced, e.Outcome == ForceHeldBack, e.Outcome == Reclaimed:
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("node", e.ID),
		slog.String("outcome", string(e.Outcome)),
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
	r.write(ctx, level, "node power", attrs...)
	if r.event != nil {
		r.callBack(ctx, &r.onEvent, func() { r.event(e) })
	}
}

// Ironic warns about a round that takes longer than this many intervals.
const warnIntervals = 3

// round counts and logs a round.
func (r *reporter) round(ctx context.Context, report Report, interval time.Duration, err error) {
	if report.Overran {
		r.counters.overruns.Add(1)
	}
	if report.Recovery {
		r.counters.recoveries.Add(1)
	} else {
		r.counters.rounds.Add(1)
		r.counters.lastRound.Store(int64(report.Took))
	}
	level := slog.LevelInfo
	if err != nil && !errors.Is(err, context.Canceled) || report.Overran && report.Took > warnIntervals*interval {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("round", string(report.kind())),
		slog.Duration("took", report.Took),
		slog.Bool("overran", report.Overran),
		slog.Any("nodes", report.Nodes),
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	r.write(ctx, level, "power sync round", attrs...)
}

// write writes a line to the Logger.
func (r *reporter) write(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	r.callBack(ctx, &r.logger, func() { r.log.LogAttrs(ctx, level, message, attrs...) })
}

// A callback is a user's function that rounds call. While one of its calls is
// abandoned, no other is made.
type callback struct {
	name string

	mu   sync.Mutex
	left []*boundedcall.AbandonedError
}

// callBack calls a callback, and abandons the call if it does not return in time. A
// failure is logged.
func (r *reporter) callBack(ctx context.Context, c *callback, f func()) {
	c.mu.Lock()
	for len(c.left) > 0 && c.left[0].Returned() {
		c.left = c.left[1:]
	}
	hangs := len(c.left) > 0
	c.mu.Unlock()
	if hangs {
		r.counters.dropped.Add(1)
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	_, err := boundedcall.Do(bounded, 0, func(context.Context) (none, error) {
		f()
		return none{}, nil
	})
	if err == nil {
		return
	}
	r.counters.dropped.Add(1)
	var abandoned *boundedcall.AbandonedError
	if errors.As(err, &abandoned) {
		c.mu.Lock()
		c.left = append(c.left, abandoned)
		c.mu.Unlock()
	}
	if c != &r.logger {
		r.write(ctx, slog.LevelError, "callback failed", slog.String("callback", c.name), slog.Any("error", err))
	}
}
