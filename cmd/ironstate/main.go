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
// When it is ready it prints "listening on URL" on a separate line. After SIGTERM, SIGHUP or an interrupt
// it exits with status 0, once the work in flight is done or abandoned. It exits with status 1 after a
// failure, and with status 2 if its arguments are wrong.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/ironstate/ironstate/cmd/ironstate/fleet"
	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
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
	shown := newProgress(errOut)
	if shown != nil {
		errOut = shown
	}
	log := slog.New(masked.Log(o.logHandler(errOut)))
	if o.backups != (backupFlags{}) {
		return o.backups.run(ctx, o, out, log)
	}
	s := &service{options: o, progress: shown, metrics: observe.NewMetrics(), log: log, out: out}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return program.Ended(ctx, err)
	}
	return s.run(ctx)
}
