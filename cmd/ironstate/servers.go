// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/front"
	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
)

// servers are the HTTP servers of the program. They listen from the start of the process, so that /healthz and /readyz
// are answered while the store is being opened, and pass other requests to the API once there is one.
type servers struct {
	limits      *front.Limits // of the connections of all servers, also the one for images
	api, agents *front.Server // nil for agents if they share the server of the API
	failed      chan error    // receives the error of a server that has failed
	started     atomic.Pointer[started]
}

// started has the handlers of a program that has started.
type started struct {
	api, agents http.Handler
	ready       func() observe.Readiness
}

// openServers begins to listen and to serve.
func openServers(o *options, log *slog.Logger) (s *servers, err error) {
	limits, failed := front.NewLimits(), make(chan error, 2)
	s = &servers{limits: limits, failed: failed}
	config := front.Config{Limits: limits, Log: log, Failed: func(err error) { failed <- fmt.Errorf("serve: %w", err) }}
	if config.TLS, err = o.tlsConfig(log); err != nil {
		return nil, err
	}
	api := observe.Probes(s.ready, s.pass(func(open *started) http.Handler { return open.api }))
	if s.api, err = front.Listen(o.listen, api, config); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if o.agents.listen == "" {
		return s, nil
	}
	agents := s.pass(func(open *started) http.Handler { return open.agents })
	if s.agents, err = front.Listen(o.agents.listen, agents, config); err != nil {
		s.close()
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	return s, nil
}

// pass returns a handler that passes requests to one of the handlers of the program once it has started.
func (s *servers) pass(to func(*started) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open := s.started.Load(); open != nil {
			to(open).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		front.Respond(w, http.StatusServiceUnavailable, "The service is starting, please try again later")
	})
}

// ready returns the readiness of the program.
func (s *servers) ready() observe.Readiness {
	if open := s.started.Load(); open != nil {
		return open.ready()
	}
	return observe.Starting
}

// close ends the servers, once the requests in flight have ended or shutdownTimeout is over. It may be called twice.
func (s *servers) close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var closing sync.WaitGroup
	for _, server := range []*front.Server{s.api, s.agents} {
		if server != nil {
			closing.Go(func() { server.Shutdown(ctx) })
		}
	}
	closing.Wait()
}
