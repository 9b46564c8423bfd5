// Conductor is a bare-metal service in one program: Ironic's API, driven by Ironic's
// own clients, over the hardware types fake-hardware, redfish and ipmi.
//
//	go -C examples/conductor run .
//
// Without flags it keeps its nodes in memory, brings three built-in Redfish BMCs
// enrolled as an example, listens on a free port of the loopback interface, and prints
// what to type next. With -data it keeps its nodes in a folder, in an etcd of its own
// that nobody else can reach: nothing is lost when the process is killed. With -cluster
// as well, several of these programs keep them together and share the work on them, and
// go on when fewer than half of them are lost. With -etcd the nodes are on an etcd
// cluster that runs elsewhere, and any number of these programs, each with a -name of
// its own, share the work on them.
//
// With -backup and -restore it saves the nodes in a file, also while another process
// serves them, and makes a folder from that file.
//
// A browser that opens the API's address finds the state machine with the nodes in it,
// live.
//
// When it is ready it prints "listening on URL" on a line of its own. It ends with
// status 0 on SIGTERM or an interrupt, once the work that is under way is done or was
// given up, 1 when it cannot go on, and 2 when it was used wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/examples/conductor/explorer"
	"github.com/ironstate/ironstate/internal/program"
)

func main() {
	signalled := program.UntilSignal()
	os.Exit(program.Run("conductor", os.Args[1:], os.Stdout, os.Stderr,
		func(ctx context.Context, args []string, out, errOut io.Writer) error {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			context.AfterFunc(signalled, stop)
			return serve(ctx, args, out, errOut)
		}))
}

// serve runs the service until the context ends.
func serve(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: o.logLevel}))
	if o.backups.asked() {
		return o.backups.run(ctx, o, out, log)
	}
	store, err := openStore(ctx, o, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()

	hardware, closeHardware, err := newHardware(o.fakeDelay, log)
	if err != nil {
		return err
	}
	defer closeHardware()
	metrics := newMetrics()
	tracing, err := newTracing(ctx, o.otlp, o.name, log)
	if err != nil {
		return err
	}
	defer tracing.close()
	c, err := conductor.New(conductor.Config{
		Store: metrics.measured(store.Store), Membership: store.membership, Name: o.name, Group: o.group, Table: o.series.Table(), SkipAutomatedClean: !o.automatedClean,
		ResumeVerification: o.resumeVerify, CheckInterval: o.checkInterval,
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
	handler := o.authenticated(live.Around(tracing.around(metrics.around(api.New(c, api.Config{Log: log}), c))))
	s := &service{options: o, conductor: c, explorer: live, handler: handler, out: out, log: log}
	return s.run(ctx, listener)
}
