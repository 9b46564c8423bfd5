// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Stats are a conductor's counters since [New], and the use of its worker pool, for a
// metrics endpoint. To measure conflicts, errors and latencies of the store, wrap the
// configured [Store].
type Stats struct {
	// Joins counts how often the conductor has become a member, JoinsFailed its failed
	// attempts, and MembershipsLost how often it lost its membership and abandoned its
	// work.
	Joins, JoinsFailed, MembershipsLost int64
	// ReservationsDropped counts the dropped reservations of conductors that had died.
	ReservationsDropped int64
	// LockedRetries counts the retries of requests for reserved nodes.
	LockedRetries int64
	// ReportRetries counts the retries of writes that report the end of work.
	ReportRetries int64
	// BusyWorkers is the number of workers that are working on a node now, Workers the
	// size of the pool.
	BusyWorkers, Workers int
}

type counters struct {
	joins, joinsFailed, membershipsLost, reservationsDropped, reportRetries,
	powerReads, powerSets, powerAbandoned atomic.Int64
}

// Stats returns the current values.
func (c *Conductor) Stats() Stats {
	return Stats{
		Joins: c.engine.counters.joins.Load(), JoinsFailed: c.engine.counters.joinsFailed.Load(),
		MembershipsLost:     c.engine.counters.membershipsLost.Load(),
		ReservationsDropped: c.engine.counters.reservationsDropped.Load(),
		LockedRetries:       c.fleet.retried.Load(),
		ReportRetries:       c.engine.counters.reportRetries.Load(),
		BusyWorkers:         c.engine.pool.Busy(), Workers: c.config.Workers,
	}
}

// PowerStats returns the current values of the power sync, power requests included.
func (c *Conductor) PowerStats() powersync.Stats {
	stats, counters := c.engine.syncer.Stats(), c.engine.counters
	stats.Reads = int(counters.powerReads.Load())
	stats.Sets = int(counters.powerSets.Load())
	stats.Abandoned = int(counters.powerAbandoned.Load())
	return stats
}

// logMoved logs a transition: the begin and the end of work at INFO, a failure at WARN, and a wait of work and its end
// at DEBUG.
func (c *Config) logMoved(n *Node, t TransitionRecord) {
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("node", n.UUID),
		slog.Any("from", t.From),
		slog.Any("event", t.Event),
		slog.Any("to", t.To),
	}
	switch table := c.Table; {
	case t.Event == states.EventFail:
		level = slog.LevelWarn
	case table.Phase(t.To) == states.PhaseWaiting, table.Phase(t.From) == states.PhaseWaiting && table.Phase(t.To) == states.PhaseWorking:
		level = slog.LevelDebug
	}
	if took, ended := n.took(t); ended {
		attrs = append(attrs, slog.Duration("after", took.Round(time.Millisecond)))
	}
	if t.LastError != "" {
		attrs = append(attrs, slog.String("last_error", t.LastError))
	}
	c.Log.LogAttrs(context.Background(), level, "node moved", attrs...)
}

// took returns how long the work took that a transition of the record has ended, with its waits. It returns false if
// the transition has not ended work, or if the record no longer has the begin.
func (n *Node) took(t TransitionRecord) (took time.Duration, ended bool) {
	if !t.From.InProgress() || t.To.InProgress() {
		return 0, false
	}
	for i := slices.Index(n.Transitions, t); i >= 0; i-- {
		if begin := n.Transitions[i]; !begin.From.InProgress() {
			return t.Time.Sub(begin.Time), true
		}
	}
	return 0, false
}

// logPlan logs the steps of a node's work. Work without steps has no record.
func (c *Config) logPlan(n *Node, steps []Step) {
	if len(steps) > 0 {
		c.Log.Info("steps are planned", "node", n.UUID, "steps", fmt.Sprint(steps))
	}
}

// logImage logs that the agent has written the image of the instance, its size, and the rate since the agent was asked.
func (c *Config) logImage(n *Node) {
	attrs := []slog.Attr{slog.String("node", n.UUID), slog.Any("image", masked.Value(n.InstanceInfo["image_source"]))}
	if last := len(n.Transitions) - 1; last >= 0 {
		took, size := now().Sub(n.Transitions[last].Time), n.Deployment.ImageSize
		attrs = append(attrs, slog.Duration("after", took.Round(time.Millisecond)))
		if size > 0 && took > 0 {
			attrs = append(attrs, slog.Int64("bytes", size), slog.String("rate", fmt.Sprintf("%.1f MB/s", float64(size)/1e6/took.Seconds())))
		}
	}
	c.Log.LogAttrs(context.Background(), slog.LevelInfo, "the agent has written the image", attrs...)
}

// Tracer traces requests into the work that they start. That work continues after the
// response, possibly in another conductor. A Tracer must be safe for concurrent use.
type Tracer interface {
	// Origin returns a text that identifies the request of a context, such as a W3C
	// traceparent, or "". The text is stored with the node on which the request starts work.
	Origin(request context.Context) string
	// Trace must call do once, with ctx or a context derived from it. do returns the
	// operation's error, which contains no secret. If Trace panics or does not call do, the
	// conductor still does the operation.
	Trace(ctx context.Context, o Operation, do func(context.Context) error)
}

// Operation is a piece of work on a node that a [Tracer] sees.
type Operation struct {
	// Name is the provision state or power state that is worked on ("deploying", "power
	// on"), the name of a step ("deploy.deploy"), or a call of the node's hardware:
	// "verify", "read power", "read health", "read vendor", "read boot mode", or "set " followed by a power state.
	Name string
	Node *Node
	// Origin is the origin of the request that started the work. It is empty for an
	// operation within another, and for one that no request has started.
	Origin string
}

// traced does an operation within a call of the configured tracer.
func (c *Config) traced(ctx context.Context, o Operation, do func(context.Context) error) error {
	if c.Tracer == nil {
		return do(ctx)
	}
	var once sync.Once
	var err error
	within := false
	run := func(ctx context.Context) error {
		once.Do(func() {
			within = true
			err = do(ctx)
			within = false
		})
		return err
	}
	func() {
		defer func() {
			if within {
				return // a panic of the operation propagates
			}
			if value := recover(); value != nil {
				c.Log.Error("the tracer has panicked", "node", o.Node.UUID, "value", value, "stack", string(debug.Stack()))
			}
		}()
		c.Tracer.Trace(ctx, o, run)
	}()
	return run(ctx)
}

// origin returns the text that is stored with the work that a request starts.
func (c *Config) origin(request context.Context) string {
	if origin, ok := request.Value(originKey{}).(string); ok {
		return origin
	}
	if c.Tracer == nil {
		return ""
	}
	return c.Tracer.Origin(request)
}

// originKey is the key of the origin in the context of a call of another conductor.
type originKey struct{}
