// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Transition is one transition of a node. It is a value; copies may be shared freely.
// Its JSON is flat, with the keys of Ironic's provision notification: provision_state
// and so on for To, previous_provision_state and so on for From.
type Transition struct {
	Node     string // the machine's name
	Token    any    // the machine's token; it is not in JSON
	Event    states.Event
	From, To Node
	// Power is the power state that a verification read; see [Input.Power].
	Power states.Power
	Time  time.Time // by the machine's clock
	// Status is the status of Ironic's provision notification: "start" if work began (the
	// node moved into an unstable state), "end" if it ended (the node moved out of the
	// unstable states), "error" if it failed (the event is fail or error), otherwise
	// "success". Source: ironic/conductor/task_manager.py.
	Status string
}

// transitionJSON is the form of a Transition in JSON.
type transitionJSON struct {
	Node              string       `json:"node"`
	Event             states.Event `json:"event"`
	PreviousState     states.State `json:"previous_provision_state"`
	PreviousTarget    states.State `json:"previous_target_provision_state"`
	PreviousLastError *string      `json:"previous_last_error"`
	State             states.State `json:"provision_state"`
	Target            states.State `json:"target_provision_state"`
	LastError         *string      `json:"last_error"`
	Power             states.Power `json:"power_state"`
	Time              time.Time    `json:"time"`
	Status            string       `json:"status"`
}

// MarshalJSON implements [json.Marshaler].
func (t Transition) MarshalJSON() ([]byte, error) {
	return json.Marshal(transitionJSON{
		t.Node, t.Event,
		t.From.State, t.From.Target, textOrNull(t.From.LastError),
		t.To.State, t.To.Target, textOrNull(t.To.LastError),
		t.Power, t.Time, t.Status,
	})
}

// UnmarshalJSON takes the output of MarshalJSON; t keeps its value on error.
func (t *Transition) UnmarshalJSON(data []byte) error {
	var in transitionJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*t = Transition{
		Node:   in.Node,
		Event:  in.Event,
		From:   Node{in.PreviousState, in.PreviousTarget, textOf(in.PreviousLastError)},
		To:     Node{in.State, in.Target, textOf(in.LastError)},
		Power:  in.Power,
		Time:   in.Time,
		Status: in.Status,
	}
	return nil
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func statusOf(t *states.Table, from states.State, event states.Event, to states.State) string {
	unstable := t.Unstable()
	was, is := unstable.Has(from), unstable.Has(to)
	switch {
	case event == states.EventFail || event == states.EventError:
		return "error"
	case is && !was:
		return "start"
	case was && !is:
		return "end"
	default:
		return "success"
	}
}

// attrs returns a transition's log attributes, without its time.
func (t Transition) attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("node", t.Node),
		slog.String("event", t.Event.String()),
		slog.String("from", t.From.State.String()),
		slog.String("to", t.To.State.String()),
		slog.String("target", t.To.Target.String()),
		slog.String("status", t.Status),
	}
	if t.Power != states.NoPower {
		attrs = append(attrs, slog.String("power", t.Power.String()))
	}
	if t.To.LastError != "" {
		attrs = append(attrs, slog.String("last_error", t.To.LastError))
	}
	return attrs
}

// Log returns an enter hook that logs each transition, as Ironic's conductor does: at
// level Error if the new state is error or a failed one, otherwise at level Info. The
// record's time is the transition's. A nil logger is [slog.Default]; an error of its
// handler is ignored, as slog does.
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
		record := slog.NewRecord(t.Time, level, "node moved", 0)
		record.AddAttrs(t.attrs()...)
		_ = to.Handler().Handle(ctx, record)
		return nil
	}
}
