// SPDX-License-Identifier: Apache-2.0

// Ironstate is a bare-metal service in one program. It serves Ironic's API to Ironic's clients and
// supports the hardware types fake-hardware, redfish and ipmi.
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
// At the API's address a browser shows a live page of the state machine with the nodes in it.
//
// When it is ready it prints "listening on URL" on a separate line. After SIGTERM or an interrupt it
// exits with status 0, once the work in flight is done or abandoned. It exits with status 1 after a
// failure, and with status 2 if its arguments are wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Serve("ironstate", serve) }

// serve runs the service until the context ends.
func serve(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: o.logLevel}))
	if o.backups != (backupFlags{}) {
		return o.backups.run(ctx, o, out, log)
	}
	store, err := openStore(ctx, o, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()

	published, err := o.images.open()
	if err != nil {
		return err
	}
	if published != nil {
		defer published.Close()
	}
	hardware, closeHardware, err := newHardware(o, published, log)
	if err != nil {
		return err
	}
	defer closeHardware()
	metrics := newMetrics()
	if o.data != "" {
		metrics.registry.MustRegister(folder(o.data))
	}
	tracing, err := newTracing(ctx, o.otlp, o.name, log)
	if err != nil {
		return err
	}
	defer tracing.close()
	c, err := conductor.New(conductor.Config{
		Store: measuredStore{store.Store, metrics.store}, Membership: store.membership, Name: o.name, Group: o.group, Table: o.series.Table(), SkipAutomatedClean: !o.automatedClean,
		Timeouts: &o.agents.timeouts, CleanStepPriorities: o.agents.priorities, AgentVerifyCA: o.agents.verifyCA, RequireAgentTLS: o.agents.requireTLS,
		FastTrack: o.agents.fastTrack, FastTrackTimeout: o.agents.fastTrackTimeout, SkipHealth: !o.powerSync.health,
		ResumeVerification: o.resumeVerify, CheckInterval: o.checkInterval, Power: o.powerSync.config(), SkipPowerSync: o.powerSync.interval == 0,
		Hardware: hardware, ShutdownTimeout: o.shutdownTimeout, OnTransition: metrics.observe, Tracer: tracing.conductorTracer(), Log: log,
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	live := explorer.New(c)
	handler := o.guarded(live.Around(tracing.around(metrics.around(api.New(c, api.Config{Log: log}), c))))
	handler, stopImages, err := o.images.serve(published, handler, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer stopImages()
	s := &service{options: o, conductor: c, explorer: live, handler: handler, out: out, log: log}
	return s.run(ctx, listener)
}
