package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// fixture is an Ironic with a node. It records the requests.
type fixture struct {
	*conductortest.Server
	node *conductor.Node

	mu       sync.Mutex
	refusals map[string][]answer // by method, or by the verb of a request
	asked    map[string]int      // number of requests, with the keys of refusals
	accepted []string            // the bodies of the requests for a state
}

// answer is a refusal.
type answer struct {
	status            int
	fault, retryAfter string
}

// start starts an Ironic of the latest series.
func start(t *testing.T, node conductor.Node) *fixture {
	t.Helper()
	return startSeries(t, states.Latest(), node)
}

func startSeries(t *testing.T, series states.Series, node conductor.Node) *fixture {
	t.Helper()
	f := &fixture{
		Server:   conductortest.New(t, conductortest.Config{Series: series}),
		refusals: map[string][]answer{}, asked: map[string]int{},
	}
	node.Name = "node-1"
	f.node = f.Add(node)
	f.Wrap(f.note)
	return f
}

// refuse orders the next answers to a verb, or to a method.
func (f *fixture) refuse(what string, answers ...answer) {
	f.refusals[what] = append(f.refusals[what], answers...)
}

// note records the requests for nodes, and refuses those for which refuse has ordered an
// answer.
func (f *fixture) note(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/nodes/") {
			api.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if refusal, ok := f.refusal(cmp.Or(verbOf(body), r.Method)); ok {
			w.Header().Set("Retry-After", refusal.retryAfter)
			conductortest.Fault(w, refusal.status, refusal.fault)
			return
		}
		recorder := &statusRecorder{ResponseWriter: w}
		api.ServeHTTP(recorder, r)
		if recorder.status == http.StatusAccepted {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.accepted = append(f.accepted, string(body))
		}
	})
}

// refusal returns the next answer that was ordered, if there is one.
func (f *fixture) refusal(what string) (answer, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[what]++
	ordered := f.refusals[what]
	if len(ordered) == 0 {
		return answer{}, false
	}
	f.refusals[what] = ordered[1:]
	return ordered[0], true
}

func verbOf(body []byte) string {
	var request struct{ Target string }
	_ = json.Unmarshal(body, &request)
	return request.Target
}

// statusRecorder keeps the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// verbs returns the words of the requests that were accepted.
func (f *fixture) verbs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var verbs []string
	for _, body := range f.accepted {
		verbs = append(verbs, verbOf([]byte(body)))
	}
	return verbs
}

// state returns the state of the node.
func (f *fixture) state() states.State { return f.Node("node-1").ProvisionState }

// rewrite changes the API's answers, to simulate a newer Ironic.
func (f *fixture) rewrite(oldnew ...string) {
	f.Wrap(func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			recorder := httptest.NewRecorder()
			api.ServeHTTP(recorder, r)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(recorder.Code)
			_, _ = strings.NewReplacer(oldnew...).WriteString(w, recorder.Body.String())
		})
	})
}

// forever is work that never ends.
func forever(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// bring brings the node to a goal, with short timeouts.
func bring(t *testing.T, f *fixture, goal plan.Goal, change ...func(*options)) (out string, err error) {
	t.Helper()
	opts := options{
		endpoint: f.URL,
		node:     "node-1",
		goal:     goal,
		poll:     time.Millisecond,
		timeout:  time.Minute,
		backoff:  backoff{times: 3, first: time.Millisecond, most: 2 * time.Millisecond, longest: time.Second},
	}
	for _, c := range change {
		c(&opts)
	}
	var o bytes.Buffer
	err = reconcile(t.Context(), opts, &o)
	return o.String(), err
}

// file writes a file and returns its name.
func file(t *testing.T, text string) string {
	t.Helper()
	name := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}
