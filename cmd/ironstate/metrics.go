// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strconv"

	"github.com/felixge/httpsnoop"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ironstate/ironstate/conductor"
)

// metrics are the program's Prometheus metrics.
type metrics struct {
	registry    *prometheus.Registry
	transitions *prometheus.CounterVec
	requests    *prometheus.HistogramVec
	store       storeMetrics
}

func newMetrics() *metrics {
	m := &metrics{
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

// observe counts a transition.
func (m *metrics) observe(t conductor.Transition) {
	m.transitions.WithLabelValues(t.From.String(), t.To.String()).Inc()
}

// around wraps the API: it measures the duration of requests, and serves /metrics.
func (m *metrics) around(next http.Handler, c *conductor.Conductor) http.Handler {
	m.registry.MustRegister(nodesCollector{c})
	exposed := promhttp.HandlerFor(prometheus.Gatherers{m.registry, prometheus.GathererFunc(gatherEtcd)}, promhttp.HandlerOpts{})
	next = m.measure(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			exposed.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// measure wraps a handler: it measures the duration of requests.
func (m *metrics) measure(next http.Handler) http.Handler {
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
