// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// front has the HTTP servers of the program. They listen from the start of the process, so that /healthz and /readyz
// are answered while the store is being opened, and pass other requests to the API once there is one.
type front struct {
	options     *options
	log         *slog.Logger
	limits      *limits  // of the connections of all listeners
	api, agents net.Addr // nil for agents if they share the listener of the API
	servers     []*http.Server
	serving     sync.WaitGroup
	failed      chan error // receives the error of a server that has failed
	started     atomic.Pointer[started]
}

// started has the handlers of a program that has started.
type started struct {
	api, agents http.Handler
	ready       func() readiness
}

// openFront begins to listen and to serve.
func openFront(o *options, log *slog.Logger) (f *front, err error) {
	if o.tlsCert != "" {
		if _, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey); err != nil { // before the store is opened
			return nil, fmt.Errorf("-tls-cert and -tls-key: %w", err)
		}
	}
	f = &front{options: o, log: log, limits: newLimits(maxConnections, maxAddressConnections), failed: make(chan error, 2)}
	if f.api, err = f.listen(o.listen, probes(f.ready, f.pass(func(s *started) http.Handler { return s.api }))); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if o.agents.listen == "" {
		return f, nil
	}
	if f.agents, err = f.listen(o.agents.listen, f.pass(func(s *started) http.Handler { return s.agents })); err != nil {
		f.close()
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	return f, nil
}

// listen serves a handler at an address.
func (f *front) listen(at string, handler http.Handler) (net.Addr, error) {
	socket, err := net.Listen("tcp", at)
	if err != nil {
		return nil, err
	}
	connections := f.limits.around(socket)
	server := newServer(handler, connections, f.log)
	f.servers = append(f.servers, server)
	f.serving.Go(func() {
		err := serveHTTP(server, connections, f.options.tlsCert, f.options.tlsKey, f.options.tlsLowest)
		if !errors.Is(err, http.ErrServerClosed) {
			f.failed <- fmt.Errorf("serve: %w", err)
		}
	})
	return socket.Addr(), nil
}

// pass returns a handler that passes requests to one of the handlers of the program once it has started.
func (f *front) pass(to func(*started) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s := f.started.Load(); s != nil {
			to(s).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		respond(w, http.StatusServiceUnavailable, "The service is starting, please try again later")
	})
}

// ready returns the readiness of the program.
func (f *front) ready() readiness {
	if s := f.started.Load(); s != nil {
		return s.ready()
	}
	return readinessOf(false, nil, false)
}

// close ends the servers, once the requests in flight have ended or shutdownTimeout is over. It may be called twice.
func (f *front) close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	for _, server := range f.servers {
		f.serving.Go(func() {
			if server.Shutdown(ctx) != nil {
				_ = server.Close()
			}
		})
	}
	f.serving.Wait()
}
