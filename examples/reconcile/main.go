// SPDX-License-Identifier: Apache-2.0

// Reconcile brings a node of Ironic to a goal by the steps of package plan, and prints each step as it happens. The
// exit status is 1 if the goal is not reached. Without flags it starts an Ironic in its own process, with fake
// hardware, and takes a node from enroll to active. With -endpoint it uses a real Ironic without authentication:
//
//	go run ./examples/reconcile -endpoint http://127.0.0.1:6385 -node node-1 -goal available
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/noauth"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func main() {
	log.SetFlags(0)
	endpoint := flag.String("endpoint", "", "`URL` of an Ironic without authentication; without it a built-in one is used")
	name := flag.String("node", "node-1", "name or UUID of the node")
	word := flag.String("goal", "active", "`GOAL` such as active, available or manageable")
	var policy plan.Policy
	flag.BoolVar(&policy.MayDestroy, "may-destroy", false, "a workload may be torn down or overwritten")
	poll := flag.Duration("poll", 2*time.Second, "time between two reads of the node, and before a retry")
	flag.Parse()
	goal, err := plan.ParseGoal(*word)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *endpoint == "" {
		fmt.Println("A built-in Ironic; the node is locked once, and the first deployment fails.")
		ironic, err := conductortest.Start(conductortest.Config{})
		if err != nil {
			log.Fatal(err)
		}
		defer ironic.Close()
		prepare(ironic)
		*endpoint, *poll, policy.Retries = ironic.URL, 10*time.Millisecond, 1
	}
	if err := reconcile(ctx, *endpoint, *name, plan.Desired{Goal: goal, Policy: policy}, *poll); err != nil {
		log.Fatalf("%s has not reached %v: %v", *name, goal, err)
	}
	fmt.Printf("%s has reached %v.\n", *name, goal)
}

// reconcile does one step after the other until the node is at its goal.
func reconcile(ctx context.Context, endpoint, name string, desired plan.Desired, poll time.Duration) error {
	client, version, err := dial(ctx, endpoint)
	if err != nil {
		return err
	}
	series, _ := version.Series()
	desired.Version = version
	for last := ""; ; {
		got, err := nodes.Get(ctx, client, name).Extract()
		if err != nil {
			return err
		}
		node := machine.Node{ // the plan has no route from a state that the table lacks
			State: states.ParseRaw(got.ProvisionState).State, Target: states.ParseRaw(got.TargetProvisionState).State,
			LastError: got.LastError,
		}
		desired.Fields = plan.NodeFields{
			Maintenance: got.Maintenance, Fault: got.Fault, Protected: got.Protected, Retired: got.Retired, Reserved: got.Reservation != "",
			Associated: got.InstanceUUID != "", NoAutomatedClean: got.AutomatedClean != nil && !*got.AutomatedClean,
		}
		step, err := plan.Next(series.Table(), node, desired)
		if err != nil {
			return err
		}
		if line := fmt.Sprintf("%-14s  %-10s  %-45v  %s", got.ProvisionState, node.Target, step, node.LastError); line != last {
			fmt.Println(line)
			last = line
		}
		switch step.Action {
		case plan.Done:
			return nil
		case plan.Blocked: // by the state or the policy; an operator has to decide
			return fmt.Errorf("%v (last error: %q)", step, node.LastError)
		case plan.Send:
			body := nodes.ProvisionStateOpts{Target: nodes.TargetProvisionState(step.Verb)}
			err = nodes.ChangeProvisionState(ctx, client, name, body).Err
		}
		switch {
		case err == nil:
			desired.Progress = step.Progress // only once Ironic has accepted the request
		case gophercloud.ResponseCodeIs(err, http.StatusConflict), gophercloud.ResponseCodeIs(err, http.StatusServiceUnavailable):
			fmt.Println("refused for now: the node is locked or no worker is free") // its state may have changed: plan again
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}

// dial returns a client with the highest API version that both sides know. It warns of a server without enroll.
func dial(ctx context.Context, endpoint string) (*gophercloud.ServiceClient, states.APIVersion, error) {
	client, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: endpoint})
	if err != nil {
		return nil, 0, err
	}
	got, err := apiversions.Get(ctx, client, "v1").Extract()
	if err != nil {
		return nil, 0, err
	}
	highest, err := states.ParseAPIVersion(got.Version)
	if err != nil {
		return nil, 0, err
	}
	version := min(highest, states.Latest().MaxAPIVersion())
	if _, warning := states.Created(states.Latest().MaxAPIVersion(), highest); warning != "" {
		log.Print("warning: ", warning)
	}
	client.Endpoint, client.Microversion = client.ServiceURL("v1")+"/", version.String()
	return client, version, nil
}

// prepare adds a node. Its work ends once the client has seen, and printed, its state; the first deployment fails.
func prepare(ironic *conductortest.Server) {
	node := ironic.Add(conductor.Node{Name: "node-1"})
	ironic.Next(node, "verify", func(ctx context.Context) error {
		ironic.Refuse(http.StatusConflict)
		return ironic.AwaitRead(ctx, node)
	})
	ironic.Next(node, "deploy.deploy", func(ctx context.Context) error {
		return errors.Join(ironic.AwaitRead(ctx, node), errors.New("no space left on device"))
	})
}
