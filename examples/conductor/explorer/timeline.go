package explorer

import (
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// stage is an entry of a node's timeline: a state in which the node was, or a recorded failure.
type stage struct {
	State  states.State `json:"state"` // null if unknown
	At     time.Time    `json:"at,omitzero"`
	Source source       `json:"source"`
	Text   string       `json:"text,omitzero"` // of a failure
	// Through are the most likely transitions from the previous stage, see [plan.Explain].
	Through []transition `json:"through"`
}

// source is the origin of a stage.
type source string

const (
	fromBegin   source = "begin"   // the initial state of all nodes
	fromHistory source = "history" // an entry of the node's history
	fromWatch   source = "watch"   // an observed move
	fromRecord  source = "record"  // the node's record
)

type transition struct {
	From  states.State `json:"from"`
	Event states.Event `json:"event"`
	To    states.State `json:"to"`
}

// maxStages bounds the shown stages; the latest are shown.
const maxStages = 40

// timelineOf returns the stages of a node, oldest first.
func timelineOf(table *states.Table, n *conductor.Node, history []*conductor.Object, moves []move) []stage {
	var timeline []stage
	texts := map[int]string{} // the failures of observed moves, by the move's index
	for _, entry := range history {
		if i := moveOf(table, entry, moves); i >= 0 {
			texts[i] = field(entry, "event")
		} else {
			timeline = append(timeline, failure(table, entry)...)
		}
	}
	timeline = append(timeline, watched(moves, texts)...)
	slices.SortStableFunc(timeline, func(a, b stage) int { return a.At.Compare(b.At) })
	begin := stage{State: table.Series().MaxAPIVersion().InitialState(), At: n.CreatedAt, Source: fromBegin}
	timeline = slices.Insert(timeline, 0, begin)
	if last := timeline[len(timeline)-1]; last.State != n.ProvisionState {
		now := stage{State: n.ProvisionState, Source: fromRecord}
		if n.ProvisionUpdatedAt != nil {
			now.At = *n.ProvisionUpdatedAt
		}
		timeline = append(timeline, now)
	}
	timeline = slices.CompactFunc(timeline, func(s, before stage) bool { return s.State == before.State && s.Text == "" })
	return explained(table, timeline)
}

// watched returns the stages of observed moves: the state after each move, and the state before it if
// the previous move did not lead there. texts has the failure texts by the index of the move.
func watched(moves []move, texts map[int]string) []stage {
	var timeline []stage
	for i, m := range moves {
		if i == 0 || moves[i-1].to != m.from {
			timeline = append(timeline, stage{State: m.from, At: m.at, Source: fromWatch})
		}
		timeline = append(timeline, stage{State: m.to, At: m.at, Source: fromWatch, Text: texts[i]})
	}
	return timeline
}

// workOf maps the event types of failures to the state of the failed work. "rescue" is missing, since
// it is the type of both rescue and unrescue.
var workOf = map[string]states.State{
	"verify": states.Verifying, "introspection": states.Inspecting, "cleaning": states.Cleaning, "deploying": states.Deploying,
	"unprovision": states.Deleting, "adoption": states.Adopting, "servicing": states.Servicing,
}

// failed returns the state of the failed work in a history entry and the node's state after the
// failure, NoState if unknown.
func failed(table *states.Table, entry *conductor.Object) (work, end states.State) {
	work = workOf[field(entry, "event_type")]
	for _, e := range []states.Event{states.EventFail, states.EventError} {
		if end, ok := table.Next(work, e); ok {
			return work, end
		}
	}
	return states.NoState, states.NoState
}

func field(o *conductor.Object, name string) string {
	text, _ := o.Fields[name].(string)
	return text
}

// failure returns the stages of a failure whose move was not observed.
func failure(table *states.Table, entry *conductor.Object) []stage {
	work, end := failed(table, entry)
	after := stage{State: end, At: entry.CreatedAt, Source: fromHistory, Text: field(entry, "event")}
	if work == states.NoState {
		return []stage{after}
	}
	return []stage{{State: work, At: entry.CreatedAt, Source: fromHistory}, after}
}

// sameFailure bounds the time between a move and the history entry of its failure.
const sameFailure = 10 * time.Second

// moveOf returns the index of the move that a history entry's failure has caused, -1 if it was not
// observed.
func moveOf(table *states.Table, entry *conductor.Object, moves []move) int {
	_, end := failed(table, entry)
	best := -1
	for i, m := range moves {
		after := entry.CreatedAt.Sub(m.at)
		if m.to == end && after >= -time.Second && after < sameFailure && (best < 0 || after < entry.CreatedAt.Sub(moves[best].at)) {
			best = i
		}
	}
	return best
}

// explained sets the transitions between the stages. A stage that no path reaches from the previous
// ones has no transitions, and a new path starts there.
func explained(table *states.Table, timeline []stage) []stage {
	var known []int // the indexes of the stages whose state is known
	for i, s := range timeline {
		timeline[i].Through = []transition{}
		if s.State != states.NoState {
			known = append(known, i)
		}
	}
	for len(known) > 1 {
		seen := make([]states.State, len(known))
		for i, at := range known {
			seen[i] = timeline[at].State
		}
		gaps, err := plan.Explain(table, seen)
		if err != nil { // the stage after the gaps cannot follow
			known = known[len(gaps)+1:]
			continue
		}
		for i, gap := range gaps {
			for _, row := range gap {
				timeline[known[i+1]].Through = append(timeline[known[i+1]].Through, transition{row.From, row.Event, row.To})
			}
		}
		break
	}
	return timeline
}
