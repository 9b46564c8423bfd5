// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// relatives are the parents and the children of a task's node, to which the work on the node extends.
type relatives struct{ of *Task }

// relative is the task of a parent or a child.
type relative struct{ *Task }

// errNoRelative is the error for a node that is no parent or child, or none that shares the power, any more: it was
// listed by an index.
var errNoRelative = errors.New("the nodes are not related any more")

// acquire reserves a relative for the work on the task's node, if it still is one. It retries while the relative is
// reserved. The caller must release it.
func (r relatives) acquire(ctx context.Context, id string, is func(*Node) bool) (acquired relative, err error) {
	e, by := r.of.engine, r.of.Node()
	err = e.fleet.retryLocked(ctx, func() error {
		switch n, err := e.fleet.node(ctx, id); {
		case errors.Is(err, NotFound):
			return errNoRelative
		case err != nil:
			return err
		case !is(n):
			return errNoRelative
		}
		if !e.pool.TryTake(id) { // rather than to wait for a worker that may wait for this one
			return refuse(Locked, "%s", lockedText(&Node{UUID: id}, e.config.Name))
		}
		_, n, err := e.fleet.edit(ctx, id, func(n *Node) error {
			if !is(n) {
				return errNoRelative
			}
			err := e.rules.unlocked(n)
			e.reserve(n, by.Claim)
			return err
		})
		if err != nil {
			e.pool.Free(id)
			return err
		}
		acquired = relative{e.task(n)}
		return nil
	})
	return acquired, err
}

// release drops the reservation of a relative, unless its work has dropped it.
func (r relative) release(ctx context.Context) {
	defer r.engine.pool.Free(r.Node().UUID)
	err := r.record.persist(ctx, func(n *Node) error {
		if n.Claim == "" {
			return errNothingToDo
		}
		n.release() // a target power state may still be set: a write had no response, or its end was not stored
		return nil
	})
	if err != nil && !errors.Is(err, errNothingToDo) {
		r.engine.config.Log.Warn("a reservation could not be dropped", "node", r.Node().UUID, "error", err)
	}
}

// childrenOf returns the children of a node.
func (f *fleet) childrenOf(ctx context.Context, id string) ([]*Node, error) {
	nodes, err := f.readNodes(ctx)
	if err != nil {
		return nil, err
	}
	return nodes.AllOf(id), nil
}

// sharesPower reports whether a child node gets its power from its parent.
func (n *Node) sharesPower() bool { return !pyrepr.Truthy(n.DriverInfo["has_dedicated_power_supply"]) }

// setPower prepares a power request to the task's node: its parent is powered on before the node is, and its
// children are powered off before the node is, unless the child has its own power supply. All of them are reserved
// before the first is set. The errors do not wrap an error of a relative, so that no caller takes it for
// one of the task's node; Locked is the exception. setPower reports whether the
// hardware of one of them was asked for a power state.
//
// Source: node_power_action, _handle_child_power_on and _handle_child_power_off in ironic/conductor/utils.py.
func (r relatives) setPower(ctx context.Context, target states.Power, timeout time.Duration) (asked bool, err error) {
	e, n := r.of.engine, r.of.Node()
	if r.of.Series() < states.Epoxy {
		return false, nil
	}
	var ids []string
	relation, is := "child_node", func(child *Node) bool { return child.ParentNode == n.UUID && child.sharesPower() }
	switch {
	case target == states.PowerOn && n.ParentNode != "" && n.sharesPower():
		ids, relation, is = []string{n.ParentNode}, "parent_node", func(*Node) bool { return true }
	case target == states.PowerOff:
		children, err := e.fleet.childrenOf(ctx, n.UUID)
		if err != nil {
			return false, err
		}
		for _, child := range children {
			if is(child) {
				ids = append(ids, child.UUID)
			}
		}
	}
	var acquired []relative
	defer func() {
		for _, relative := range acquired {
			relative.release(ctx)
		}
	}()
	for _, id := range ids {
		other, hardware, err := e.load(ctx, id)
		if relation == "child_node" && errors.Is(err, NotFound) { // deleted, as the index does not know yet
			continue
		}
		if err != nil {
			return false, fmt.Errorf("%s: %v", relation, err)
		}
		if !is(other) {
			continue
		}
		reading := e.readPower(ctx, hardware, other)
		if reading.Err != nil {
			return false, fmt.Errorf("%s %s: %v", relation, id, reading.Err)
		}
		if reading.Power == target {
			continue
		}
		relative, err := r.acquire(ctx, id, is)
		if errors.Is(err, errNoRelative) {
			continue
		}
		if errors.Is(err, Locked) {
			return false, refuse(Locked, "Node %s %s %s is presently locked and we are unable to perform any action on it at this time. "+
				"Please retry after the current operation is completed.", n.UUID, relation, id)
		}
		if err != nil {
			return false, fmt.Errorf("%s %s: %v", relation, id, err)
		}
		acquired = append(acquired, relative)
	}
	for _, relative := range acquired {
		if err := relative.follow(ctx, target, timeout); err != nil {
			return true, fmt.Errorf("%s %s: %v", relation, relative.Node().UUID, err)
		}
	}
	return len(acquired) > 0, nil
}

