// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/conductor"
)

// service is a running service.
type service struct {
	options   *options
	conductor *conductor.Conductor
	explorer  *explorer.Explorer
	handler   http.Handler
	out       io.Writer
	log       *slog.Logger
}

// The server's limits for slow clients and large headers.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = time.Minute
	writeTimeout      = 2 * time.Minute
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	maxStreams        = 32              // requests at a time on one HTTP/2 connection
	shutdownTimeout   = 5 * time.Second // the time that requests in flight may take
)

// run serves until the context ends, which is no error, or until something fails.
func (s *service) run(ctx context.Context, listener net.Listener) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{s.conductor.Run, s.explorer.Run} {
		running.Go(func() { _ = run(ctx) }) // its error is the context's
	}
	defer running.Wait()
	defer cancel()
	if err := s.conductor.Ready(ctx); err != nil {
		return ended(ctx, err)
	}
	stopDemo, err := s.startDemo(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer stopDemo()

	connections := limitListener(listener, maxConnections, maxAddressConnections)
	server := newServer(s.handler, connections, s.log)
	served := make(chan error, 1)
	go func() {
		if s.options.tlsCert != "" {
			served <- server.ServeTLS(connections, s.options.tlsCert, s.options.tlsKey)
		} else {
			served <- server.Serve(connections)
		}
	}()
	s.greet(listener.Addr())
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stop, cancelStop := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancelStop()
	if server.Shutdown(stop) != nil {
		_ = server.Close()
	}
	<-served
	return nil
}

// newServer returns a server with the limits of the program.
func newServer(handler http.Handler, l *listener, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: closeAfterChunks(handler), ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ConnState: l.observe, ConnContext: withConnection,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// closeAfterChunks closes an HTTP/1.1 connection after a request with Transfer-Encoding. Such a request may have had a
// Content-Length, too, which net/http ignores: a proxy that does not ignore it takes what follows for a part of the body.
// RFC 9112, section 6.1, demands that the connection of such a request be closed.
func closeAfterChunks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// ended returns err, or nil if err is the result of the end of ctx.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// greet prints the address of the service and the commands to type next.
func (s *service) greet(addr net.Addr) {
	url := "http://" + addr.String()
	if s.options.tlsCert != "" {
		url = "https://" + addr.String()
	}
	fmt.Fprintf(s.out, "listening on %s\n", url)
	fmt.Fprintf(s.out, "\nIronic %s: API 1.1 to %s, conductor %s, ", s.options.series, s.options.series.MaxAPIVersion(), s.conductor.Name())
	switch {
	case s.options.cluster.peers != "":
		fmt.Fprintf(s.out, "nodes in %s and with the others of %s\n", s.options.data, s.options.cluster.peers)
	case s.options.cluster.endpoints != "":
		fmt.Fprintf(s.out, "nodes at %s\n", s.options.cluster.endpoints)
	case s.options.data != "":
		fmt.Fprintf(s.out, "nodes in %s\n", s.options.data)
	default:
		fmt.Fprintln(s.out, "nodes in memory (-data keeps them)")
	}
	auth := "export OS_AUTH_TYPE=none OS_ENDPOINT=" + url
	if s.options.users != nil {
		auth = "export OS_AUTH_TYPE=http_basic OS_ENDPOINT=" + url + " OS_USERNAME=... OS_PASSWORD=..."
	}
	fmt.Fprintf(s.out, "\nWhat to type next, in another terminal:\n\n    %s\n    baremetal node list\n", auth)
	if s.options.demo > 0 {
		fmt.Fprintf(s.out, "    baremetal node manage demo-1 --wait && baremetal node provide demo-1 --wait\n    baremetal node power on demo-1\n")
	} else {
		fmt.Fprintf(s.out, "    baremetal node create --driver fake-hardware --name node-1\n")
	}
	fmt.Fprintf(s.out, "\nor, without Ironic's client:\n\n    curl -H 'X-OpenStack-Ironic-API-Version: latest' %s/v1/nodes\n\nThe nodes, live, are at %s/ in a browser, the metrics at %s/metrics. Stop with Ctrl-C.\n", url, url, url)
}
