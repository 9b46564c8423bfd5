// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware/images"
)

// resources are the functions that close what the service has opened, in the order in which it was opened.
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

// build returns the service and its handlers. Whatever it opens is added to opened, so that the caller can close it
// after an error, too. shown is nil without a terminal.
func build(
	ctx context.Context, o *options, shown *progress, log *slog.Logger, opened *resources,
) (s *service, open *started, err error) {
	quietly := func(end func()) { opened.add(func() error { end(); return nil }) }
	servers, err := openServers(o, log)
	if err != nil {
		return nil, nil, err
	}
	quietly(servers.close)
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
	s = &service{options: o, progress: shown, servers: servers, metrics: newMetrics(), log: log}
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
	open, stopImages, err := s.handlers(now, published)
	if err != nil {
		return nil, nil, err
	}
	quietly(stopImages)
	return s, open, nil
}

// handlers returns the handlers of the API, one, or one for clients and one for agents, with the images that are
// published, nil for none. The function stop ends the service of images.
func (s *service) handlers(now func() readiness, published *images.Server) (open *started, stop func(), err error) {
	o := s.options
	open = &started{ready: now}
	config := api.Config{
		AgentNetworks: o.agents.networks, BIOSBootloaders: o.agents.biosBootloaders, AgentsWithoutMD5: o.agents.withoutMD5, Log: s.log,
	}
	if o.agents.listen != "" {
		config.Audience = api.Agents
		open.agents = o.guardedAgents(s.tracing.around(s.metrics.measure(api.New(s.conductor, config))))
		config.Audience = api.Clients
	}
	clients := o.guarded(warned(now, s.explorer.Around(s.tracing.around(s.metrics.around(api.New(s.conductor, config), s.conductor)))))
	open.api, stop, err = o.images.serve(published, clients, s.servers.limits, s.log)
	return open, stop, err
}