// follow carries out a power request that the power of a parent or a child requires.
func (r relative) follow(ctx context.Context, target states.Power, timeout time.Duration) error {
	if err := r.Node().permitsPower(target); err != nil {
		return err
	}
	err := r.record.update(ctx, &doubts{}, func(n *Node) error {
		at := now()
		n.TargetPower, n.PowerChangedAt = target, &at
		if !r.engine.config.Table.Failed().Has(n.ProvisionState) { // what has failed stays readable
			n.LastError = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.engine.finishPower(ctx, r.Task, target, timeout)
}

// runOnChildren runs the task's step on the child nodes of its node, one after the other, and not on the node itself. A
// step that waits has failed: no call-back of a child continues its parent.
//
// Ironic accepts such steps and removes them from the list before it runs.
//
// Source: execute_step_on_child_nodes in ironic/conductor/cleaning.py and servicing.py.
func runOnChildren(ctx context.Context, t *Task) error {
	step, n := t.Step(), t.Node()
	children, err := t.engine.fleet.childrenOf(ctx, n.UUID)
	if err != nil {
		return err
	}
	for _, id := range step.Children {
		if !slices.ContainsFunc(children, func(child *Node) bool { return child.UUID == id }) {
			return refuse(Invalid, "node %s is no child of node %s", id, n.UUID)
		}
	}
	for _, child := range children {
		if len(step.Children) > 0 && !slices.Contains(step.Children, child.UUID) {
			continue
		}
		err := (relatives{t}).runOnChild(ctx, child.UUID)
		if errors.Is(err, errNoRelative) && len(step.Children) == 0 {
			continue
		}
		if err != nil {
			return fmt.Errorf("child node %s: %v", child.UUID, err)
		}
	}
	return nil
}

// runOnChild runs the task's step on a child of its node.
func (r relatives) runOnChild(ctx context.Context, id string) error {
	t := r.of
	child, err := r.acquire(ctx, id, func(child *Node) bool { return child.ParentNode == t.Node().UUID })
	if err != nil {
		return err
	}
	defer child.release(ctx)
	rules, types := t.engine.rules, t.engine.types
	hardware, err := types.of(child.Node())
	if err != nil {
		return err
	}
	step := Step{Interface: t.step.Interface, Step: t.step.Step, Args: t.step.Args}
	available, err := types.stepsFor(ctx, hardware, child.Node(), t.Node().ProvisionState.Work())
	if err == nil {
		step, err = rules.runnable(step, available)
	}
	switch {
	case err != nil:
		return err
	case step.InBand || step.Run == nil && builtinSteps[step.Step]:
		return refuse(Invalid, "step %v is impossible on a child node, since it waits", step)
	}
	err = child.runStep(ctx, step)
	if errors.Is(err, ErrWait) {
		return refuse(Invalid, "While executing step %v on child node %s, step returned invalid value: it waits", step, id)
	}
	return err
}
