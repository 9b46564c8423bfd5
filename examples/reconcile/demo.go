package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// runDemo brings a node of an Ironic in this process from enroll to active. Meanwhile
// the node is locked once, Ironic once has no free worker, and one deployment fails.
func runDemo(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "A built-in Ironic; the node is locked once, the server busy once, and the first deployment fails.")
	ironic, err := conductortest.Start(conductortest.Config{})
	if err != nil {
		return err
	}
	defer ironic.Close()
	prepareDemo(ironic)
	return reconcile(ctx, options{
		endpoint: ironic.URL,
		node:     "node-1",
		goal:     plan.In(states.Active),
		policy:   plan.Policy{Retries: 1},
		poll:     10 * time.Millisecond,
		timeout:  30 * time.Second,
		backoff:  backoff{times: 3, first: 20 * time.Millisecond, most: time.Second, longest: 2 * time.Second},
	}, out)
}

// prepareDemo adds the node and defines the outcomes of its work. Work ends once the
// client has seen its state, so that each state is printed.
func prepareDemo(ironic *conductortest.Server) {
	node := ironic.Add(conductor.Node{Name: "node-1"})
	ironic.Next(node, "verify", func(ctx context.Context) error {
		ironic.Refuse(http.StatusConflict)
		return ironic.AwaitRead(ctx, node)
	})
	ironic.Next(node, "deploy.erase_devices", func(ctx context.Context) error {
		ironic.Refuse(http.StatusServiceUnavailable)
		return ironic.AwaitRead(ctx, node)
	})
	ironic.Next(node, "deploy.deploy", func(ctx context.Context) error {
		if err := ironic.AwaitRead(ctx, node); err != nil {
			return err
		}
		return errors.New("no space left on device")
	})
	ironic.Next(node, "deploy.deploy", func(ctx context.Context) error {
		return ironic.AwaitRead(ctx, node)
	})
}
