// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// compareFields sends each request for a node with each fact, and compares whether the API accepts the request with
// whether [plan.Next] sends it. A plan destroys no workload if a later request is refused, which the API does not know.
func compareFields(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: what else decides about a request: maintenance, protected, retired, reserved, cleaning"}
	for _, r := range scenarios.Requests {
		for _, f := range scenarios.Facts {
			uuid, err := i.nodeIn(ctx, i.inState(r.From), f.Set)
			if err != nil {
				return c, err
			}
			answer, err := i.Client.Provision(ctx, i.newest(), uuid, i.bodyFor(r.Verb))
			if err != nil {
				return c, err
			}
			step, err := i.nextWith(r.From, r.Goal, f.Fields)
			if err != nil {
				return c, err
			}
			if step.Verb != r.Verb && step.Action == plan.Blocked {
				continue // a request that the API accepts, but a later one of the plan would be refused
			}
			if step.Verb != r.Verb {
				return c, fmt.Errorf("lockstep: the plan for %v in %v has %q, not %q", r.Goal, r.From, step.Verb, r.Verb)
			}
			c.compare(answer.Status == http.StatusAccepted, step.Action == plan.Send, "%s in %v with %s is sent", r.Verb, r.From, f.Name)
		}
	}
	if err := c.compareDeletion(ctx, i); err != nil {
		return c, err
	}
	return c, c.compareCleaning(ctx, i)
}

// compareDeletion deletes the record of a manageable node that has an instance, is
// protected, or neither, with and without maintenance. It compares the API's answer with
// whether [plan.Next] considers the node deletable.
func (c *Comparison) compareDeletion(ctx context.Context, i *Ironic) error {
	for _, maintenance := range []bool{false, true} {
		for _, f := range []struct {
			set    columns
			fields plan.NodeFields
		}{
			{columns{}, plan.NodeFields{}},
			{columns{"instance_uuid": instanceUUID}, plan.NodeFields{Associated: true}},
			{columns{"protected": 1}, plan.NodeFields{Protected: true}},
		} {
			f.set["maintenance"], f.fields.Maintenance = maintenance, maintenance
			uuid, err := i.nodeIn(ctx, i.inState(states.Manageable), f.set)
			if err != nil {
				return err
			}
			answer, err := i.Client.Delete(ctx, i.newest(), uuid)
			if err != nil {
				return err
			}
			step, err := i.nextWith(states.Manageable, plan.Deletable, f.fields)
			if err != nil {
				return err
			}
			c.compare(answer.Status == http.StatusNoContent, step.Action == plan.Done, "a node with %+v is deleted", f.fields)
			if answer.Status != http.StatusNoContent { // frees the instance for the next node
				if _, err := i.database.write(uuid, columnsOf(i.inState(states.Manageable))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (i *Ironic) nextWith(from states.State, goal plan.Goal, fields plan.NodeFields) (plan.Step, error) {
	policy := plan.Policy{MayDestroy: true, Retries: 1}
	desired := plan.Desired{Goal: goal, Version: i.newest(), Policy: policy, Fields: fields}
	return plan.Next(i.table(), machine.Node{State: from}, desired)
}

// compareCleaning provides a node whose cleaning would fail, with automated cleaning on
// and off. With it off the node becomes available without cleaning.
func (c *Comparison) compareCleaning(ctx context.Context, i *Ironic) error {
	s, err := startScripted(ctx, i.Series)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, off := range []bool{false, true} {
		found, err := i.provideWith(ctx, s, off)
		if err != nil {
			return err
		}
		c.Compared++
		if found != nil {
			c.Differences = append(c.Differences, *found)
		}
	}
	return nil
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

// compareRecords updates and deletes the record of a node in every state, and compares
// the answers with [states.Table.CanUpdate] and [admission.Rules.Delete].
func compareRecords(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: updating and deleting the record in every state"}
	table := i.table()
	for state := range table.States().All() {
		for _, maintenance := range []bool{false, true} {
			at := i.inState(state)
			uuid, err := i.nodeIn(ctx, at, columns{"maintenance": maintenance})
			if err != nil {
				return c, err
			}
			for _, v := range []states.APIVersion{1, 38, 39, i.newest()} {
				answer, err := i.Client.Patch(ctx, v, uuid, "/extra/note", "text")
				if err != nil {
					return c, err
				}
				c.compare(answer.Status == http.StatusOK, table.CanUpdate(at.State, at.Target, v), "%v is updated at %v", state, v)
			}
			answer, err := i.Client.Delete(ctx, i.newest(), uuid)
			if err != nil {
				return c, err
			}
			refusal := admission.Rules{Table: table}.Delete(admission.NodeFields{State: state, Maintenance: maintenance})
			c.compare(answer.Status == http.StatusNoContent, refusal == nil,
				"%v is deleted, in maintenance: %v", state, maintenance)
		}
	}
	return c, nil
}
