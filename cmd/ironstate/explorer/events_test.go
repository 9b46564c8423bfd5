// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// event is the form of an event that the page reads.
type event struct {
	Title, Series, Conductor string
	Trouble                  string
	Nodes, Moved             int
	Counts                   map[string]int
	Moves                    []struct{ UUID, Name, From, Event, To string }
	Transitions              []struct {
		From, Event, To string
		Nodes           int
	}
	Rates  []int
	Second int
}

// stream reads a stream of events.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
}

func (s *service) stream() *stream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/explorer/events", nil)
	require.NoError(s.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	require.Equal(s.t, "text/event-stream", response.Header.Get("Content-Type"))
	closed := func() { cancel(); response.Body.Close() }
	s.t.Cleanup(closed)
	return &stream{s.t, bufio.NewScanner(response.Body), closed}
}

// next returns the next event.
func (s *stream) next() (e event) {
	s.t.Helper()
	for s.lines.Scan() {
		if data, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok {
			require.NoError(s.t, json.Unmarshal([]byte(data), &e))
			return e
		}
	}
	require.Fail(s.t, "the stream has ended", "%v", s.lines.Err())
	return e
}

func TestEventsHaveTheCountsAndMoves(t *testing.T) {
	s := start(t, conductortest.Config{Series: states.Zed})
	s.Add(conductor.Node{ProvisionState: states.Manageable})
	s.Add(conductor.Node{ProvisionState: states.Available})
	node := s.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Available})
	events := s.stream()
	first := events.next()
	require.Equal(t, "zed", first.Series)
	require.Equal(t, "conductortest", first.Conductor)
	require.Equal(t, 3, first.Nodes)
	require.Equal(t, map[string]int{"manageable": 1, "available": 2}, first.Counts)
	require.Empty(t, first.Moves)

	release := make(chan struct{})
	s.Next(node, "deploy.deploy", func(context.Context) error { <-release; return nil })
	s.provision("rack1-7", "active")
	second := events.next()
	require.Equal(t, map[string]int{"manageable": 1, "available": 1, "deploying": 1}, second.Counts)
	require.Equal(t, 1, second.Moved)
	require.Len(t, second.Moves, 1)
	require.Equal(t, []string{node.UUID, "rack1-7", "available", "deploy", "deploying"},
		[]string{second.Moves[0].UUID, second.Moves[0].Name, second.Moves[0].From, second.Moves[0].Event, second.Moves[0].To})
	require.Equal(t, "available", second.Transitions[0].From)
	require.Equal(t, "deploying", second.Transitions[0].To)
	require.Equal(t, 1, second.Transitions[0].Nodes)

	close(release)
	third := events.next()
	require.Equal(t, map[string]int{"manageable": 1, "available": 1, "active": 1}, third.Counts)
	require.Len(t, third.Moves, 1, "each move is told once")

	late := s.stream().next()
	require.Len(t, late.Moves, 2, "a new stream begins with the last moves")
	require.Zero(t, late.Moved)
	require.Len(t, late.Rates, 30)
	require.Equal(t, 2, sum(late.Rates))
	require.Less(t, late.Second, 60)
	require.Empty(t, late.Transitions)

	added := s.Add(conductor.Node{})
	require.Equal(t, 4, events.next().Nodes)
	require.NoError(t, s.Conductor.DeleteNode(t.Context(), added.UUID))
	require.Equal(t, 3, events.next().Nodes)
}

func sum(counts []int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

func TestEventsEndWithTheExplorer(t *testing.T) {
	s := start(t, conductortest.Config{})
	events := s.stream()
	events.next()
	s.stop()
	for events.lines.Scan() {
		require.NotContains(t, events.lines.Text(), "data")
	}
	require.NoError(t, events.lines.Err())
}

// explored is an explorer of a conductor on virtual time.
type explored struct {
	t *testing.T
	*conductor.Conductor
	http.Handler
	ctx context.Context
}

// newExplored runs a conductor and its explorer until the returned function is called.
func newExplored(t *testing.T) (*explored, func()) {
	c, err := conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Name: "alpha", SkipPowerSync: true,
		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	e := explorer.New(c, "", noTrouble)
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	running.Go(func() { _ = e.Run(ctx) })
	require.NoError(t, c.Ready(ctx))
	return &explored{t, c, e.Around(http.NotFoundHandler()), ctx}, func() { cancel(); running.Wait() }
}

func (b *explored) node() *conductor.Node {
	n, err := b.CreateNode(b.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll})
	require.NoError(b.t, err)
	return n
}

// listener is an in-process client. Its Write fails once gone is set.
type listener struct {
	header http.Header
	status int
	told   func() // if not nil, called after each event

	mu     sync.Mutex
	gone   bool
	events []event
}

func (l *listener) Header() http.Header    { return l.header }
func (l *listener) WriteHeader(status int) { l.status = status }
func (l *listener) Flush()                 {}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return 0, errors.New("gone")
	}
	if data, ok := strings.CutPrefix(string(p), "data: "); ok {
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return 0, err
		}
		l.events = append(l.events, e)
		if l.told != nil {
			l.told()
		}
	}
	return len(p), nil
}

// listen serves a new listener until ctx ends. The channel is closed when the handler has returned.
func (b *explored) listen(ctx context.Context) (*listener, <-chan struct{}) {
	l := &listener{header: http.Header{}, status: http.StatusOK}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.ServeHTTP(l, httptest.NewRequestWithContext(ctx, http.MethodGet, "/explorer/events", nil))
	}()
	synctest.Wait()
	return l, done
}

func TestABurstIsAFewEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, end := newExplored(t)
		defer end()
		var nodes []*conductor.Node
		for range 200 {
			nodes = append(nodes, b.node())
		}
		l, _ := b.listen(b.ctx)
		require.Len(t, l.events, 1)
		for _, n := range nodes { // all of them in a second
			require.NoError(t, b.Provision(b.ctx, n.UUID, conductor.ProvisionRequest{Target: "manage", Version: 80}))
			bubble.Sleep(5 * time.Millisecond)
		}
		bubble.Sleep(time.Second)
		require.LessOrEqual(t, len(l.events), 6, "four a second")
		moved, transitions := 0, map[string]int{}
		for _, e := range l.events {
			moved += e.Moved
			require.LessOrEqual(t, len(e.Moves), 20)
			for _, p := range e.Transitions {
				transitions[p.From+" "+p.To] += p.Nodes
			}
		}
		require.Equal(t, map[string]int{"enroll verifying": 200, "verifying manageable": 200}, transitions, "none is lost")
		require.Equal(t, 400, moved)
		require.Equal(t, map[string]int{"manageable": 200}, l.events[len(l.events)-1].Counts)
	})
}

// goroutines returns the number of goroutines in functions of package explorer.
func goroutines(t *testing.T) (n int) {
	t.Helper()
	var all bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 2))
	for each := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(each, "/explorer.") {
			n++
		}
	}
	return n
}

// A listener that does not read holds one event. It delays nobody, and its next event has all that it has missed.
//
// SECURITY.md: A client that does not read its stream of events holds one event, and there are at most 100 streams.
func TestSlowListenersHoldOneEventEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, end := newExplored(t)
		defer end()
		const nodes = 50
		var all []*conductor.Node
		for range nodes {
			all = append(all, b.node())
		}
		fast, _ := b.listen(b.ctx)
		release := make(chan struct{})
		read := sync.OnceFunc(func() { close(release) })
		defer read()
		var slow []*listener
		for range 99 {
			l, _ := b.listen(b.ctx)
			l.mu.Lock()
			l.told = func() { <-release }
			l.mu.Unlock()
			slow = append(slow, l)
		}
		before := goroutines(t)
		for _, n := range all {
			require.NoError(t, b.Provision(b.ctx, n.UUID, conductor.ProvisionRequest{Target: "manage", Version: 80}))
			bubble.Sleep(100 * time.Millisecond)
		}
		bubble.Sleep(time.Second)
		moved := func(l *listener) (moved int) {
			for _, e := range l.events {
				moved += e.Moved
			}
			return moved
		}
		require.Equal(t, 2*nodes, moved(fast))
		require.LessOrEqual(t, goroutines(t), before, "no goroutine for an event")
		for _, l := range slow {
			require.Len(t, l.events, 2, "the first, and one that is not read")
			require.Less(t, moved(l), nodes)
		}
		read()
		bubble.Sleep(time.Second)
		for _, l := range slow {
			require.Len(t, l.events, 3)
			require.Equal(t, 2*nodes, moved(l))
			require.LessOrEqual(t, len(l.events[2].Moves), 20)
		}
	})
}

// SECURITY.md: A client that does not read its stream of events holds one event, and there are at most 100 streams.
func TestListenersAreBoundedAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, end := newExplored(t)
		defer end()
		var ends []context.CancelFunc
		var all []<-chan struct{}
		var last *listener
		for range 100 {
			ctx, cancel := context.WithCancel(b.ctx)
			l, done := b.listen(ctx)
			ends, all, last = append(ends, cancel), append(all, done), l
		}
		refused, done := b.listen(b.ctx)
		<-done
		require.Equal(t, http.StatusServiceUnavailable, refused.status)
		require.Equal(t, "10", refused.header.Get("Retry-After"))

		ends[0]() // the client disconnects
		<-all[0]
		last.mu.Lock()
		last.gone = true // the network fails
		last.mu.Unlock()
		<-all[99] // at the latest when the stream sends its keep-alive comment
		again, done := b.listen(b.ctx)
		require.Equal(t, http.StatusOK, again.status)
		require.Len(t, again.events, 1)
		end() // the service ends
		<-done
		for _, each := range all {
			<-each
		}
		for _, cancel := range ends {
			cancel()
		}
	})
}

// Run starts no watch before the first request.
func TestNothingIsWatchedBeforeTheFirstRequest(t *testing.T) {
	c, err := conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, explorer.New(c, "", noTrouble).Run(ctx), context.Canceled)
}

func TestAnEventIsSmallForAnyFleet(t *testing.T) {
	s := start(t, conductortest.Config{})
	for n := range 5000 {
		s.Add(conductor.Node{Name: fmt.Sprintf("node-%d", n), ProvisionState: states.Available})
	}
	response, err := http.Get(s.URL + "/explorer/events")
	require.NoError(t, err)
	defer response.Body.Close()
	line := ""
	for r := bufio.NewReader(response.Body); !strings.HasPrefix(line, "data: "); {
		line, err = r.ReadString('\n')
		require.NoError(t, err)
	}
	require.Less(t, len(line), 300)
	s.stop()
	_, _ = io.Copy(io.Discard, response.Body)
}
