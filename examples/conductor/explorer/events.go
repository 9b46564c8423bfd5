package explorer

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	header.Set("X-Accel-Buffering", "no")      // for nginx in front, which would wait for the end
	_ = s.control.SetReadDeadline(time.Time{}) // where it cannot be set, the server's own ends the stream
	if r.Method != http.MethodHead && s.write("retry: 2000\n\n") == nil {
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
	var told *snapshot
	for {
		select {
		case <-news:
			now := s.explorer.fleet.now(shownMoves)
			if s.write(s.explorer.news(told, now)) != nil || !s.pause() {
				return
			}
			told = &now
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

// news returns the event that tells the fleet as it is now to a client that was told of
// it before, or of nothing.
func (e *Explorer) news(told *snapshot, now snapshot) string {
	table := e.conductor.Table()
	tell := event{
		Series: table.Series().String(), Conductor: e.conductor.Name(), Nodes: now.nodes,
		Counts: make(map[string]int, len(now.counts)), Moves: []shownMove{}, Passed: []passed{},
	}
	for state, n := range now.counts {
		tell.Counts[state.String()] = n
	}
	last := now.last
	if told != nil {
		tell.Moved = now.moved - told.moved
		tell.Passed = transitionsOf(table, told.hops, now.hops)
		last = last[max(0, len(last)-tell.Moved):]
	}
	for _, m := range last {
		tell.Moves = append(tell.Moves, shownMove{m.uuid, m.name, m.from, m.to, m.at})
	}
	data, err := json.Marshal(tell)
	if err != nil {
		data = []byte("{}") // there is nothing in an event that cannot be JSON
	}
	return "data: " + string(data) + "\n\n"
}

// transitionsOf returns which transitions nodes have most likely passed by the moves
// since before. A move that the table cannot explain, such as an operator's own, has
// passed none.
func transitionsOf(table *states.Table, before, now map[hop]int) []passed {
	nodes := map[hop]int{}
	for h, n := range now {
		if n -= before[h]; n == 0 {
			continue
		}
		gaps, err := plan.Explain(table, []states.State{h.from, h.to})
		if err != nil {
			continue
		}
		for _, row := range slices.Concat(gaps...) {
			nodes[hop{row.From, row.To}] += n
		}
	}
	list := make([]passed, 0, len(nodes))
	for h, n := range nodes {
		list = append(list, passed{h.from, h.to, n})
	}
	slices.SortFunc(list, func(a, b passed) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return list
}
