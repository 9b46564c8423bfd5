// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/program"
)

// service is the service with the parts that [service.open] opens.
type service struct {
	options  *options
	progress *progress // nil if there is no terminal
	metrics  *observe.Metrics
	log      *slog.Logger
	out      io.Writer

	servers   *servers
	store     *openedStore
	images    *images.Server // nil without -image-url
	hardware  map[string]conductor.Hardware
	tracing   *observe.Tracing // nil without a collector
	conductor *conductor.Conductor
	explorer  *explorer.Explorer
	handlers  *started

	ends       []func() // of the parts that are open, in the order in which they were opened
	storeError error    // of its close
}

// shutdownTimeout bounds the time that requests in flight may take.
const shutdownTimeout = 5 * time.Second

// run starts the conductor, passes requests to the API, and serves until the context ends, which is no error, or until
// something fails.
func (s *service) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	demo, err := s.options.startDemo()
	if err != nil {
		return err
	}
	defer demo.stop()
	demo.renew(ctx, s.conductor)
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{s.conductor.Run, s.explorer.Run} {
		running.Go(func() { _ = run(ctx) }) // its error is the context's
	}
	if s.progress != nil {
		running.Go(func() { s.progress.run(ctx) })
		running.Go(func() { s.progress.follow(s.conductor.WatchNodes(ctx)) })
	}
	defer running.Wait()
	defer cancel()
	if err := s.conductor.Ready(ctx); err != nil {
		return program.Ended(ctx, err)
	}
	if err := demo.enroll(ctx, s.conductor); err != nil {
		return program.Ended(ctx, err)
	}

	s.servers.started.Store(s.handlers)
	s.greet()
	select {
	case err = <-s.servers.failed:
	case <-ctx.Done():
	}
	s.servers.close()
	return err
}

// greet prints the addresses of the service and the commands to type next.
func (s *service) greet() {
	scheme := "http://"
	if s.options.tlsCert != "" {
		scheme = "https://"
	}
	if s.servers.agents != nil {
		fmt.Fprintf(s.out, "listening for agents on %s%s\n", scheme, s.servers.agents.Addr())
	}
	url := scheme + s.servers.api.Addr().String()
	fmt.Fprintf(s.out, "listening on %s\n", url)
	fmt.Fprintf(s.out, "\nIronic %s: API 1.1 to %s, conductor %s, ", s.options.series, s.options.series.MaxAPIVersion(), s.conductor.Name())
	if kind := s.options.chosen(); kind != nil {
		fmt.Fprintf(s.out, "nodes %s\n", kind.place(s.options.storeSettings))
	} else {
		fmt.Fprintln(s.out, "nodes in memory (-data keeps them)")
	}
	auth := "export OS_AUTH_TYPE=none OS_ENDPOINT=" + url
	if s.options.users != nil {
		auth = "export OS_AUTH_TYPE=http_basic OS_ENDPOINT=" + url + " OS_USERNAME=... OS_PASSWORD=..."
	}
	fmt.Fprintf(s.out, "\nWhat to type next, in another terminal:\n\n    %s\n    baremetal node list\n", auth)
	if s.options.demo > 0 {
		fmt.Fprintf(s.out,
			"    baremetal node manage demo-1 --wait && baremetal node provide demo-1 --wait\n    baremetal node power on demo-1\n")
	} else {
		fmt.Fprintf(s.out, "    baremetal node create --driver fake-hardware --name node-1\n")
	}
	fmt.Fprintf(s.out, "\nor, without Ironic's client:\n\n    curl -H 'X-OpenStack-Ironic-API-Version: latest' %s/v1/nodes\n\n"+
		"The nodes, live, are at %s/ in a browser, the metrics at %s/metrics. Stop with Ctrl-C.\n", url, url, url)
}
