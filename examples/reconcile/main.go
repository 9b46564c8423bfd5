// Reconcile brings a node of Ironic to a goal, whatever state it is in, and
// prints each step as it happens.
//
// Without flags it brings its own Ironic, a fake of the API on the module's
// machine, and takes a node from enroll to active. With -endpoint it asks a real
// one, that runs without authentication:
//
//	go run ./examples/reconcile
//	go run ./examples/reconcile -endpoint http://127.0.0.1:6385 -node node-1 -goal available
//
// What to do next is package plan's to say; this program looks, sends and waits.
// It looks again, and asks the plan again, when Ironic answers 409 (the node is
// locked) or 503 (it has no time), and gives up at any other error.
//
// The exit status is 0 when the goal is reached, 1 when it is not, 2 when the
// command was used wrongly, and 130 or 143 when it was ended by Ctrl-C or SIGTERM.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine/plan"
)

func main() {
	program.Main("reconcile", func(ctx context.Context, args []string, out, errOut io.Writer) error {
		return run(ctx, args, os.Getenv, out, errOut)
	})
}

func run(ctx context.Context, args []string, getenv func(string) string, out, errOut io.Writer) error {
	opts, err := parseFlags(args, getenv, errOut)
	switch {
	case err != nil:
		return err
	case opts.demo:
		return runDemo(ctx, out)
	default:
		return reconcile(ctx, opts, out)
	}
}

// reconcile brings the node of the options to their goal. An error is the reason
// why it is not there.
func reconcile(ctx context.Context, opts options, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, opts.timeout, fmt.Errorf("no end in %v", opts.timeout))
	defer cancel()
	client, err := newClient(opts)
	if err != nil {
		return err
	}
	defer client.close()

	d := &driver{
		client:   client,
		wish:     plan.Wish{Goal: opts.goal, Version: opts.version, Policy: opts.policy},
		poll:     opts.poll,
		patience: opts.patience,
		report:   &report{out: out, secret: opts.with.password, began: time.Now()},
	}
	if err := d.drive(ctx); err != nil {
		return d.failure(ctx, err)
	}
	return nil
}
