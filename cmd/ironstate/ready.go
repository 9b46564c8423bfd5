// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// readiness tells whether the program accepts writes, in a word for everyone: it names no server, folder or node.
type readiness string

const (
	ready      readiness = "ready"
	starting   readiness = "starting"     // the store is not open yet, or the conductor has not joined or not read the nodes
	noMajority readiness = "no majority"  // of etcd's servers
	diskFull   readiness = "disk full"    // of this server, of another one of the cluster, or etcd's database
	noMember   readiness = "not a member" // the conductor has lost its membership, and joins again
	stopping   readiness = "stopping"
)

// readinessOf decides by whether the program has started, the health of its store (nil if it accepts writes) and
// whether the conductor is a member.
func readinessOf(started bool, store error, member bool) readiness {
	switch {
	case !started:
		return starting
	case errors.Is(store, errNoMajority):
		return noMajority
	case errors.Is(store, errNoSpace):
		return diskFull
	case store != nil:
		return stopping
	case !member:
		return noMember
	default:
		return ready
	}
}

// trouble returns the reason why changes are refused, empty if they are accepted.
func (r readiness) trouble() string {
	if r == ready {
		return ""
	}
	return string(r)
}

// probes answers /healthz, whose answer means that the process lives, and /readyz, and passes other requests on. The
// two need no password: load balancers and supervisors have none.
func probes(now func() readiness, next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerProbe(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		status, word := http.StatusOK, now()
		if word != ready {
			status = http.StatusServiceUnavailable
		}
		answerProbe(w, status, string(word))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			mux.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func answerProbe(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, word)
}

// warned adds the header Warning to the answers of reads while etcd has no majority: this process answers from its own
// copy of the records, and another process may have changed them since. RFC 9111 has made the header obsolete for
// caches; its code 110, "Response is Stale", still describes the answer.
func warned(now func() readiness, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && now() == noMajority {
			w.Header().Set("Warning", `110 ironstate "etcd has no majority: this answer may be out of date"`)
		}
		next.ServeHTTP(w, r)
	})
}

// readyGauge is the metric of a readiness.
func readyGauge(now func() readiness) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "conductor_ready", Help: "1 if this process accepts writes, as /readyz says; 0 otherwise.",
	}, func() float64 {
		if now() == ready {
			return 1
		}
		return 0
	})
}
