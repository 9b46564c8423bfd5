// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func (i *Ironic) nextWith(from states.State, goal plan.Goal, fields plan.NodeFields) plan.Step {
	policy := plan.Policy{MayDestroy: true, Retries: 1}
	desired := plan.Desired{Goal: goal, Version: i.newest(), Policy: policy, Fields: fields}
	return try.Get(plan.Next(i.table(), machine.Node{State: from}, desired))
}

// cleaning provides a node whose cleaning would fail, with automated cleaning on
// and off. With it off the node becomes available without cleaning.
func (c *Comparison) cleaning(ctx context.Context, i *Ironic) {
	s := startScripted(ctx, i.Series)
	defer s.Close()
	for _, off := range []bool{false, true} {
		c.add(i.provideWith(ctx, s, off), 1)
	}
}

// provideWith provides a node with automated cleaning on or off, whose cleaning would fail.
func (i *Ironic) provideWith(ctx context.Context, s *scripted, off bool) *Difference {
	l := i.beginLife(ctx, s, states.Manageable)
	l.setAutomatedClean(ctx, !off)
	outcome := Fail
	if i.nextWith(states.Manageable, plan.In(states.Available), plan.NodeFields{NoAutomatedClean: off}).Work == states.NoWork {
		outcome = Done
	}
	l.setOutcome(ctx, Fail)
	l.requestAll(ctx, "provide")
	try.OK(l.work(ctx, outcome))
	return l.settle(ctx, fmt.Sprintf("provide with automated cleaning off: %v", off))
}

// setAutomatedClean sets the node's automated_clean in both systems.
func (l *life) setAutomatedClean(ctx context.Context, on bool) {
	l.ironic.database.write(l.uuid, columns{"automated_clean": on})
	l.service.update(ctx, l.uuid, func(n *conductor.Node) { n.AutomatedClean = &on })
}

// requestAll requests a provision state of Ironic, of ironstate and of the machine.
func (l *life) requestAll(ctx context.Context, word string) {
	v := l.ironic.newest()
	l.ironic.request(ctx, v, l.uuid, word)
	l.service.Client.Provision(ctx, v, l.uuid, l.ironic.bodyFor(word))
	try.OK(l.machine.Request(ctx, word, v))
}

// updates updates the record of a node in every state, with and without maintenance, and compares the answers
// with [states.Table.CanUpdate].
func (c *Comparison) updates(ctx context.Context, i *Ironic) {
	uuid := i.newNode(ctx)
	for state := range i.table().States().All() {
		at := i.inState(state)
		for _, maintenance := range []bool{false, true} {
			set := columnsOf(at)
			set["maintenance"] = maintenance
			i.database.write(uuid, set)
			for _, v := range []states.APIVersion{1, 38, 39, i.newest()} {
				answer := i.Client.Patch(ctx, v, uuid, "/extra/note", "text")
				c.compare(answer.Status == http.StatusOK, i.table().CanUpdate(at.State, at.Target, v), "%v is updated at %v", state, v)
			}
		}
	}
}
