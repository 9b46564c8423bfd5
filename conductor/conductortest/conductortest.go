// Package conductortest is an Ironic for the tests of its clients, as net/http/httptest
// is a server:
//
//	ironic := conductortest.New(t, conductortest.Config{Series: states.Antelope})
//	client := newClient(ironic.URL) // in any language, without authentication
//
// It is a real conductor with Ironic's API, on fake-hardware and in memory: what it
// answers is what an Ironic of that series answers. The test puts nodes into any state,
// and decides how the work on them goes, without a sleep:
//
//	node := ironic.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Available})
//	ironic.Next(node, "deploy.deploy", func(context.Context) error {
//		return errors.New("no such image") // or wait for the test, or return conductor.ErrWait
//	})
//
// It can also be as unfriendly as a busy Ironic, see [Server.Refuse] and [Server.Wrap].
package conductortest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// Config says which Ironic it is.
type Config struct {
	Series states.Series // whose rules and API versions hold; the zero value is the latest
	// SkipAutomatedClean lets nodes become available without cleaning.
	SkipAutomatedClean bool
}

// Server is an Ironic that ends with its test. It is safe for concurrent use.
type Server struct {
	URL string // of the API, without a slash at the end
	// Conductor is what answers, for what the methods below do not cover.
	Conductor *conductor.Conductor

	t testing.TB

	mu       sync.Mutex
	next     map[operation][]func(context.Context) error
	moved    chan struct{} // closed with each transition, and made anew
	refusals []int         // statuses of the next answers to requests that change something
	handler  http.Handler
}

// operation is something that is done to a node.
type operation struct{ nodeUUID, name string }

// New starts an Ironic. A request for a locked node is refused at once.
func New(t testing.TB, config Config) *Server {
	t.Helper()
	s := &Server{t: t, next: map[operation][]func(context.Context) error{}, moved: make(chan struct{})}
	if config.Series == states.NoSeries {
		config.Series = states.Latest()
	}
	c, err := conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Name: "conductortest", Table: config.Series.Table(),
		Hardware:           map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{Before: s.before}},
		SkipAutomatedClean: config.SkipAutomatedClean, SkipPowerSync: true,
		LockedRetries: -1, ShutdownTimeout: time.Nanosecond,
		OnTransition: func(conductor.Transition) { s.changed() },
	})
	if err != nil {
		t.Fatalf("conductortest: %v", err)
	}
	s.Conductor, s.handler = c, api.New(c, api.Config{})
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = server.URL
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = c.Run(ctx) }() // its error is the context's
	t.Cleanup(func() {
		server.Close()
		stop()
		<-stopped
	})
	if err := c.Ready(ctx); err != nil {
		t.Fatalf("conductortest: %v", err)
	}
	return s
}

// Add stores a node and returns it, with a UUID. Without a driver it has
// fake-hardware, without a provision state it is in enroll. In a state with work, such
// as deploying, the work begins at once.
func (s *Server) Add(n conductor.Node) *conductor.Node {
	s.t.Helper()
	if n.Driver == "" {
		n.Driver = "fake-hardware"
	}
	if n.ProvisionState == states.NoState {
		n.ProvisionState = states.Enroll
	}
	n.TargetProvisionState = s.Conductor.Table().Target(n.ProvisionState)
	added, err := s.Conductor.CreateNode(context.Background(), &n)
	if err != nil {
		s.t.Fatalf("conductortest: add a node: %v", err)
	}
	return added
}

// Node returns a node as it is now, by its UUID or its name.
func (s *Server) Node(ident string) *conductor.Node {
	s.t.Helper()
	n, err := s.Conductor.Node(context.Background(), ident)
	if err != nil {
		s.t.Fatalf("conductortest: %v", err)
	}
	return n
}

// Next says how the next operation of that name goes on a node, and may be called
// several times for those after it. Names of operations are "verify", a power state
// such as "power on", or a step such as "inspect.inspect_hardware", "deploy.deploy",
// "deploy.tear_down", "rescue.rescue", "rescue.unrescue", "deploy.take_over" and
// "raid.delete_configuration"; see [conductor.Fake].
//
// The operation takes as long as f, whose context ends with the test, and fails with
// its error. A step for which f returns [conductor.ErrWait] waits for a call-back:
// the node is then in a waiting state until its agent's heartbeat, or until
// s.Conductor.Resume.
func (s *Server) Next(n *conductor.Node, name string, f func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := operation{n.UUID, name}
	s.next[key] = append(s.next[key], f)
}

// before is called before each operation of fake-hardware.
func (s *Server) before(ctx context.Context, n *conductor.Node, name string) error {
	s.mu.Lock()
	key := operation{n.UUID, name}
	queue := s.next[key]
	if len(queue) == 0 {
		s.mu.Unlock()
		return nil
	}
	s.next[key] = queue[1:]
	s.mu.Unlock()
	return queue[0](ctx)
}

// WaitFor waits until a node rests in a state, or fails the test with the context's
// error, and returns the node.
func (s *Server) WaitFor(ctx context.Context, ident string, state states.State) *conductor.Node {
	s.t.Helper()
	for {
		s.mu.Lock()
		moved := s.moved
		s.mu.Unlock()
		n := s.Node(ident)
		if n.ProvisionState == state && n.Reservation == "" {
			return n
		}
		select {
		case <-moved:
		case <-ctx.Done():
			s.t.Fatalf("conductortest: node %s is in %q and not in %q (last error %q): %v", ident, n.ProvisionState, state, n.LastError, ctx.Err())
		}
	}
}

// changed wakes those who wait for a node to move.
func (s *Server) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moved)
	s.moved = make(chan struct{})
}

// Refuse answers the next requests that would change something with these statuses,
// one each, and does not carry them out: 409 as for a locked node, 503 as by a
// conductor without a free worker, or any other.
func (s *Server) Refuse(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, statuses...)
}

// Wrap puts a handler around the API, for answers that are slow, cut off or wrong.
func (s *Server) Wrap(around func(api http.Handler) http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = around(s.handler)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	handler, status := s.handler, 0
	if r.Method != http.MethodGet && r.Method != http.MethodHead && len(s.refusals) > 0 {
		status, s.refusals = s.refusals[0], s.refusals[1:]
	}
	s.mu.Unlock()
	if status == 0 {
		handler.ServeHTTP(w, r)
		return
	}
	refuse(w, status)
}

// refuse answers with a fault in Ironic's envelope: an object of JSON in a string.
func refuse(w http.ResponseWriter, status int) {
	text := fmt.Sprintf("the test refuses this request: %s", http.StatusText(status))
	switch status {
	case http.StatusConflict:
		text = "Node is locked by host conductortest, please retry after the current operation is completed."
	case http.StatusServiceUnavailable:
		text = "Requested action cannot be performed due to lack of free conductor workers."
	}
	fault, _ := json.Marshal(map[string]any{"faultcode": "Server", "faultstring": text, "debuginfo": nil})
	body, _ := json.Marshal(map[string]string{"error_message": string(fault)})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
