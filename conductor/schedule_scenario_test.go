// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// scenario is what the explorer runs in all schedules: conductors with one node, and requests of clients.
type scenario struct {
	name       string
	conductors int
	faults     int // that may happen in one schedule
	node       conductor.Node
	clients    []scheduleRequest
	waits      map[string]error // the operations that are done by a call-back
	lacking    string           // the conductor that lacks the node's hardware type
	powerSync  bool
	restarts   bool // a process that has died starts again
	twice      bool // each step sends two requests
}

func (sc scenario) String() string {
	return fmt.Sprintf("%s: %d conductors, %d faults", sc.name, sc.conductors, sc.faults)
}

// scheduleRequest is a request that a client sends in one of some states of the node.
type scheduleRequest struct {
	by   string // the conductor that it asks
	text string
	word string // the provision word, "" for another request
	when []states.State
	do   func(ctx context.Context, c *conductor.Conductor) error
}

// provisions returns a request for a provision state. The steps belong to a cleaning.
func provisions(by, word string, when states.State, steps ...string) scheduleRequest {
	request := func(ctx context.Context, c *conductor.Conductor) error {
		r := conductor.ProvisionRequest{Target: word, Version: states.Latest().MaxAPIVersion()}
		for _, step := range steps {
			name, after, found := strings.Cut(step, ".")
			if !found {
				name, after = "", step
			}
			r.CleanSteps = append(r.CleanSteps, conductor.StepRequest{Interface: name, Step: after})
		}
		return c.Provision(ctx, scheduleNode, r)
	}
	return scheduleRequest{by: by, text: word, word: word, when: []states.State{when}, do: request}
}

// asks returns a request that is not for a provision state.
func asks(by, text string, do func(ctx context.Context, c *conductor.Conductor) error, when ...states.State) scheduleRequest {
	return scheduleRequest{by: by, text: text, when: when, do: do}
}

const firstStep, secondStep = "bios.cache_bios_settings", "bios.factory_reset"

// scenarios are those that the tests explore completely. alpha owns the node while it is a member.
var scenarios = []scenario{
	{name: "verify", node: enrolled, clients: []scheduleRequest{provisions("alpha", "manage", states.Enroll)}},
	{name: "verify with a restart", restarts: true, node: enrolled, clients: []scheduleRequest{
		provisions("alpha", "manage", states.Enroll),
	}},
	{name: "clean with a restart", restarts: true, node: manageable, clients: []scheduleRequest{
		provisions("alpha", "clean", states.Manageable, firstStep, secondStep),
	}},
	{name: "power on with a restart", restarts: true, node: manageable, clients: []scheduleRequest{
		asks("beta", "power on", powerOn, states.Manageable),
	}},
	{name: "verify by another", node: enrolled, clients: []scheduleRequest{provisions("beta", "manage", states.Enroll)}},
	{name: "verify twice", node: enrolled, clients: []scheduleRequest{
		provisions("alpha", "manage", states.Enroll), provisions("beta", "manage", states.Enroll),
	}},
	{name: "verify and change", node: enrolled, clients: []scheduleRequest{
		provisions("alpha", "manage", states.Enroll), asks("beta", "set the maintenance", maintain, states.Enroll, states.Verifying),
	}},
	{name: "verify and delete", node: enrolled, clients: []scheduleRequest{
		provisions("alpha", "manage", states.Enroll),
		asks("beta", "delete the node", deleteNode, states.Enroll, states.Verifying, states.Manageable),
	}},
	{name: "verify by the owner", lacking: "alpha", node: enrolled, clients: []scheduleRequest{
		provisions("alpha", "manage", states.Enroll),
	}},
	{name: "clean", node: manageable, clients: []scheduleRequest{
		provisions("alpha", "clean", states.Manageable, firstStep, secondStep),
	}},
	{name: "clean by two requests", twice: true, node: manageable, clients: []scheduleRequest{
		provisions("alpha", "clean", states.Manageable, firstStep, secondStep),
	}},
	{name: "clean, wait and abort", waits: map[string]error{firstStep: conductor.ErrWait}, node: manageable, clients: []scheduleRequest{
		provisions("alpha", "clean", states.Manageable, firstStep, secondStep), provisions("beta", "abort", states.CleanWait),
		asks("alpha", "resume", resume, states.CleanWait),
	}},
	{name: "clean, hold and unhold", node: manageable, clients: []scheduleRequest{
		provisions("alpha", "clean", states.Manageable, "hold", firstStep, secondStep), provisions("beta", "unhold", states.CleanHold),
		asks("alpha", "resume", resume, states.CleanWait),
	}},
	{name: "deploy", node: conductor.Node{ProvisionState: states.Available, InstanceInfo: instanceInfo()}, clients: []scheduleRequest{
		provisions("alpha", "active", states.Available),
	}},
	{name: "clean by the agent", node: booted(states.Manageable), clients: []scheduleRequest{
		provisions("alpha", "clean", states.Manageable, "deploy.erase_devices"),
	}},
	{name: "deploy by the agent", node: booted(states.Available), clients: []scheduleRequest{provisions("alpha", "active", states.Available)}},
	{name: "tear down", node: conductor.Node{ProvisionState: states.Active}, clients: []scheduleRequest{
		provisions("beta", "deleted", states.Active),
	}},
	{name: "power on", node: manageable, clients: []scheduleRequest{asks("beta", "power on", powerOn, states.Manageable)}},
	{name: "power sync", powerSync: true, node: conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOn}},
	{name: "allocate", node: conductor.Node{ProvisionState: states.Available, ResourceClass: "big"}, clients: []scheduleRequest{
		asks("alpha", "allocate a node", allocate, states.Available),
	}},
}

