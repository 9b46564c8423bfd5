// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/abandoned"
)

// kind is a kind of round.
type kind string

const (
	syncRound     kind = "sync"
	recoveryRound kind = "recovery"
)

// Report is the result of a round.
type Report struct {
	Recovery bool          `json:"recovery"` // a round of Recover, not of Sync
	Start    time.Time     `json:"start"`
	Took     time.Duration `json:"took_ns"`
	Overran  bool          `json:"overran"` // took longer than its interval

	Seen    int `json:"seen"`    // all nodes of the round
	Skipped int `json:"skipped"` // nodes that were skipped
	// Failed is the number of nodes with the outcomes force_failed, read_failed,
	// into_maintenance and store_failed.
	Failed int             `json:"failed"`
	Nodes  map[Outcome]int `json:"nodes"` // by outcome, without those that no node had
}

// String returns the report in one line, such as
//
//	sync round: 200 nodes in 1.2s: 3 skipped_enroll, 196 equal, 1 forced
func (r Report) String() string {
	var parts []string
	for _, o := range slices.SortedFunc(maps.Keys(r.Nodes), func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a, b))
	}) {
		if n := r.Nodes[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	line := fmt.Sprintf("%s round: %d nodes in %v", r.kind(), r.Seen, r.Took.Round(time.Millisecond))
	if r.Overran {
		line += " (longer than its interval)"
	}
	if len(parts) > 0 {
		line += ": " + strings.Join(parts, ", ")
	}
	return line
}

func (r Report) kind() kind {
	if r.Recovery {
		return recoveryRound
	}
	return syncRound
}

// Stats holds a Syncer's counters since it was made, and the current values of its
// gauges, for exporters: [expvar.Func] can publish it unchanged, as examples/powersync
// does.
type Stats struct {
	Nodes  map[Outcome]int `json:"nodes"`  // every outcome, also in running rounds
	Seen   int             `json:"seen"`   // the sum of Nodes
	Failed int             `json:"failed"` // as in Report, and with power_not_set

	Rounds     int           `json:"rounds"`
	Recoveries int           `json:"recoveries"` // recovery rounds
	Overruns   int           `json:"overruns"`   // rounds of both kinds that overran
	Reads      int           `json:"reads"`      // calls of Driver.PowerState
	Sets       int           `json:"sets"`       // calls of Driver.SetPower
	Abandoned  int           `json:"abandoned"`  // calls of the Driver that did not return in time
	Dropped    int           `json:"dropped"`    // calls of OnEvent, OnReport and the Logger that failed or were not made
	Failing    int           `json:"failing"`    // gauge: nodes whose last attempt in a sync round failed
	Reserved   int           `json:"reserved"`   // gauge: nodes that this Syncer has reserved
	LastRound  time.Duration `json:"last_round_ns"`
}

// counters has the counters of Stats, without the gauges and the sums.
type counters struct {
	mu    sync.Mutex
	stats Stats
}

// add calls f with the counters, which f increases.
func (c *counters) add(f func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

func (c *counters) count(o Outcome) {
	c.add(func(s *Stats) {
		if s.Nodes == nil {
			s.Nodes = make(map[Outcome]int, len(outcomes))
		}
		s.Nodes[o]++
	})
}

// read returns the counters, with every outcome.
func (c *counters) read() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.stats
	now.Nodes = make(map[Outcome]int, len(outcomes))
	for _, row := range outcomes {
		now.Nodes[row.Outcome] = 0
	}
	maps.Copy(now.Nodes, c.stats.Nodes)
	return now
}

// Stats returns the current counters. It is cheap, and safe to call at any time.
func (s *Syncer) Stats() Stats {
	now := s.counters.read()
	now.Seen, _, now.Failed = count(now.Nodes)
	now.Failing, now.Reserved = s.syncFailures.failing(), s.reserved.len()
	return now
}

// A reporter counts, logs and reports what a Syncer does.
type reporter struct {
	config                    *Config
	counters                  *counters
	onEvent, onReport, logger callback
}

// emit counts an event, and logs and reports it unless nothing has happened.
func (r *reporter) emit(ctx context.Context, e Event) {
	r.counters.count(e.Outcome)
	class := e.Outcome.class()
	if (class == skipped || class == unchanged) && e.ClearedError == "" {
		return
	}
	e.Time = time.Now()
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
	r.write(ctx, class.level(), "node power", attrs...)
	if r.config.OnEvent != nil {
		r.callBack(ctx, &r.onEvent, func() { r.config.OnEvent(e) })
	}
}

// Ironic warns about a round that takes longer than this many intervals.
const warnIntervals = 3

// round counts and logs a round.
func (r *reporter) round(ctx context.Context, report Report, interval time.Duration, err error) {
	r.counters.add(func(s *Stats) {
		if report.Overran {
			s.Overruns++
		}
		if report.Recovery {
			s.Recoveries++
		} else {
			s.Rounds++
			s.LastRound = report.Took
		}
	})
	level := slog.LevelDebug
	if report.Overran {
		level = slog.LevelInfo
	}
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

// write writes a line to the Logger, if there is one.
func (r *reporter) write(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	if r.config.Logger == discard {
		return
	}
	r.callBack(ctx, &r.logger, func() { r.config.Logger.LogAttrs(ctx, level, message, attrs...) })
}

// A callback is a user's function that rounds call. While one of its calls is
// abandoned, no other is made.
type callback struct {
	name      string
	abandoned abandoned.Calls[none]
}

// callBack calls a callback, and abandons the call if it does not return in time. A
// failure is logged.
func (r *reporter) callBack(ctx context.Context, c *callback, f func()) {
	if c.abandoned.Left(none{}) != nil {
		r.counters.add(func(s *Stats) { s.Dropped++ })
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(maxCallbackTime, r.config.Timeout/8))
	defer cancel()
	_, err := abandoned.Do(bounded, &c.abandoned, none{}, 0, func(context.Context) (none, error) {
		f()
		return none{}, nil
	})
	if err == nil {
		return
	}
	r.counters.add(func(s *Stats) { s.Dropped++ })
	if c != &r.logger {
		r.write(ctx, slog.LevelError, "callback failed", slog.String("callback", c.name), slog.Any("error", err))
	}
}
