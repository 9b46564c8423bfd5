package explorer

import (
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A stage is a state in which the node was, or something else that is known of it.
type stage struct {
	State  states.State `json:"state"` // null where it is not known
	At     time.Time    `json:"at,omitzero"`
	Source source       `json:"source"`
	Text   string       `json:"text,omitzero"` // of a failure
	// Through are the transitions since the stage before: the most likely ones, see
	// [plan.Explain].
	Through []transition `json:"through"`
}

// source says how a stage is known.
type source string

const (
	fromBegin   source = "begin"   // nodes begin there
	fromHistory source = "history" // the node's history
	fromWatch   source = "watch"   // it was seen
	fromRecord  source = "record"  // the node's record says so
)

type transition struct {
	From  states.State `json:"from"`
	Event states.Event `json:"event"`
	To    states.State `json:"to"`
}

// maxStages bounds the stages that are shown, the latest ones.
const maxStages = 40

// wayOf returns the stages of a node, oldest first.
func wayOf(table *states.Table, n *conductor.Node, history []*conductor.Object, moves []move) []stage {
	var way []stage
	texts := map[int]string{} // of the failures whose moves were seen
	for _, entry := range history {
		if i := moveOf(table, entry, moves); i >= 0 {
			texts[i] = field(entry, "event")
		} else {
			way = append(way, failure(table, entry)...)
		}
	}
	way = append(way, watched(moves, texts)...)
	slices.SortStableFunc(way, func(a, b stage) int { return a.At.Compare(b.At) })
	begin := stage{State: table.Series().MaxAPIVersion().InitialState(), At: n.CreatedAt, Source: fromBegin}
	way = slices.Insert(way, 0, begin)
	if last := way[len(way)-1]; last.State != n.ProvisionState {
		now := stage{State: n.ProvisionState, Source: fromRecord}
		if n.ProvisionUpdatedAt != nil {
			now.At = *n.ProvisionUpdatedAt
		}
		way = append(way, now)
	}
	way = slices.CompactFunc(way, func(s, before stage) bool { return s.State == before.State && s.Text == "" })
	return explained(table, way)
}

// watched returns the stages of moves that were seen, with the texts of some moves: the
// states that moves led from, where none led there before, and those that they led to.
func watched(moves []move, texts map[int]string) []stage {
	var way []stage
	for i, m := range moves {
		if i == 0 || moves[i-1].to != m.from {
			way = append(way, stage{State: m.from, At: m.at, Source: fromWatch})
		}
		way = append(way, stage{State: m.to, At: m.at, Source: fromWatch, Text: texts[i]})
	}
	return way
}

// workOf are the states of the work whose failures have an event type. A rescue is
// missing: of that, the type does not tell whether it was begun or ended.
var workOf = map[string]states.State{
	"verify": states.Verifying, "introspection": states.Inspecting, "cleaning": states.Cleaning, "deploying": states.Deploying,
	"unprovision": states.Deleting, "adoption": states.Adopting, "servicing": states.Servicing,
}

// failed returns the work that an entry of a history says has failed, and the state in
// which that leaves a node; NoState where it is not known.
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

// failure returns the stages of a failure whose move was not seen.
func failure(table *states.Table, entry *conductor.Object) []stage {
	work, end := failed(table, entry)
	after := stage{State: end, At: entry.CreatedAt, Source: fromHistory, Text: field(entry, "event")}
	if work == states.NoState {
		return []stage{after}
	}
	return []stage{{State: work, At: entry.CreatedAt, Source: fromHistory}, after}
}

// sameFailure is how long after a move the entry of its failure may be written.
const sameFailure = 10 * time.Second

// moveOf returns the index of the move that is the failure of a history's entry, -1
// where it was not seen.
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

// explained returns stages with the transitions between them. Where a stage cannot come
// after those before it, there are none to it, and the way begins anew.
func explained(table *states.Table, way []stage) []stage {
	var known []int // the indexes of the stages with a state
	for i, s := range way {
		way[i].Through = []transition{}
		if s.State != states.NoState {
			known = append(known, i)
		}
	}
	for len(known) > 1 {
		seen := make([]states.State, len(known))
		for i, at := range known {
			seen[i] = way[at].State
		}
		gaps, err := plan.Explain(table, seen)
		if err != nil { // the observation after the gaps is impossible
			known = known[len(gaps)+1:]
			continue
		}
		for i, gap := range gaps {
			for _, row := range gap {
				way[known[i+1]].Through = append(way[known[i+1]].Through, transition{row.From, row.Event, row.To})
			}
		}
		break
	}
	return way
}
