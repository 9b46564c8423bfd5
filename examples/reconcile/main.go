// Reconcile brings a node of Ironic to a goal, whatever state it is in, and
// prints each step as it happens.
//
// Without flags it starts an Ironic in its own process, with fake hardware, and takes
// a node from enroll to active. With -endpoint it uses a real Ironic without
// authentication:
//
//	go run ./examples/reconcile
//	go run ./examples/reconcile -endpoint http://127.0.0.1:6385 -node node-1 -goal available
//
// Package plan computes the next step; this program gets the node, sends requests and
// waits, see [reconciler.run]. If Ironic answers 409 (the node is locked) or 503 (it has
// no free worker), the program retries with a backoff; any other error ends it.
//
// The exit status is 0 if the goal is reached, 1 if it is not, 2 for wrong usage, and
// 130 or 143 after Ctrl-C or SIGTERM.
package main

import (
	"context"
	"io"
	"os"

	"github.com/ironstate/ironstate/internal/program"
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
