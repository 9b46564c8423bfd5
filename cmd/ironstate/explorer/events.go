// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

const (
	// eventInterval is the minimum time between two events of a stream. An event contains all
	// changes since the event before.
	eventInterval = 250 * time.Millisecond
	// aliveInterval is the time without an event after which a stream sends a comment to
	// keep the connection alive.
	aliveInterval = 15 * time.Second
	// troubleInterval is the time between two questions whether changes are refused.
	troubleInterval = time.Second
	// writeTimeout bounds the write of an event to a client.
	writeTimeout = 10 * time.Second
	// shownMoves bounds the moves that are stored and that an event lists.
	shownMoves = 20
)

// event is one event of a stream: the current counts, and the moves since the event before.
type event struct {
	Title     string `json:"title"`
	Series    string `json:"series"`
	Conductor string `json:"conductor"`
	// Trouble is the reason why changes are refused, such as "no majority"; empty for none.
	Trouble string         `json:"trouble,omitempty"`
	Nodes   int            `json:"nodes"`
	Counts  map[string]int `json:"counts"` // by state, without zeros
	// Moved is the number of moves since the event before. It is 0 in a stream's first event,
	// whose Moves are the latest of all.
	Moved int `json:"moved"`
	// Moves are the latest moves, oldest first.
	Moves []shownMove `json:"moves"`
	// Transitions are the transitions of all moves since the event before.
	Transitions []counted `json:"transitions"`
	// Rates are the numbers of transitions in each of the last minutes, oldest first. The last
	// minute began Second seconds ago.
	Rates  []int `json:"rates"`
	Second int   `json:"second"`
}

// shownMove is a transition of a node.
type shownMove struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
	states.Transition
	At time.Time `json:"at"`
}

// counted is a transition with the number of nodes that have made it.
type counted struct {
	states.Transition
	Nodes int `json:"nodes"`
}

// events streams events until the client disconnects or is too slow, or Run ends.
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
	header.Set("X-Accel-Buffering", "no")      // nginx as a proxy would buffer the stream
	_ = s.control.SetReadDeadline(time.Time{}) // on failure the server's deadline ends the stream
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

// run sends events until the client or the explorer ends.
func (s *stream) run() {
	ctx, cancel := context.WithCancel(s.request.Context())
	defer cancel()
	defer context.AfterFunc(s.explorer.live, cancel)()
	news, end := s.explorer.fleet.listen()
	defer end()
	alive := time.NewTicker(aliveInterval)
	defer alive.Stop()
	look := time.NewTicker(troubleInterval)
	defer look.Stop()
	var before *snapshot
	shown := ""
	for {
		select {
		case <-news:
		case <-look.C:
			if before == nil || s.explorer.trouble() == shown {
				continue
			}
		case <-alive.C:
			if s.write(": alive\n\n") != nil {
				return
			}
			continue
		case <-ctx.Done():
			return
		}
		now := s.explorer.fleet.snapshot()
		shown = s.explorer.trouble()
		if s.write(s.explorer.eventText(before, now, shown)) != nil || !sleep.For(ctx, eventInterval) {
			return
		}
		before = &now
		alive.Reset(aliveInterval)
	}
}

// write sends a text to the client at once.
func (s *stream) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // on failure the server's deadline ends the stream
	if _, err := s.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// eventText returns the event for a client whose last event showed the snapshot before, which is nil for its first
// event.
func (e *Explorer) eventText(before *snapshot, now snapshot, trouble string) string {
	table := e.conductor.Table()
	next := event{
		Title: e.title, Series: table.Series().String(), Conductor: e.conductor.Name(), Trouble: trouble, Nodes: now.nodes,
		Counts: make(map[string]int, len(now.counts)), Moves: []shownMove{}, Transitions: []counted{},
		Rates: now.rates, Second: now.second,
	}
	for state, n := range now.counts {
		next.Counts[state.String()] = n
	}
	last := now.last
	if before != nil {
		next.Moved = now.moved - before.moved
		next.Transitions = transitionsOf(before.rows, now.rows)
		last = last[max(0, len(last)-next.Moved):]
	}
	for _, m := range last {
		next.Moves = append(next.Moves, shownMove{m.uuid, m.name, m.Transition, m.at})
	}
	data, err := json.Marshal(next)
	if err != nil {
		data = []byte("{}") // cannot happen: every field of an event has a JSON form
	}
	return "data: " + string(data) + "\n\n"
}

// transitionsOf returns the transitions that nodes have made since before.
func transitionsOf(before, now map[states.Transition]int) []counted {
	list := []counted{}
	for row, n := range now {
		if n -= before[row]; n > 0 {
			list = append(list, counted{row, n})
		}
	}
	slices.SortFunc(list, func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Event, b.Event))
	})
	return list
}
