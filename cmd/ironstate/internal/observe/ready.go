// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// Readiness tells whether the program accepts writes, in a word for everyone: it names no server, folder or node.
type Readiness string

// The states of a program, of which a store has [Ready], [NoMajority], [DiskFull] and [Stopping].
const (
	Ready      Readiness = "ready"
	Starting   Readiness = "starting"     // the store is not open yet, or the conductor has not joined or not read the nodes
	NoMajority Readiness = "no majority"  // of the store's servers
	DiskFull   Readiness = "disk full"    // of this server, of another one of the cluster, or the store's database
	NoMember   Readiness = "not a member" // the conductor has lost its membership, and joins again
	Stopping   Readiness = "stopping"
)

// ReadinessOf returns the readiness of a program that has started, by the readiness of its store and whether the
// conductor is a member.
func ReadinessOf(store Readiness, member bool) Readiness {
	if store == Ready && !member {
		return NoMember
	}
	return store
}

// Trouble returns the reason why changes are refused, empty if they are accepted.
func (r Readiness) Trouble() string {
	if r == Ready {
		return ""
	}
	return string(r)
}

// Probes answers /healthz, whose answer means that the process lives, and /readyz, and passes other requests on. The
// two need no password: load balancers and supervisors have none.
func Probes(now func() Readiness, next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerProbe(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		status, word := http.StatusOK, now()
		if word != Ready {
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

// Warned adds the header Warning to the answers of reads while the store, of the kind that the header names, has no
// majority: this process answers from its own copy of the records, and another process may have changed them since.
// RFC 9111 has made the header obsolete for caches; its code 110, "Response is Stale", still describes the answer.
func Warned(now func() Readiness, kind string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && now() == NoMajority {
			w.Header().Set("Warning", `110 ironstate "`+kind+` has no majority: this answer may be out of date"`)
		}
		next.ServeHTTP(w, r)
	})
}

// AddReadiness adds the metric of the readiness.
func (m *Metrics) AddReadiness(now func() Readiness) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "conductor_ready", Help: "1 if this process accepts writes, as /readyz says; 0 otherwise.",
	}, func() float64 {
		if now() == Ready {
			return 1
		}
		return 0
	}))
}
