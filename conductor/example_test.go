// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// This example moves a node from enroll to manageable.
func Example() {
	moved := make(chan conductor.Transition, 10)
	c, err := conductor.New(conductor.Config{
		Store:        &conductor.Memory{},
		Hardware:     map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
		OnTransition: func(t conductor.Transition) { moved <- t },
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	if err := c.Ready(ctx); err != nil {
		panic(err)
	}

	node, err := c.CreateNode(ctx, &conductor.Node{Name: "rack1-7", Driver: "fake-hardware", ProvisionState: states.Enroll})
	if err != nil {
		panic(err)
	}
	err = c.Provision(ctx, node.UUID, conductor.ProvisionRequest{Target: "provide", Version: 81})
	fmt.Println(conductor.HTTPStatus(err), err)
	err = c.Provision(ctx, node.UUID, conductor.ProvisionRequest{Target: "manage", Version: 81})
	fmt.Println(err)
	for range 2 {
		t := <-moved
		fmt.Printf("%s: %v -> %v\n", t.Node.Name, t.From, t.Node.ProvisionState)
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// 400 request "provide" in state "enroll" with API version 1.81: not allowed in the node's state; allowed: manage
	// <nil>
	// rack1-7: enroll -> verifying
	// rack1-7: verifying -> manageable
	// context canceled
}

// A custom hardware type embeds an existing one and overrides some methods.
func ExampleHardware() {
	var hardware conductor.Hardware = &lamp{}
	steps := hardware.Steps(&conductor.Node{}, states.WorkDeploy)
	fmt.Println(steps[0].Interface, steps[0].Step, steps[0].Priority)
	// Output: deploy blink 100
}

// lamp is hardware that deploys by blinking.
type lamp struct{ conductor.Fake }

func (l *lamp) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if work != states.WorkDeploy {
		return l.Fake.Steps(n, work)
	}
	return []conductor.Step{{
		Interface: "deploy", Step: "blink", Priority: 100,
		Run: func(ctx context.Context, t *conductor.Task) error {
			return l.SetPower(ctx, t.Node(), states.PowerOn)
		},
	}}
}
