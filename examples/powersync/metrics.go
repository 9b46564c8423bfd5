package main

import (
	"bufio"
	"context"
	"expvar"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/ironstate/ironstate/powersync"
)

// serveMetrics serves a syncer's counters: in Prometheus' text format at
// /metrics, by expvar at /debug/vars. It returns the function that ends it.
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
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/vars", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, vars)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		writePrometheus(w, syncer.Stats())
	})
	return mux
}

// writePrometheus writes counters in Prometheus' text exposition format.
func writePrometheus(w http.ResponseWriter, stats powersync.Stats) {
	text := bufio.NewWriter(w)
	defer text.Flush()
	last := ""
	for m := range stats.Metrics() {
		if m.Name != last {
			kind := "gauge"
			if m.Counter {
				kind = "counter"
			}
			fmt.Fprintf(text, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, kind)
			last = m.Name
		}
		label := ""
		if m.Outcome != "" {
			label = fmt.Sprintf("{outcome=%q}", m.Outcome)
		}
		fmt.Fprintf(text, "%s%s %g\n", m.Name, label, m.Value)
	}
}
