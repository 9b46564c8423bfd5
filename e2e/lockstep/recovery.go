// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

const recoveryName = "conductor: nodes after its death"

// compareRecovery kills and restarts the conductor with nodes in every state, with every target, with and without a
// reservation of the conductor, and with one whose power is being changed. It compares the nodes after the restart with
// [machine.Node.Orphaned], and the histories of the reserved ones with the histories in ironstate's conductor.
func compareRecovery(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: recoveryName}
	nodes := make(map[string]lostNode)
	lost := i.lostNodes()
	lost = append(lost, lostNode{Node: i.inState(states.Manageable), power: states.PowerOff})
	for _, n := range lost {
		for _, n.holder = range []string{"", HostName} {
			uuid, err := i.nodeIn(ctx, n.Node, n.columns())
			if err != nil {
				return c, err
			}
			nodes[uuid] = n
		}
	}
	if err := i.Restart(ctx); err != nil {
		return c, err
	}
	s, err := startScripted(ctx, i.Series)
	if err != nil {
		return c, err
	}
	defer s.Close()
	for _, uuid := range slices.Sorted(maps.Keys(nodes)) {
		shown, answer, err := i.Client.Show(ctx, i.newest(), uuid)
		if err != nil {
			return c, err
		}
		if answer.Status != http.StatusOK {
			return c, fmt.Errorf("lockstep: node %s after a restart: %s", uuid, answer.Fault)
		}
		n := nodes[uuid]
		got := n.Node
		if lastError, ok := got.Orphaned(i.table()); ok {
			if got, err = got.Report(i.table(), states.EventFail, lastError); err != nil {
				return c, err
			}
		}
		if n.power == states.NoPower {
			c.compare(describeNode(shown.Node), describeNode(got), "%v", n)
		}
		if n.holder != "" {
			if err := c.compareLost(ctx, i, s, uuid, n); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// compareTakeOver compares nodes with work that Ironic fails when another conductor has died with the same nodes of
// ironstate. The states in which only ironstate fails a node are left out.
func compareTakeOver(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "conductor: nodes of another conductor after its death"}
	const dead = "dead"
	if err := i.database.addConductor(dead); err != nil {
		return c, err
	}
	s, err := startScripted(ctx, i.Series)
	if err != nil {
		return c, err
	}
	defer s.Close()
	for _, n := range []lostNode{
		{Node: i.inState(states.Deploying)},
		{Node: i.inState(states.Cleaning)},
		{Node: i.inState(states.Manageable), power: states.PowerOff},
		{Node: i.inState(states.CleanWait)},
	} {
		n.holder = dead
		uuid, err := i.nodeIn(ctx, n.Node, n.columns())
		if err != nil {
			return c, err
		}
		want, err := sleep.Until(ctx, 10*time.Millisecond, func() (row, bool, error) {
			r, err := i.database.read(uuid)
			return r, r.Reservation == "" && r.TargetPower == states.NoPower && !i.table().Stuck().Has(r.State), err
		})
		if err != nil {
			return c, err
		}
		if err := c.compareLost(ctx, i, s, uuid, n); err != nil {
			return c, err
		}
		got, _, err := s.Client.Show(ctx, i.newest(), uuid)
		if err != nil {
			return c, err
		}
		describe := func(n machine.Node, maintenance bool, fault string) string {
			return fmt.Sprintf("%s, maintenance %v, fault %q", describeNode(n), maintenance, fault)
		}
		c.compare(describe(want.Node, want.Maintenance != 0, want.Fault), describe(got.Node, got.Maintenance, got.Fault), "%v", n)
	}
	return c, nil
}

// compareLost gives ironstate the node as its holder left it, and compares the histories once the node is at rest.
func (c *Comparison) compareLost(ctx context.Context, i *Ironic, s *scripted, uuid string, n lostNode) error {
	if err := s.lose(ctx, uuid, n); err != nil {
		return err
	}
	if _, err := s.settle(ctx, uuid); err != nil {
		return err
	}
	c.Compared++
	found, err := (&life{ironic: i, service: s, uuid: uuid}).compareHistories(ctx, n.String())
	if found != nil {
		c.Differences = append(c.Differences, *found)
	}
	return err
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
