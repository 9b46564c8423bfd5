package machine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Transition is a step of one node's life.
type Transition struct {
	Node     string // the machine's name
	Event    states.Event
	From, To Node
	Time     time.Time // by the machine's clock; zero where Config.NoTime is set
	Status   Status
}

// of fills t in, in place, and returns it.
func (t *Transition) of(m *Machine, event states.Event, from, to Node, at time.Time) *Transition {
	t.Node = m.name
	t.Event = event
	t.From = from
	t.To = to
	t.Time = at
	t.Status = statusOf(m.table, from.State, event, to.State)
	return t
}

// Status is what Ironic's provision notification says of a transition. Source:
// ironic/conductor/task_manager.py.
type Status uint8

const (
	// StatusSuccess ("success"): the node moved, and work neither began nor
	// ended with it.
	StatusSuccess Status = iota
	// StatusStart ("start"): work began, the node moved into an unstable state.
	StatusStart
	// StatusEnd ("end"): work ended, the node moved out of the unstable states.
	StatusEnd
	// StatusError ("error"): work failed, the event is fail or error.
	StatusError
)

// String returns Ironic's word for the status.
func (s Status) String() string {
	switch s {
	case StatusSuccess:
		return "success"
	case StatusStart:
		return "start"
	case StatusEnd:
		return "end"
	case StatusError:
		return "error"
	default:
		return fmt.Sprintf("Status(%d)", uint8(s))
	}
}

// MarshalText returns String.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func statusOf(t *states.Table, from states.State, event states.Event, to states.State) Status {
	unstable := t.Unstable()
	was, is := unstable.Has(from), unstable.Has(to)
	switch {
	case event == states.EventFail || event == states.EventError:
		return StatusError
	case is && !was:
		return StatusStart
	case was && !is:
		return StatusEnd
	default:
		return StatusSuccess
	}
}

// LogValue implements [slog.LogValuer]: a group of all there is to a transition,
// but for its time.
func (t Transition) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("node", t.Node),
		slog.Any("event", t.Event),
		slog.Any("from", t.From.State),
		slog.Any("to", t.To.State),
		slog.Any("target", t.To.Target),
		slog.String("status", t.Status.String()),
	}
	if t.To.LastError != "" {
		attrs = append(attrs, slog.String("last_error", t.To.LastError))
	}
	return slog.GroupValue(attrs...)
}

// Log returns an enter hook that logs each transition: as an error when the new
// state is a failed one or error, otherwise as information, as Ironic's conductor
// does. The record's time is the transition's, or now where that has none. A nil
// logger is [slog.Default]; an error of its handler is ignored, as slog does.
func Log(to *slog.Logger) Hook {
	if to == nil {
		to = slog.Default()
	}
	failed := states.Latest().Table().Failed().Union(states.SetOf(states.Error))
	return func(ctx context.Context, t Transition) error {
		level := slog.LevelInfo
		if failed.Has(t.To.State) {
			level = slog.LevelError
		}
		if !to.Enabled(ctx, level) {
			return nil
		}
		at := t.Time
		if at.IsZero() {
			at = time.Now()
		}
		record := slog.NewRecord(at, level, "node moved", 0)
		record.AddAttrs(t.LogValue().Group()...)
		_ = to.Handler().Handle(ctx, record)
		return nil
	}
}
