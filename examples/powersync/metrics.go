package main

import (
	"context"
	"expvar"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ironstate/ironstate/powersync"
)

// serveMetrics serves a syncer's counters: in Prometheus' text format at
// /metrics, by expvar at /debug/vars. The returned function stops the server.
func serveMetrics(address string, syncer *powersync.Syncer) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: metricsHandler(syncer), ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until it is shut down
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
		<-done
	}, nil
}

func metricsHandler(syncer *powersync.Syncer) http.Handler {
	vars := new(expvar.Map)
	vars.Set("powersync", expvar.Func(func() any { return syncer.Stats() }))
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collector{syncer})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/vars", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, vars)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return mux
}

// A collector exports a syncer's counters to Prometheus.
type collector struct{ syncer *powersync.Syncer }

// Describe implements [prometheus.Collector].
func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements [prometheus.Collector]. Outcomes that no node has had are 0 and not
// absent.
func (c collector) Collect(to chan<- prometheus.Metric) {
	stats := c.syncer.Stats()
	nodes := prometheus.NewDesc("powersync_nodes_total", "Nodes by outcome of a round.", []string{"outcome"}, nil)
	for o, n := range stats.Nodes {
		to <- prometheus.MustNewConstMetric(nodes, prometheus.CounterValue, float64(n), string(o))
	}
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      float64
	}{
		{"rounds_total", "Sync rounds.", prometheus.CounterValue, float64(stats.Rounds)},
		{"recovery_rounds_total", "Recovery rounds.", prometheus.CounterValue, float64(stats.Recoveries)},
		{"overruns_total", "Rounds that took longer than their interval.", prometheus.CounterValue, float64(stats.Overruns)},
		{"reads_total", "Power states read.", prometheus.CounterValue, float64(stats.Reads)},
		{"sets_total", "Power states set.", prometheus.CounterValue, float64(stats.Sets)},
		{"abandoned_total", "Calls from which the driver did not return in time.", prometheus.CounterValue, float64(stats.Abandoned)},
		{"dropped_total", "Callbacks that failed or were not called.", prometheus.CounterValue, float64(stats.Dropped)},
		{"failing_nodes", "Nodes whose last attempt failed.", prometheus.GaugeValue, float64(stats.Failing)},
		{"held_nodes", "Nodes held for a change of power.", prometheus.GaugeValue, float64(stats.Held)},
		{"last_round_seconds", "Duration of the last sync round.", prometheus.GaugeValue, stats.LastRound.Seconds()},
	} {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("powersync_"+m.name, m.help, nil, nil), m.kind, m.value)
	}
}
