// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// server is the API of a running conductor with fake hardware.
type server struct {
	http.Handler
	t         testing.TB
	conductor *conductor.Conductor
	store     *conductor.Memory
	before    atomic.Pointer[before] // Before of the fake hardware
}

// before is called before each operation of the fake hardware.
type before = func(ctx context.Context, n *conductor.Node, operation string) error

func start(t testing.TB, series states.Series, config api.Config) *server {
	return startWith(t, series, config, nil)
}

// startWith is start with more hardware types, by name, and changes of the conductor's configuration.
func startWith(
	t testing.TB, series states.Series, config api.Config, more map[string]conductor.Hardware, changes ...func(*conductor.Config),
) *server {
	t.Helper()
	s := &server{t: t, store: &conductor.Memory{}}
	fake := &conductor.Fake{Series: series, Before: func(ctx context.Context, n *conductor.Node, operation string) error {
		if f := s.before.Load(); f != nil {
			return (*f)(ctx, n, operation)
		}
		return nil
	}}
	hardware := map[string]conductor.Hardware{"fake-hardware": fake, "ipmi": fake}
	maps.Copy(hardware, more)
	by := conductor.Config{
		Store: s.store, Name: "testhost", Table: series.Table(), LockedInterval: 10 * time.Millisecond,
		Hardware: hardware, RequireAgentTLS: new(bool),
	}
	for _, change := range changes {
		change(&by)
	}
	c, err := conductor.New(by)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	require.NoError(t, c.Ready(ctx))
	s.conductor, s.Handler = c, api.New(c, config)
	return s
}

// onOperation sets the function that is called before each operation of the fake hardware.
func (s *server) onOperation(f before) { s.before.Store(&f) }

// reply is a response of the server.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// do sends a request with a version such as "1.82", or "" for none.
func (s *server) do(method, path, version, body string) reply {
	s.t.Helper()
	return s.send(request(method, path, version, strings.NewReader(body)))
}

func request(method, path, version string, body io.Reader) *http.Request {
	r := httptest.NewRequest("GET", "http://HOST/", body)
	r.Method = method
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	if decoded, err := r.URL.Parse(path); err == nil {
		r.URL.Path, r.URL.RawPath = decoded.Path, decoded.RawPath
	}
	r.Header.Set("Content-Type", "application/json")
	if version != "" {
		r.Header.Set("X-OpenStack-Ironic-API-Version", version)
	}
	return r
}

func (s *server) send(r *http.Request) reply {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return reply{t: s.t, status: w.Code, header: w.Result().Header, body: w.Body.String()}
}

// json returns the body.
func (a reply) json() map[string]any {
	a.t.Helper()
	var v map[string]any
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &v), "body %q", a.body)
	return v
}

// fault returns the text of a fault in either envelope.
func (a reply) fault() string {
	a.t.Helper()
	text, ok := a.json()["error_message"].(string)
	require.True(a.t, ok, "no fault: %s", a.body)
	var fault map[string]any
	require.NoError(a.t, json.Unmarshal([]byte(text), &fault))
	if s, ok := fault["faultstring"].(string); ok {
		require.Contains(a.t, fault, "debuginfo")
		return s
	}
	require.EqualValues(a.t, a.status, fault["code"])
	require.Equal(a.t, http.StatusText(a.status), fault["title"])
	return fault["description"].(string)
}

// must asserts the status and returns the body.
func (a reply) must(status int) map[string]any {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "answer %s", a.body)
	if a.body == "" {
		return nil
	}
	return a.json()
}

// create creates a node at the highest version and returns its UUID.
func (s *server) create(body string) string {
	s.t.Helper()
	return s.do("POST", "/v1/nodes", "latest", body).must(http.StatusCreated)["uuid"].(string)
}

// until waits until has reports true for the node, or the node is deleted.
func (s *server) until(ident string, has func(*conductor.Node) bool) {
	s.t.Helper()
	ctx := context.Background()
	n, err := s.conductor.Node(ctx, ident)
	if err != nil {
		return
	}
	exists := false
	for change := range s.conductor.WatchNodes(ctx) {
		switch {
		case change.UUID == n.UUID && (change.Node == nil || has(change.Node)), change.UUID == "" && !exists:
			return
		case change.UUID == n.UUID:
			exists = true
		}
	}
}

// untilState waits until a node is in a provision state.
func (s *server) untilState(ident string, want states.State) {
	s.t.Helper()
	s.until(ident, func(n *conductor.Node) bool { return n.ProvisionState == want })
}

// wait waits until a node has no work and no power change in flight.
func (s *server) wait(ident string) {
	s.t.Helper()
	s.until(ident, func(n *conductor.Node) bool {
		stable := n.TargetProvisionState == states.NoState || s.conductor.Table().Failed().Has(n.ProvisionState)
		return n.Reservation == "" && n.TargetPower == states.NoPower && stable
	})
}

// waitAllocation waits until an allocation has a node, or an error.
func (s *server) waitAllocation(name string) {
	s.t.Helper()
	for s.do("GET", "/v1/allocations/"+name, "latest", "").must(http.StatusOK)["state"] == "allocating" {
		time.Sleep(time.Millisecond)
	}
}

// provision requests a provision state and waits for the end of the work.
func (s *server) provision(ident, target string) {
	s.t.Helper()
	s.do("PUT", "/v1/nodes/"+ident+"/states/provision", "latest", `{"target": "`+target+`"}`).must(http.StatusAccepted)
	s.wait(ident)
}
