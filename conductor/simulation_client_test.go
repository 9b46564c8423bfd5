// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// simClient sends requests that the nodes' states allow to random conductors.
type simClient struct {
	*world
	name       string
	conductors map[string]*simConductor
	names      []string
	nodes      []*conductor.Node
}

// ask sends requests until the faults end.
func (c *simClient) ask(ctx context.Context) {
	for ctx.Err() == nil {
		sleep.For(ctx, c.upTo(10*time.Second, c.name, "until the next request"))
		if c.isCalm() {
			return
		}
		target := c.conductors[c.names[c.draw(int64(len(c.names)), c.name, "asks")]]
		n := c.nodes[c.draw(int64(len(c.nodes)), c.name, "asks for")]
		dice := c.draw(100, c.name, "dice")
		conductor := target.get()
		n, err := conductor.Node(ctx, n.UUID)
		if err != nil {
			continue
		}
		word, err := c.request(ctx, conductor, n, dice)
		if errors.Is(err, errCut) {
			err = errCut // without the ID of a call, which no seed determines
		}
		if word != "" {
			c.log("client: node %s %s at %s by %s: %v", n.Name, word, n.ProvisionState, target.name, err)
		}
	}
}

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

// agentWords are what clients mostly request for a node with an agent: without them the clients would end most of its
// work before the agent has done anything.
var agentWords = map[states.State]string{
	states.Enroll: "manage", states.Manageable: "provide", states.Available: "active", states.Active: "service", states.CleanFail: "manage",
	states.DeployFail: "active", states.ServiceFail: "deleted", states.Error: "deleted",
	states.AdoptFail: "manage", states.InspectFail: "manage",
	states.Rescue: "unrescue", states.RescueFail: "unrescue", states.UnrescueFail: "unrescue",
}

// request sends the request that the dice value selects, and returns its name, "" for none.
func (c *simClient) request(ctx context.Context, by *conductor.Conductor, n *conductor.Node, dice int64) (word string, err error) {
	table, version := states.Latest().Table(), states.Latest().MaxAPIVersion()
	switch {
	case dice < 10:
		return "power", by.SetPower(ctx, n.UUID, states.PowerOn, 0)
	case dice < 20 && table.Phase(n.ProvisionState) == states.PhaseWaiting && c.agentOf(n.UUID) == nil:
		return "resume", by.Resume(ctx, n.UUID, nil)
	case dice < 25:
		_, err := by.UpdateNode(ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = dice == 24; return nil })
		return "update", err
	}
	words := slices.Collect(table.Requests(n.ProvisionState, version))
	if len(words) == 0 {
		return "", nil
	}
	word = words[dice%int64(len(words))]
	if c.agentOf(n.UUID) != nil && c.draw(100, c.name, "lets agents work") < 90 {
		if word = agentWords[n.ProvisionState]; word == "" {
			return "", nil
		}
	}
	steps := []conductor.StepRequest{{Interface: "bios", Step: "cache_bios_settings"}, {Interface: "bios", Step: "factory_reset"}}
	clean, service := steps, steps
	if c.agentOf(n.UUID) != nil {
		clean = append([]conductor.StepRequest{{Interface: "deploy", Step: "erase_devices"}}, steps...)
		service = append([]conductor.StepRequest{{Interface: "deploy", Step: "burnin_cpu"}}, steps...)
	}
	before := c.moved(n.UUID, word)
	err = by.Provision(ctx, n.UUID, conductor.ProvisionRequest{
		Target: word, Version: version, CleanSteps: clean, ServiceSteps: service, RescuePassword: "x",
	})
	c.told(n.UUID, word, before, err)
	return word, err
}
