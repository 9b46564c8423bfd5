// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
)

// open opens the parts of the service, each of which uses earlier ones alone. The servers are the first: they answer
// /healthz and /readyz while the store is being opened. The caller closes the service, also after an error.
func (s *service) open(ctx context.Context) error {
	for _, part := range []func(context.Context) error{
		s.openServers, s.openStore, s.openImages, s.openHardware, s.openTracing, s.newConductor, s.newHandlers,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// onClose has end called when the service is closed, before the ends of earlier parts.
func (s *service) onClose(end func()) { s.ends = append(s.ends, end) }

// close closes all parts, the last first. Its error is the store's.
func (s *service) close() error {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
	return s.storeError
}

func (s *service) openServers(context.Context) (err error) {
	if s.servers, err = openServers(s.options, s.log); err == nil {
		s.onClose(s.servers.close)
	}
	return err
}

func (s *service) openStore(ctx context.Context) (err error) {
	if s.store, err = s.options.storeFlags.open(ctx, s.log); err != nil {
		return err
	}
	s.onClose(func() { s.storeError = s.store.close() })
	if s.store.metrics != nil {
		s.metrics.Add(s.store.metrics)
	}
	return nil
}

func (s *service) openImages(context.Context) (err error) {
	if s.images, err = s.options.images.open(s.options.agents.networks); s.images != nil {
		s.onClose(func() { _ = s.images.Close() })
	}
	return err
}

func (s *service) openHardware(context.Context) error {
	types, closers, err := newHardware(s.options, s.images, s.log)
	s.hardware = types
	s.onClose(func() { closeAll(closers) })
	return err
}

func (s *service) openTracing(ctx context.Context) (err error) {
	if s.tracing, err = observe.NewTracing(ctx, s.options.otlp, s.options.name, s.log); err == nil {
		s.onClose(s.tracing.Close)
	}
	return err
}

func (s *service) newConductor(context.Context) (err error) {
	config := s.options.conductorConfig()
	config.Store, config.Membership = s.metrics.Store(s.store, s.store.noSpace), s.store.membership
	config.Hardware, config.Tracer, config.Log, config.OnTransition = s.hardware, s.tracing.Tracer(), s.log, s.metrics.Observe
	if s.progress != nil {
		config.OnTransition = func(t conductor.Transition) { s.metrics.Observe(t); s.progress.observe(t) }
	}
	s.conductor, err = conductor.New(config)
	return err
}

// ready returns the readiness of a service that has started.
func (s *service) ready() observe.Readiness {
	_, lost := s.conductor.Members()
	return observe.ReadinessOf(s.store.health(), lost == nil)
}

// newHandlers makes the handlers of the API, one, or one for clients and one for agents, and has the images served.
func (s *service) newHandlers(context.Context) (err error) {
	o := s.options
	s.metrics.AddReadiness(s.ready)
	s.explorer = explorer.New(s.conductor, o.fleetName, func() string { return s.ready().Trouble() })
	s.handlers = &started{ready: s.ready}
	config := api.Config{
		AgentNetworks: o.agents.networks, BIOSBootloaders: o.agents.biosBootloaders, AgentsWithoutMD5: o.agents.withoutMD5, Log: s.log,
	}
	if o.agents.listen != "" {
		config.Audience = api.Agents
		s.handlers.agents = o.guardedAgents(s.tracing.Around(s.metrics.Measure(api.New(s.conductor, config))))
		config.Audience = api.Clients
	}
	clients := s.explorer.Around(s.tracing.Around(s.metrics.Around(api.New(s.conductor, config), s.conductor)))
	clients = o.guarded(observe.Warned(s.ready, s.store.kind, clients))
	var stop func()
	if s.handlers.api, stop, err = o.images.serve(s.images, clients, s.servers.limits, s.log); err == nil {
		s.onClose(stop)
	}
	return err
}
