// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// installer is hardware that deploys in two steps: a ramdisk writes the image and then calls
// back; the second step boots the machine from its disk.
type installer struct{ conductor.Fake }

func (h *installer) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if work != states.WorkDeploy {
		return h.Fake.Steps(n, work)
	}
	return []conductor.Step{
		{Interface: "deploy", Step: "write_image", Priority: 100, Run: func(ctx context.Context, t *conductor.Task) error {
			if err := h.SetPower(ctx, t.Node(), states.PowerOn); err != nil {
				return err
			}
			return conductor.ErrWait
		}},
		{Interface: "deploy", Step: "boot_disk", Priority: 50, Run: func(ctx context.Context, t *conductor.Task) error {
			return h.SetPower(ctx, t.Node(), states.PowerRebooting)
		}},
	}
}

// This deployment has two steps; the first waits for a call-back.
func ExampleStep() {
	moved := make(chan conductor.Transition, 10)
	c, stop := started(conductor.Config{
		Hardware:     map[string]conductor.Hardware{"installer": &installer{}},
		OnTransition: func(t conductor.Transition) { moved <- t },
	})
	defer stop()
	ctx := context.Background()
	node, err := c.CreateNode(ctx, &conductor.Node{Driver: "installer", ProvisionState: states.Available})
	if err != nil {
		panic(err)
	}
	if err := c.Provision(ctx, node.UUID, conductor.ProvisionRequest{Target: "active", Version: 115}); err != nil {
		panic(err)
	}
	for t := range moved {
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%v -> %v %v", t.From, t.Node.ProvisionState, t.Node.Step())))
		switch t.Node.ProvisionState {
		case states.DeployWait:
			if err := c.Resume(ctx, node.UUID, nil); err != nil { // the ramdisk's call-back
				panic(err)
			}
		case states.Active:
			return
		}
	}
	// Output:
	// available -> deploying
	// deploying -> wait call-back deploy.write_image
	// wait call-back -> deploying deploy.write_image
	// deploying -> active
}
