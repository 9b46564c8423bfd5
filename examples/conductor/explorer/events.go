package explorer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

const (
	// eventInterval is the least time between two events of a stream: what changes
	// meanwhile is in one.
	eventInterval = 250 * time.Millisecond
	// aliveInterval is the time without an event after which a stream says that it is
	// alive.
	aliveInterval = 15 * time.Second
	// writeTimeout is how long a client may take to read an event.
	writeTimeout = 10 * time.Second
	// shownMoves bounds the moves of an event that are shown one by one.
	shownMoves = 20
)

// event is what a stream tells: the fleet as it is, and what has moved since the event
// before.
type event struct {
	Series    string         `json:"series"`
	Conductor string         `json:"conductor"`
	Nodes     int            `json:"nodes"`
	Counts    map[string]int `json:"counts"` // by state, without zeros
	// Moved is the number of moves; none in a stream's first event, whose Moves are
	// the last ones that there were.
	Moved int `json:"moved"`
	// Moves are the last moves, oldest first.
	Moves []shownMove `json:"moves"`
	// Passed are the transitions of all moves.
	Passed []passed `json:"passed"`
}

type shownMove struct {
	UUID string       `json:"uuid"`
	Name string       `json:"name"`
	From states.State `json:"from"`
	To   states.State `json:"to"`
	At   time.Time    `json:"at"`
}

// passed is how many nodes have passed a transition.
type passed struct {
	From  states.State `json:"from"`
	To    states.State `json:"to"`
	Nodes int          `json:"nodes"`
}

// events streams events until the client goes away, is too slow, or Run ends.
func (e *Explorer) events(w http.ResponseWriter, r *http.Request) {
	select {
	case e.listeners <- struct{}{}:
		defer func() { <-e.listeners }()
	default:
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("there are %d streams of events already, try again later", maxListeners))
		return
	}
	s := stream{explorer: e, ResponseWriter: w, control: http.NewResponseController(w), request: r}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	_ = s.control.SetReadDeadline(time.Time{}) // where it cannot be set, the server's own ends the stream
	if s.write("retry: 2000\n\n") == nil {
		s.run()
	}
}

// stream is one client's stream of events.
type stream struct {
	explorer *Explorer
	http.ResponseWriter
	control *http.ResponseController
	request *http.Request
}

func (s *stream) run() {
	news, end := s.explorer.fleet.listen()
	defer end()
	alive := time.NewTicker(aliveInterval)
	defer alive.Stop()
	told := -1
	for {
		select {
		case <-news:
			var text string
			text, told = s.explorer.news(told)
			if s.write(text) != nil || !s.pause() {
				return
			}
			alive.Reset(aliveInterval)
		case <-alive.C:
			if s.write(": alive\n\n") != nil {
				return
			}
		case <-s.request.Context().Done():
			return
		case <-s.explorer.live.Done():
			return
		}
	}
}

// pause waits until there may be another event, and reports whether the stream goes on.
func (s *stream) pause() bool {
	timer := time.NewTimer(eventInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.request.Context().Done():
		return false
	case <-s.explorer.live.Done():
		return false
	}
}

func (s *stream) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // as with the one for reading
	if _, err := s.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// news returns the event after a number of moves, -1 for the first event, and the number
// of moves that are told then.
func (e *Explorer) news(told int) (text string, now int) {
	s := e.fleet.since(told)
	table := e.conductor.Table()
	tell := event{
		Series: table.Series().String(), Conductor: e.conductor.Name(), Nodes: s.nodes,
		Counts: make(map[string]int, len(s.counts)), Moves: []shownMove{}, Passed: []passed{},
	}
	for state, n := range s.counts {
		tell.Counts[state.String()] = n
	}
	for _, m := range s.moves[max(0, len(s.moves)-shownMoves):] {
		tell.Moves = append(tell.Moves, shownMove{m.uuid, m.name, m.from, m.to, m.at})
	}
	if told >= 0 {
		tell.Moved, tell.Passed = s.moved-told, transitionsOf(table, s.moves)
	}
	data, err := json.Marshal(tell)
	if err != nil {
		data = []byte("{}") // there is nothing in an event that cannot be JSON
	}
	return "data: " + string(data) + "\n\n", s.moved
}

// transitionsOf returns which transitions moves have most likely passed. A move that the
// table cannot explain, such as an operator's own, has passed none.
func transitionsOf(table *states.Table, moves []move) []passed {
	type hop struct{ from, to states.State }
	distinct := map[hop]int{}
	for _, m := range moves {
		distinct[hop{m.from, m.to}]++
	}
	nodes := map[hop]int{}
	for m, n := range distinct {
		gaps, err := plan.Explain(table, []states.State{m.from, m.to})
		if err != nil {
			continue
		}
		for _, row := range slices.Concat(gaps...) {
			nodes[hop{row.From, row.To}] += n
		}
	}
	list := make([]passed, 0, len(nodes))
	for h := range maps.Keys(nodes) {
		list = append(list, passed{h.from, h.to, nodes[h]})
	}
	slices.SortFunc(list, func(a, b passed) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return list
}
