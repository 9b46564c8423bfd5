// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// stage is an entry of a node's timeline: a state in which the node was, or an entry of its history.
type stage struct {
	State  states.State `json:"state"` // null if unknown
	At     time.Time    `json:"at,omitzero"`
	Source source       `json:"source"`
	Text   string       `json:"text,omitzero"` // the text of an error
	// Seconds is the time in the state, nil if it is unknown, and for the current state, which has not ended.
	Seconds *float64 `json:"seconds"`
	// By is the transition to the state, nil if the record does not have it.
	By *states.Transition `json:"by"`
}

// source is the origin of a stage.
type source string

const (
	fromTransition source = "transition" // a transition in the node's record
	fromBefore     source = "before"     // the state in which a transition of the record began
	fromRecord     source = "record"     // the current state of the record
	fromHistory    source = "history"    // an entry of the node's history
)

// maxStages bounds the shown stages; the latest are shown.
const maxStages = 40

// maxEntryDelay bounds the time between a transition and the history entry of its error.
const maxEntryDelay = 10 * time.Second

// timelineOf returns the stages of a node, oldest first, from the transitions of its record and the errors of its
// history. It leaves out the entries of the history that say which steps begin and end, since transitions show these
// stages.
func timelineOf(n *conductor.Node, history []*conductor.HistoryEntry) []stage {
	timeline := stagesOf(n)
	for _, entry := range history {
		if strings.HasSuffix(entry.EventType, "_start") || strings.HasSuffix(entry.EventType, "_end") {
			continue
		}
		text := entry.Event
		sameError := func(s stage) bool { // a transition may have only the beginning of the text
			return s.Text != "" && strings.HasPrefix(text, strings.TrimSuffix(s.Text, "…")) && entry.CreatedAt.Sub(s.At).Abs() < maxEntryDelay
		}
		if i := slices.IndexFunc(timeline, sameError); i >= 0 {
			timeline[i].Text = text
		} else {
			timeline = append(timeline, stage{At: entry.CreatedAt, Source: fromHistory, Text: text})
		}
	}
	slices.SortStableFunc(timeline, func(a, b stage) int { return a.At.Compare(b.At) })
	return timeline[max(0, len(timeline)-maxStages):]
}

// stagesOf returns the stages in the record of a node, oldest first.
func stagesOf(n *conductor.Node) (timeline []stage) {
	state, lastError := states.NoState, ""
	for _, t := range n.Transitions {
		if t.From != state {
			timeline = append(timeline, stage{State: t.From, At: t.Time, Source: fromBefore})
		}
		s := stage{State: t.To, At: t.Time, Source: fromTransition, By: &states.Transition{From: t.From, Event: t.Event, To: t.To}}
		if t.LastError != lastError {
			s.Text = t.LastError
		}
		timeline = append(timeline, s)
		state, lastError = t.To, t.LastError
	}
	if state != n.ProvisionState || len(timeline) == 0 {
		now := stage{State: n.ProvisionState, At: n.CreatedAt, Source: fromRecord}
		if n.ProvisionUpdatedAt != nil {
			now.At = *n.ProvisionUpdatedAt
		}
		if last := len(timeline) - 1; last >= 0 && now.At.Before(timeline[last].At) {
			now.At = timeline[last].At
		}
		timeline = append(timeline, now)
	}
	setSeconds(timeline)
	return timeline
}

// setSeconds sets the times in the states of a timeline without entries of the history. The time is unknown if the
// transition to the state or the transition from it is missing.
func setSeconds(timeline []stage) {
	for i := range timeline[:len(timeline)-1] {
		s, next := &timeline[i], timeline[i+1]
		if s.Source == fromTransition && next.Source == fromTransition {
			seconds := max(0, next.At.Sub(s.At).Seconds()) // the clocks of two conductors may differ
			s.Seconds = &seconds
		}
	}
}
