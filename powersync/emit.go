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

// emit counts an event, and logs and reports it unless it is quiet.
func (s *Syncer) emit(ctx context.Context, e Event) Event {
	s.counters.count(e.Outcome)
	if e.quiet() {
		return e
	}
	e.Time = time.Now()
	s.logEvent(ctx, e)
	if s.config.OnEvent != nil {
		s.callBack(ctx, &s.onEvent, func() { s.config.OnEvent(e) })
	}
	return e
}

func (s *Syncer) logEvent(ctx context.Context, e Event) {
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
	s.log(ctx, level, "node power", attrs...)
}

// Ironic warns about a round that takes longer than this many intervals.
const warnIntervals = 3

func (s *Syncer) logReport(ctx context.Context, r Report, interval time.Duration, err error) {
	level := slog.LevelInfo
	if err != nil && !errors.Is(err, context.Canceled) || r.Overran && r.Took > warnIntervals*interval {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("round", string(r.kind())),
		slog.Duration("took", r.Took),
		slog.Bool("overran", r.Overran),
		slog.Any("nodes", r.Nodes),
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	s.log(ctx, level, "power sync round", attrs...)
}

func (s *Syncer) log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	s.callBack(ctx, &s.logger, func() { s.config.Logger.LogAttrs(ctx, level, message, attrs...) })
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
func (s *Syncer) callBack(ctx context.Context, c *callback, f func()) {
	if c.hangs() {
		s.counters.dropped.Add(1)
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.callbackTime())
	defer cancel()
	_, err := boundedcall.Do(bounded, 0, func(context.Context) (none, error) {
		f()
		return none{}, nil
	})
	if err == nil {
		return
	}
	s.counters.dropped.Add(1)
	var abandoned *boundedcall.AbandonedError
	if errors.As(err, &abandoned) {
		c.mu.Lock()
		c.left = append(c.left, abandoned)
		c.mu.Unlock()
	}
	if c != &s.logger {
		s.log(ctx, slog.LevelError, "callback failed", slog.String("callback", c.name), slog.Any("error", err))
	}
}

// hangs reports whether an abandoned call has not returned yet.
func (c *callback) hangs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.left) > 0 && c.left[0].Returned() {
		c.left = c.left[1:]
	}
	return len(c.left) > 0
}
