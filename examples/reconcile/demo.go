package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// runDemo brings a node of a fake Ironic from enroll to active. On the way the
// node is found locked, Ironic has no time, and a deployment fails.
func runDemo(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "A built-in Ironic; the node is locked once, the server busy once, and the first deployment fails.")
	ironic := newFake(machine.Node{State: states.Enroll})
	ironic.delay = 50 * time.Millisecond
	ironic.refuse("provide", answer{status: http.StatusConflict, fault: "node-1 is locked by host conductor-1"})
	ironic.refuse("active", answer{status: http.StatusServiceUnavailable, fault: "no free worker", retryAfter: "1"})
	ironic.work(states.Cleaning, states.EventWait, states.EventDone)
	ironic.work(states.Deploying, states.EventWait, states.EventFail, states.EventWait, states.EventDone)
	ironic.start()
	defer ironic.close()

	return reconcile(ctx, options{
		endpoint: ironic.url(),
		node:     ironic.name,
		goal:     plan.Active,
		policy:   plan.Policy{Retries: plan.Retries{plan.Deployment: 1}},
		poll:     10 * time.Millisecond,
		timeout:  30 * time.Second,
		patience: patience{times: 3, first: 20 * time.Millisecond, most: time.Second, longest: 2 * time.Second},
	}, out)
}
