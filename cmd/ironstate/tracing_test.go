// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// spans is an OTLP collector that stores the received spans.
type spans struct {
	url string

	mu  sync.Mutex
	all []span
	raw []byte
}

type span struct {
	*otlp.Span
	conductor string
}

func collect(t *testing.T) *spans {
	s := &spans{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// ServeHTTP implements [http.Handler].
func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "want spans at /v1/traces", http.StatusBadRequest)
		return
	}
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = append(s.raw, body...)
	for _, resource := range request.ResourceSpans {
		conductor := ""
		for _, attribute := range resource.Resource.Attributes {
			if attribute.Key == "service.instance.id" {
				conductor = attribute.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, one := range scope.Spans {
				s.all = append(s.all, span{one, conductor})
			}
		}
	}
}

// named returns the spans with a name.
func (s *spans) named(name string) []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(one span) bool { return one.Name != name })
}

// below returns the span and its descendants, each as the path of span names.
func (s *spans) below(root span, path string) []string {
	paths := []string{path + root.Name}
	for _, one := range s.all {
		if bytes.Equal(one.ParentSpanId, root.SpanId) && bytes.Equal(one.TraceId, root.TraceId) {
			paths = append(paths, s.below(one, path+root.Name+" > ")...)
		}
	}
	return paths
}

const (
	provisionSpan = "PUT /v1/nodes/{}/states/provision"
	powerSpan     = "PUT /v1/nodes/{}/states/power"
)

// verified are the paths of the spans of a verification.
var verified = []string{provisionSpan, provisionSpan + " > verifying", provisionSpan + " > verifying > verify"}

func TestATraceLeadsFromTheRequestToTheBMC(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10") // milliseconds; the flush at the end of the program is bounded
	got := collect(t)
	s := serveHere(t, "-demo", "1", "-otlp", got.url)
	s.provision("demo-1", "manage")
	s.waitFor("demo-1", "manageable")
	status, _ := s.do(http.MethodPut, "/v1/nodes/demo-1/states/power", `{"target": "power on"}`)
	require.Equal(t, http.StatusAccepted, status)
	for s.waitFor("demo-1", "manageable")["power_state"] != "power on" {
		time.Sleep(5 * time.Millisecond)
	}
	s.metrics()
	for _, name := range []string{provisionSpan, "verifying", "verify", powerSpan, "power on", "set power on"} {
		for len(got.named(name)) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	s.stop()

	require.Len(t, got.named(provisionSpan), 1)
	require.Equal(t, verified, got.below(got.named(provisionSpan)[0], ""))
	require.Len(t, got.named(powerSpan), 1)
	require.Subset(t, got.below(got.named(powerSpan)[0], ""),
		[]string{powerSpan, powerSpan + " > power on", powerSpan + " > power on > set power on"})
	for _, one := range got.all {
		require.NotContains(t, one.Name, "metrics")
		require.NotContains(t, one.Name, "demo-1")
	}
	require.NotContains(t, string(got.raw), bmctest.DefaultPassword)
}

func TestATraceLeadsToTheConductorThatDoesTheWork(t *testing.T) {
	needs.Time(t)
	got, etcd := collect(t), startEtcd(t)
	start := func(name string) *server {
		return serveProcess(t, "-etcd", etcd, "-name", name, "-demo", "0", "-otlp", got.url)
	}
	alpha, beta := start("alpha"), start("beta")
	const nodes = 24 // enough for each conductor to own some
	for i := range nodes {
		status, answer := alpha.do(http.MethodPost, "/v1/nodes", fmt.Sprintf(`{"name": "node-%d", "driver": "fake-hardware"}`, i))
		require.Equal(t, http.StatusCreated, status, "%v", answer)
		alpha.provision(fmt.Sprintf("node-%d", i), "manage")
	}
	workers := map[any]bool{}
	for i := range nodes {
		workers[alpha.waitFor(fmt.Sprintf("node-%d", i), "manageable")["conductor"]] = true
	}
	require.Len(t, workers, 2)
	alpha.stop()
	beta.stop()

	require.Len(t, got.named(provisionSpan), nodes)
	for _, request := range got.named(provisionSpan) {
		require.Equal(t, "alpha", request.conductor)
		require.Equal(t, verified, got.below(request, ""))
	}
	workers = map[any]bool{}
	for _, work := range got.named("verifying") {
		workers[work.conductor] = true
	}
	require.Len(t, workers, 2)
}

func TestWrongURLsOfCollectorsAreRefused(t *testing.T) {
	for _, endpoint := range []string{"localhost:4318", "ftp://h", "http://", "http://user:secret@h:4318", "http://%"} {
		for _, args := range [][]string{nil, {"-data", "x", "-backup", "y"}} {
			_, err := parse(append(args, "-otlp", endpoint), io.Discard)
			require.ErrorIs(t, err, program.ErrUsage, "%s %v", endpoint, args)
			require.ErrorContains(t, err, "-otlp: want the URL of a collector")
			require.NotContains(t, err.Error(), "secret")
		}
	}
}
