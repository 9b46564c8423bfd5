// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// recovery kills and restarts the conductor with nodes in every state, with every target, with and without a
// reservation of the conductor, and with one whose power is being changed. It compares the nodes after the restart with
// [machine.Node.Orphaned], and the histories of the reserved ones with the histories in ironstate's conductor.
func (c *Comparison) recovery(ctx context.Context, i *Ironic) {
	nodes := make(map[string]lostNode)
	lost := i.lostNodes()
	lost = append(lost, lostNode{Node: i.inState(states.Manageable), power: states.PowerOff})
	for _, n := range lost {
		for _, n.holder = range []string{"", HostName} {
			nodes[i.nodeIn(ctx, n.Node, n.columns())] = n
		}
	}
	try.OK(i.Restart(ctx))
	s := startScripted(ctx, i.Series)
	defer s.Close()
	for _, uuid := range slices.Sorted(maps.Keys(nodes)) {
		shown, answer := i.Client.Show(ctx, i.newest(), uuid)
		answer.want(http.StatusOK, "node %s after a restart", uuid)
		n := nodes[uuid]
		got := n.Node
		if lastError, ok := got.Orphaned(i.table()); ok {
			got = try.Get(got.Report(i.table(), states.EventFail, lastError))
		}
		if n.power == states.NoPower {
			c.compare(describeNode(shown.Node), describeNode(got), "%v", n)
		}
		if n.holder != "" {
			c.compareLost(ctx, i, s, uuid, n)
		}
	}
}

// takeOver compares nodes with work that Ironic fails when another conductor has died with the same nodes of
// ironstate. The states in which only ironstate fails a node are left out.
func (c *Comparison) takeOver(ctx context.Context, i *Ironic) {
	const dead = "dead"
	i.database.ask(map[string]any{"dead": dead}, "add a conductor")
	s := startScripted(ctx, i.Series)
	defer s.Close()
	for _, n := range []lostNode{
		{Node: i.inState(states.Deploying)},
		{Node: i.inState(states.Cleaning)},
		{Node: i.inState(states.Manageable), power: states.PowerOff},
		{Node: i.inState(states.CleanWait)},
	} {
		n.holder = dead
		uuid := i.nodeIn(ctx, n.Node, n.columns())
		want := await(ctx, 10*time.Millisecond, func() (row, bool) {
			r := i.database.read(uuid)
			return r, r.Reservation == "" && r.TargetPower == states.NoPower && !i.table().Stuck().Has(r.State)
		})
		c.compareLost(ctx, i, s, uuid, n)
		got, _ := s.Client.Show(ctx, i.newest(), uuid)
		describe := func(n machine.Node, maintenance bool, fault string) string {
			return fmt.Sprintf("%s, maintenance %v, fault %q", describeNode(n), maintenance, fault)
		}
		c.compare(describe(want.Node, want.Maintenance != 0, want.Fault), describe(got.Node, got.Maintenance, got.Fault), "%v", n)
	}
}

// compareLost gives ironstate the node as its holder left it, and compares the histories once the node is at rest.
func (c *Comparison) compareLost(ctx context.Context, i *Ironic, s *scripted, uuid string, n lostNode) {
	s.lose(ctx, uuid, n)
	s.settle(ctx, uuid)
	c.add((&life{ironic: i, service: s, uuid: uuid}).compareHistories(ctx, n.String()), 1)
}

// A lostNode is a node whose conductor has died.
type lostNode struct {
	machine.Node
	holder string       // of the reservation; empty for none
	power  states.Power // that was requested
}

func (n lostNode) String() string {
	text := fmt.Sprintf("%v to %v", n.State, n.Target)
	if n.power != states.NoPower {
		text += fmt.Sprintf(", %v requested", n.power)
	}
	return text
}

func (n lostNode) columns() columns {
	set := columns{"reservation": nil}
	if n.holder != "" {
		set["reservation"] = n.holder
	}
	if n.power != states.NoPower {
		set["target_power_state"] = n.power
	}
	return set
}

// lostNodes returns a node in every state with its default target and, if the state is
// not stable, with every other target.
func (i *Ironic) lostNodes() []lostNode {
	table := i.table()
	var nodes []lostNode
	for state := range table.States().All() {
		nodes = append(nodes, lostNode{Node: i.inState(state)})
		if table.Stable().Has(state) {
			continue
		}
		for target := range table.Stable().All() {
			if target != table.Target(state) {
				nodes = append(nodes, lostNode{Node: machine.Node{State: state, Target: target}})
			}
		}
	}
	return nodes
}
