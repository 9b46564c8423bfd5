// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// started starts a conductor in memory, and returns the function that ends it.
func started(c conductor.Config) (*conductor.Conductor, func()) {
	if c.Store == nil {
		c.Store = new(conductor.Memory)
	}
	started, err := conductor.New(c)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- started.Run(ctx) }()
	if err := started.Ready(ctx); err != nil {
		panic(err)
	}
	return started, func() { stop(); <-done }
}

// This example creates, changes and reads a node's record.
func ExampleNode() {
	c, stop := started(conductor.Config{Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	defer stop()
	ctx := context.Background()

	node, err := c.CreateNode(ctx, &conductor.Node{Name: "rack1-7", Driver: "fake-hardware", ProvisionState: states.Enroll})
	if err != nil {
		panic(err)
	}
	_, err = c.UpdateNode(ctx, node.UUID, func(n *conductor.Node) error {
		n.Extra = map[string]any{"owner": "payroll"}
		return nil
	})
	fmt.Println(err)
	_, err = c.CreateNode(ctx, &conductor.Node{Name: "rack1-7", Driver: "fake-hardware", ProvisionState: states.Enroll})
	fmt.Println(errors.Is(err, conductor.Exists), conductor.HTTPStatus(err))

	node, err = c.Node(ctx, "rack1-7")
	fmt.Println(node.ProvisionState, node.Extra["owner"], err)
	// Output:
	// <nil>
	// true 409
	// enroll payroll <nil>
}

// This example stores a port of a node and reads it.
func ExamplePort() {
	c, stop := started(conductor.Config{Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	defer stop()
	ctx := context.Background()
	node, err := c.CreateNode(ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll})
	if err != nil {
		panic(err)
	}
	port := &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: node.UUID}, Address: "52:54:00:12:34:56"}
	if _, err := c.CreateObject(ctx, port); err != nil {
		panic(err)
	}
	_, err = c.CreateObject(ctx, port)
	fmt.Println(err)

	ports, err := c.ObjectsOf(ctx, conductor.KindPort, node.UUID)
	for _, o := range ports {
		port := o.(*conductor.Port)
		fmt.Println(port.Address, port.NodeUUID == node.UUID, err)
	}
	// Output:
	// ports with address=52:54:00:12:34:56 already exists.
	// 52:54:00:12:34:56 true <nil>
}

// Two writers update the same record. The second has not read the first one's write, and
// gets ErrConflict.
func ExampleStore() {
	var store conductor.Store = new(conductor.Memory)
	ctx := context.Background()
	revision, err := store.Create(ctx, conductor.Record{Kind: "nodes", ID: "1", Keys: []string{"name=rack1-7"}})
	if err != nil {
		panic(err)
	}
	for _, value := range []string{"the first", "the second"} {
		_, err := store.Update(ctx, conductor.Record{
			Kind: "nodes", ID: "1", Keys: []string{"name=rack1-7"}, Revision: revision, Value: []byte(value),
		})
		fmt.Println(errors.Is(err, conductor.ErrConflict))
	}
	r, err := store.Get(ctx, "nodes", "name=rack1-7")
	fmt.Println(string(r.Value), err)
	// Output:
	// false
	// true
	// the first <nil>
}

// This program waits until a node has reached a state.
func ExampleConductor_WatchNodes() {
	c, stop := started(conductor.Config{Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	defer stop()
	ctx := context.Background()
	node, err := c.CreateNode(ctx, &conductor.Node{Name: "rack1-7", Driver: "fake-hardware", ProvisionState: states.Enroll})
	if err != nil {
		panic(err)
	}
	if err := c.Provision(ctx, node.UUID, conductor.ProvisionRequest{Target: "manage", Version: 115}); err != nil {
		panic(err)
	}
	for change := range c.WatchNodes(ctx) {
		if n := change.Node; n != nil && n.ProvisionState == states.Manageable {
			fmt.Println(n.Name, n.ProvisionState)
			break
		}
	}
	// Output: rack1-7 manageable
}

// The hardware of one node does not respond.
func ExampleFake() {
	moved := make(chan conductor.Transition, 10)
	c, stop := started(conductor.Config{
		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{
			Before: func(_ context.Context, n *conductor.Node, operation string) error {
				if n.Name == "rack1-7" && operation == "verify" {
					return errors.New("no answer")
				}
				return nil
			},
		}},
		OnTransition: func(t conductor.Transition) { moved <- t },
	})
	defer stop()
	ctx := context.Background()
	node, err := c.CreateNode(ctx, &conductor.Node{
		UUID: "1be26c0b-03f2-4d2e-ae87-c02d7f33c123", Name: "rack1-7", Driver: "fake-hardware", ProvisionState: states.Enroll,
	})
	if err != nil {
		panic(err)
	}
	if err := c.Provision(ctx, node.UUID, conductor.ProvisionRequest{Target: "manage", Version: 115}); err != nil {
		panic(err)
	}
	for range 2 {
		t := <-moved
		fmt.Printf("%v -> %v %q\n", t.From, t.Node.ProvisionState, t.Node.LastError)
	}
	// Output:
	// enroll -> verifying ""
	// verifying -> enroll "verification of node rack1-7 (1be26c0b-03f2-4d2e-ae87-c02d7f33c123) failed: no answer"
}

// A watch yields the stored records first, and then the changes as they happen.
func ExampleMemory_Watch() {
	store, ctx := new(conductor.Memory), context.Background()
	revision, err := store.Create(ctx, conductor.Record{Kind: "nodes", ID: "1", Keys: []string{"name=rack1-7"}})
	if err != nil {
		panic(err)
	}
	for change, err := range store.Watch(ctx, "nodes") {
		switch {
		case err != nil:
			panic(err)
		case change.Synced:
			fmt.Println("that was all")
			if _, err := store.Delete(ctx, "nodes", "1", revision); err != nil {
				panic(err)
			}
		case change.Deleted:
			fmt.Println(change.Record.ID, "is gone")
			return
		default:
			fmt.Println(change.Record.ID, change.Record.Keys)
		}
	}
	// Output:
	// 1 [name=rack1-7]
	// that was all
	// 1 is gone
}
