// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"net/http"
	"strconv"

	"github.com/felixge/httpsnoop"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ironstate/ironstate/conductor"
)

// Metrics are the Prometheus metrics of a program with a conductor.
type Metrics struct {
	registry    *prometheus.Registry
	transitions *prometheus.CounterVec
	requests    *prometheus.HistogramVec
	store       storeMetrics
	others      []prometheus.Gatherer
}

// NewMetrics returns the metrics of requests, of transitions and of the process.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conductor_transitions_total", Help: "Transitions of nodes, by the states before and after.",
		}, []string{"from", "to"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "conductor_request_duration_seconds", Help: "Duration of API requests, by method and status.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}, []string{"method", "status"}),
		store: newStoreMetrics(),
	}
	m.registry.MustRegister(m.transitions, m.requests, m.store.requests, m.store.durations, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Observe counts a transition.
func (m *Metrics) Observe(t conductor.Transition) {
	m.transitions.WithLabelValues(t.From.String(), t.To.String()).Inc()
}

// Add adds the metrics of another registry. It must not be called after [Metrics.Around].
func (m *Metrics) Add(others prometheus.Gatherer) { m.others = append(m.others, others) }

// Around wraps the API of a conductor: it measures the duration of requests, and serves /metrics.
func (m *Metrics) Around(next http.Handler, c *conductor.Conductor) http.Handler {
	m.registry.MustRegister(nodesCollector{c})
	exposed := promhttp.HandlerFor(append(prometheus.Gatherers{m.registry}, m.others...), promhttp.HandlerOpts{})
	next = m.Measure(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			exposed.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Measure wraps a handler: it measures the duration of requests.
func (m *Metrics) Measure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := httpsnoop.CaptureMetrics(next, w, r)
		m.requests.WithLabelValues(method(r.Method), strconv.Itoa(seen.Code)).Observe(seen.Duration.Seconds())
	})
}

// method returns a request's method, or one fixed word for an unknown method: a client must not
// create label values.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return name
	default:
		return "other"
	}
}
