// SPDX-License-Identifier: Apache-2.0

package conductortest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// Config configures a [Server].
type Config struct {
	Series states.Series // the OpenStack series to behave as; the zero value is the latest
	// SkipAutomatedClean makes nodes available without automated cleaning.
	SkipAutomatedClean bool
	// RequireAgentTLS refuses the heartbeats of agents that serve their API without TLS, or permits them; nil stands for
	// Ironic's default, which refuses them since 2024.2.
	RequireAgentTLS *bool
	// Hardware has the hardware types beside fake-hardware by the names of their drivers, such as redfish of package
	// hardware. The caller closes them after the Server.
	Hardware map[string]conductor.Hardware
}

// Server is an Ironic. It is safe for concurrent use. Make it with [New] or [Start]; the
// methods of a nil or zero Server panic, as httptest's do.
//
// A mistake in a test, such as a node in a state that the series does not have, fails the test
// with Fatalf. Add, Node, Next and WaitFor must therefore be called by the test's goroutine. A
// Server that Start returned panics instead.
type Server struct {
	URL string // the URL of the API, without a trailing slash
	// Conductor is the conductor behind the API. Tests use it for everything that the methods
	// of Server do not cover.
	Conductor *conductor.Conductor

	t       failer
	waits   time.Duration // the timeout of WaitFor
	store   conductor.Memory
	fake    conductor.Fake
	server  *httptest.Server
	stop    context.CancelFunc
	stopped chan struct{} // closed when the conductor has ended

	mu       sync.Mutex
	next     map[operation][]func(context.Context) error
	reads    map[*read]bool
	refusals []int // the statuses for the next requests other than GET
	handler  http.Handler
}

// failer is the part of [testing.TB] that a Server needs.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// panics is the failer of a Server that Start returned.
type panics struct{}

func (panics) Helper() {}

func (panics) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// New starts an Ironic and closes it at the end of the test.
func New(t testing.TB, config Config) *Server {
	t.Helper()
	s, err := Start(config)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(s.Close)
	return s
}

// Start starts an Ironic outside a test, for example in a demonstration. The caller must close
// it. An unknown series is an error.
func Start(config Config) (*Server, error) {
	config.Series = cmp.Or(config.Series, states.Latest())
	table := config.Series.Table()
	if table == nil {
		return nil, fmt.Errorf("conductortest: there is no series %v, want one of states.AllSeries", config.Series)
	}
	s := &Server{
		t: panics{}, waits: maxWait, stopped: make(chan struct{}),
		next: map[operation][]func(context.Context) error{}, reads: map[*read]bool{},
	}
	s.fake.Before, s.fake.Series = s.before, config.Series
	types := map[string]conductor.Hardware{"fake-hardware": hardware{&s.fake, s}}
	maps.Copy(types, config.Hardware)
	local := conductor.AgentNetworks{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	c, err := conductor.New(conductor.Config{
		Store: &s.store, Name: "conductortest", Table: table,
		Hardware:           types,
		Agent:              agent.Config{PollInterval: 10 * time.Millisecond},
		SkipAutomatedClean: config.SkipAutomatedClean, SkipPowerSync: true,
		LockedRetries: -1, ShutdownTimeout: time.Nanosecond,
		AgentAddress:    local.Check, // agents of this host
		RequireAgentTLS: config.RequireAgentTLS,
	})
	if err != nil {
		return nil, fmt.Errorf("conductortest: %w", err)
	}
	s.Conductor, s.handler = c, s.serve(api.New(c, api.Config{}))
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		handler := s.handler // the API and the handlers of Wrap
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	s.URL = s.server.URL
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { defer close(s.stopped); _ = c.Run(ctx) }() // its error is the context's
	if err := c.Ready(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("conductortest: %w", err)
	}
	return s, nil
}

// Close stops the Ironic after it has responded to its requests in flight. It cancels the
// contexts of work in flight, and abandons work that does not end within two seconds.
func (s *Server) Close() {
	s.server.Close()
	s.stop()
	<-s.stopped
}

// Add stores a node and returns it with a UUID. The defaults are the driver fake-hardware, the
// provision state enroll (available in Kilo, which has no enroll), and the state's default target.
// If the state has work, as deploying has, the work starts at once.
func (s *Server) Add(n conductor.Node) *conductor.Node {
	s.t.Helper()
	table := s.Conductor.Table()
	n.Driver = cmp.Or(n.Driver, "fake-hardware")
	n.ProvisionState = cmp.Or(n.ProvisionState, table.Series().MaxAPIVersion().InitialState())
	n.TargetProvisionState = cmp.Or(n.TargetProvisionState, table.Target(n.ProvisionState))
	added, err := s.Conductor.CreateNode(context.Background(), &n)
	if err != nil {
		s.t.Fatalf("conductortest: add a node: %v", err)
	}
	return added
}

// Node returns the current record of a node by its UUID or its name.
func (s *Server) Node(ident string) *conductor.Node {
	s.t.Helper()
	n, err := s.Conductor.Node(context.Background(), ident)
	if err != nil {
		s.t.Fatalf("conductortest: %v", err)
	}
	return n
}

// maxWait bounds a call of WaitFor.
const maxWait = time.Minute

// WaitFor waits until a node is in a state and not reserved, and returns the node. It fails the
// test if the context ends first, or after a minute.
func (s *Server) WaitFor(ctx context.Context, ident string, state states.State) *conductor.Node {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, s.waits)
	defer cancel()
	id := s.Node(ident).UUID
	for change := range s.Conductor.WatchNodes(ctx) {
		if n := change.Node; change.UUID == id && n != nil && n.ProvisionState == state && n.Reservation == "" {
			return n
		}
	}
	n := s.Node(ident)
	s.t.Fatalf("conductortest: node %s is in %q and not in %q (last error %q): %v", ident, n.ProvisionState, state, n.LastError, ctx.Err())
	return nil
}
