// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

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