var enrolled, manageable = conductor.Node{ProvisionState: states.Enroll}, conductor.Node{ProvisionState: states.Manageable}

// booted returns a node whose machine boots an agent.
func booted(state states.State) conductor.Node {
	return conductor.Node{
		ProvisionState: state, Interfaces: map[string]string{"deploy": "direct", "management": "noop"},
		Properties: map[string]any{"capabilities": "boot_mode:uefi"}, InstanceInfo: instanceInfo(),
	}
}

func maintain(ctx context.Context, c *conductor.Conductor) error {
	_, err := c.UpdateNode(ctx, scheduleNode, func(n *conductor.Node) error { n.Maintenance = true; return nil })
	return err
}

func deleteNode(ctx context.Context, c *conductor.Conductor) error {
	return c.DeleteNode(ctx, scheduleNode)
}

func resume(ctx context.Context, c *conductor.Conductor) error {
	return c.Resume(ctx, scheduleNode, nil)
}

func powerOn(ctx context.Context, c *conductor.Conductor) error {
	return c.SetPower(ctx, scheduleNode, states.PowerOn, 0)
}

func allocate(ctx context.Context, c *conductor.Conductor) error {
	_, err := c.CreateObject(ctx, &conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: allocationID}, ResourceClass: "big"})
	return err
}

func scenarioNames() (names []string) {
	for _, sc := range scenarios {
		names = append(names, sc.name)
	}
	return names
}

// within returns the scenario with a name, within bounds.
func within(name string, conductors, faults int) scenario {
	for _, sc := range scenarios {
		if sc.name == name {
			sc.conductors, sc.faults = conductors, faults
			sc.restarts = sc.restarts || conductors == 1
			return sc
		}
	}
	panic("no scenario " + name)
}

// assumptions are what the conductors rely on and a schedule breaks.
type assumptions struct {
	unchecked bool // the store replaces a record, whatever version the writer has read
	past      bool // the store may return the first version of a record, as a fault
	undurable bool // the store may answer a write that it then loses, as a fault
	forgetful bool // a watch may leave the next change out, as a fault
	deletions bool // and it may be a deletion: only the deleted nodes in the indexes are looked at
	believes  bool // a member believes in its lease after its end, until the membership tells it
	impatient bool // the membership says of living members that they are not alive
	unfenced  bool // the hardware type does not ask for the permission of each request
}

// broken are the assumptions by the names that files of schedules have.
var broken = map[string]assumptions{
	"none": {}, "a store that does not check versions": {unchecked: true}, "a store that returns the past": {past: true},
	"a store that loses writes": {undurable: true}, "a watch that leaves changes out": {forgetful: true},
	"a watch that leaves a deletion out":        {forgetful: true, deletions: true},
	"a lease that ends before its holder knows": {believes: true}, "a membership that takes the living for dead": {impatient: true},
	"hardware without a fence": {unfenced: true},
}
