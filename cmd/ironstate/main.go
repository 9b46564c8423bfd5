// SPDX-License-Identifier: Apache-2.0

// Ironstate is a bare-metal service in one program. It serves Ironic's API to Ironic's clients and
// supports the hardware types fake-hardware, redfish and ipmi, and bmclib with -bmclib.
//
//	go run ./cmd/ironstate
//
// Without flags it stores its nodes in memory, enrolls three built-in Redfish BMCs as an example,
// listens on a free port of the loopback interface, and prints the commands to type next. With -data
// it stores its nodes in a folder, in an embedded etcd without open ports: nothing is lost when the
// process is killed. With -data and -cluster, several of these programs form an etcd cluster and
// share the nodes; the service continues while more than half of them run. With -etcd the nodes are
// on another etcd cluster, and any number of these programs, each with a different -name, share them.
//
// With -backup it saves the nodes in a file, also while another process serves them. With -restore
// it creates a folder from such a file.
//
// "ironstate fleet" is no service: it runs machines with Redfish BMCs and agents, which an Ironic enrolls and installs.
//
// At the API's address a browser shows a live page of the state machine with the nodes in it.
//
// When it is ready it prints "listening on URL" on a separate line. After SIGTERM or an interrupt it
// exits with status 0, once the work in flight is done or abandoned. It exits with status 1 after a
// failure, and with status 2 if its arguments are wrong.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/cmd/ironstate/fleet"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Serve("ironstate", serve) }

// serve runs the service, or with the argument "fleet" machines for one, until the context ends.
func serve(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	if len(args) > 0 && args[0] == "fleet" {
		return fleet.Run(ctx, args[1:], out, errOut)
	}
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	shown := newProgress(errOut, o.series.Table())
	if shown != nil {
		errOut = shown
	}
	log := slog.New(masked.Log(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: o.logLevel})))
	if o.backups != (backupFlags{}) {
		return o.backups.run(ctx, o, out, log)
	}
	var opened resources
	defer func() { err = errors.Join(err, opened.close()) }()
	s, open, err := build(ctx, o, shown, log, &opened)
	if err != nil {
		return program.Ended(ctx, err)
	}
	s.out = out
	return s.run(ctx, open)
}

// resources are the functions that close what a service has opened, in the order in which it was opened.
type resources []func() error

func (r *resources) add(end func() error) { *r = append(*r, end) }

// close closes all, the last first.
func (r *resources) close() error {
	var errs []error
	for _, end := range slices.Backward(*r) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// build returns the service and its handlers. It adds what it opens to opened, and does so even if it fails. shown is
// nil without a terminal.
func build(
	ctx context.Context, o *options, shown *progress, log *slog.Logger, opened *resources,
) (s *service, open *started, err error) {
	quietly := func(end func()) { opened.add(func() error { end(); return nil }) }
	front, err := openFront(o, log)
	if err != nil {
		return nil, nil, err
	}
	quietly(front.close)
	store, err := openStore(ctx, o, log)
	if err != nil {
		return nil, nil, err
	}
	opened.add(store.close)
	published, err := o.images.open(o.agents.networks)
	if err != nil {
		return nil, nil, err
	}
	if published != nil {
		quietly(func() { _ = published.Close() })
	}
	hardware, closeHardware, err := newHardware(o, published, log)
	if err != nil {
		return nil, nil, err
	}
	quietly(closeHardware)
	s = &service{options: o, progress: shown, front: front, metrics: newMetrics(), log: log}
	if o.data != "" {
		s.metrics.registry.MustRegister(folder(o.data))
	}
	if s.tracing, err = newTracing(ctx, o.otlp, o.name, log); err != nil {
		return nil, nil, err
	}
	quietly(s.tracing.close)
	config := o.conductorConfig()
	config.Store, config.Membership = measuredStore{store.Store, s.metrics.store}, store.membership
	config.Hardware, config.Tracer, config.Log, config.OnTransition = hardware, s.tracing.conductorTracer(), log, s.metrics.observe
	if shown != nil {
		config.OnTransition = func(t conductor.Transition) { s.metrics.observe(t); shown.observe(t) }
	}
	if s.conductor, err = conductor.New(config); err != nil {
		return nil, nil, err
	}
	now := func() readiness {
		_, lost := s.conductor.Members()
		return readinessOf(true, store.health(), lost == nil)
	}
	s.metrics.registry.MustRegister(readyGauge(now))
	s.explorer = explorer.New(s.conductor, o.fleetName, func() string { return now().trouble() })
	open = s.handlers(now)
	var stopImages func()
	open.api, stopImages, err = o.images.serve(published, open.api, front.limits, log)
	if err != nil {
		return nil, nil, err
	}
	quietly(stopImages)
	return s, open, nil
}

// handlers returns the handlers of the API: one, or one for clients and one for agents.
func (s *service) handlers(now func() readiness) *started {
	o, open := s.options, &started{ready: now}
	config := api.Config{
		AgentNetworks: o.agents.networks, BIOSBootloaders: o.agents.biosBootloaders, AgentsWithoutMD5: o.agents.withoutMD5, Log: s.log,
	}
	if o.agents.listen != "" {
		config.Audience = api.Agents
		open.agents = o.guardedAgents(s.tracing.around(s.metrics.measure(api.New(s.conductor, config))))
		config.Audience = api.Clients
	}
	open.api = o.guarded(warned(now, s.explorer.Around(s.tracing.around(s.metrics.around(api.New(s.conductor, config), s.conductor)))))
	return open
}
