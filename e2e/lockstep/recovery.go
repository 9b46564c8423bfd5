// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

const recoveryName = "conductor: nodes after its death"

// compareRecovery kills and restarts the conductor with nodes in every state, with every
// target, with and without a reservation of the conductor. It compares the nodes after
// the restart with [machine.Node.Orphaned].
func compareRecovery(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: recoveryName}
	nodes := make(map[string]machine.Node)
	for _, at := range i.lostNodes() {
		for _, holder := range []any{nil, HostName} {
			uuid, err := i.nodeIn(ctx, at, columns{"reservation": holder})
			if err != nil {
				return c, err
			}
			nodes[uuid] = at
		}
	}
	if err := i.Restart(ctx); err != nil {
		return c, err
	}
	for _, uuid := range slices.Sorted(maps.Keys(nodes)) {
		shown, answer, err := i.Client.Show(ctx, i.newest(), uuid)
		if err != nil {
			return c, err
		}
		if answer.Status != http.StatusOK {
			return c, fmt.Errorf("lockstep: node %s after a restart: %s", uuid, answer.Fault)
		}
		got := nodes[uuid]
		if lastError, ok := got.Orphaned(i.table()); ok {
			if got, err = got.Report(i.table(), states.EventFail, lastError); err != nil {
				return c, err
			}
		}
		c.compare(describeNode(shown.Node), describeNode(got), "%v to %v", nodes[uuid].State, nodes[uuid].Target)
	}
	return c, nil
}

// lostNodes returns a node in every state with its default target and, if the state is
// not stable, with every other target.
func (i *Ironic) lostNodes() []machine.Node {
	table := i.table()
	var nodes []machine.Node
	for state := range table.States().All() {
		nodes = append(nodes, i.inState(state))
		if table.Stable().Has(state) {
			continue
		}
		for target := range table.Stable().All() {
			if target != table.Target(state) {
				nodes = append(nodes, machine.Node{State: state, Target: target})
			}
		}
	}
	return nodes
}
