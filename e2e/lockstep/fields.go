// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func (i *Ironic) nextWith(from states.State, goal plan.Goal, fields plan.NodeFields) (plan.Step, error) {
	policy := plan.Policy{MayDestroy: true, Retries: 1}
	desired := plan.Desired{Goal: goal, Version: i.newest(), Policy: policy, Fields: fields}
	return plan.Next(i.table(), machine.Node{State: from}, desired)
}

// compareCleaning provides a node whose cleaning would fail, with automated cleaning on
// and off. With it off the node becomes available without cleaning.
func compareCleaning(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: providing a node with and without automated cleaning"}
	s, err := startScripted(ctx, i.Series)
	if err != nil {
		return c, err
	}
	defer s.Close()
	for _, off := range []bool{false, true} {
		found, err := i.provideWith(ctx, s, off)
		if err != nil {
			return c, err
		}
		c.Compared++
		if found != nil {
			c.Differences = append(c.Differences, *found)
		}
	}
	return c, nil
}

// provideWith provides a node with automated cleaning on or off, whose cleaning would fail.
func (i *Ironic) provideWith(ctx context.Context, s *scripted, off bool) (*Difference, error) {
	l, err := i.beginLife(ctx, s, states.Manageable)
	if err != nil {
		return nil, err
	}
	if err := l.setAutomatedClean(ctx, !off); err != nil {
		return nil, err
	}
	step, err := i.nextWith(states.Manageable, plan.In(states.Available), plan.NodeFields{NoAutomatedClean: off})
	if err != nil {
		return nil, err
	}
	outcome := Fail
	if step.Work == states.NoWork {
		outcome = Done
	}
	if err := l.setOutcome(ctx, Fail); err != nil {
		return nil, err
	}
	if err := l.requestAll(ctx, "provide"); err != nil {
		return nil, err
	}
	if err := l.work(ctx, outcome); err != nil {
		return nil, err
	}
	return l.settle(ctx, fmt.Sprintf("provide with automated cleaning off: %v", off))
}

// setAutomatedClean sets the node's automated_clean in both systems.
func (l *life) setAutomatedClean(ctx context.Context, on bool) error {
	if _, err := l.ironic.database.write(l.uuid, columns{"automated_clean": on}); err != nil {
		return err
	}
	_, err := l.service.conductor.UpdateNode(ctx, l.uuid, func(n *conductor.Node) error { n.AutomatedClean = &on; return nil })
	return err
}

// requestAll requests a provision state of Ironic, of ironstate and of the machine.
func (l *life) requestAll(ctx context.Context, word string) error {
	v := l.ironic.newest()
	if _, err := l.ironic.request(ctx, v, l.uuid, word); err != nil {
		return err
	}
	if _, err := l.service.Client.Provision(ctx, v, l.uuid, l.ironic.bodyFor(word)); err != nil {
		return err
	}
	return l.machine.Request(ctx, word, v)
}

// compareUpdates updates the record of a node in every state, with and without maintenance, and compares the answers
// with [states.Table.CanUpdate].
func compareUpdates(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: updating the record in every state"}
	uuid, err := i.newNode(ctx)
	if err != nil {
		return c, err
	}
	for state := range i.table().States().All() {
		at := i.inState(state)
		for _, maintenance := range []bool{false, true} {
			set := columnsOf(at)
			set["maintenance"] = maintenance
			if _, err := i.database.write(uuid, set); err != nil {
				return c, err
			}
			for _, v := range []states.APIVersion{1, 38, 39, i.newest()} {
				answer, err := i.Client.Patch(ctx, v, uuid, "/extra/note", "text")
				if err != nil {
					return c, err
				}
				c.compare(answer.Status == http.StatusOK, i.table().CanUpdate(at.State, at.Target, v), "%v is updated at %v", state, v)
			}
		}
	}
	return c, nil
}
