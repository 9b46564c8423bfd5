// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Task gives a [Step] access to its node. The step's context is the task's permission to access the
// hardware, see [Permit]. A Task is safe for concurrent use.
type Task struct {
	engine   *engine
	hardware Hardware
	step     Step
	record   *reservedRecord
	work     *Node // as the work of its state began
}

// Node returns the node as of the task's last write. Do not change it.
func (t *Task) Node() *Node { return t.record.get() }

// Ports returns the ports of the task's node.
func (t *Task) Ports(ctx context.Context) ([]*Port, error) {
	return t.engine.fleet.portsOf(ctx, t.Node().UUID)
}

// portsOf returns the ports of a node, not nil.
func (f *fleet) portsOf(ctx context.Context, node string) ([]*Port, error) {
	return typed[*Port](f.listOf(ctx, KindPort, node))
}

// Series returns the series of Ironic whose behaviour the conductor has.
func (t *Task) Series() states.Series { return t.engine.config.Table.Series() }

// Step returns the step that is running, with its arguments.
func (t *Task) Step() Step { return t.step }

// SetPower sets the power state of the task's node, waits until the machine has it, and stores it. A
// machine that has it already is not set. A reboot cannot be observed: it is done when the machine is
// on. The wait is bounded by the timeouts of [Config.Power]. Before a power off or a reboot the node's
// record forgets the agent, which ends with it, also if the machine is off already.
//
// Source: node_power_action in ironic/conductor/utils.py.
func (t *Task) SetPower(ctx context.Context, power states.Power) error {
	if err := t.reachPower(ctx, power, 0); err != nil {
		return err
	}
	// The machine has the power state already, and a record without it would be taken for the machine's defect.
	return t.record.persist(ctx, checked(t.work, func(n *Node) error { n.powered(power.Target()); return nil }))
}

// errStale is the error of a Task whose work has ended or waits. Its node may be at work again: a hardware type that
// returns the error from another step has failed.
var errStale = errors.New("the work of this task has ended")

// Update changes the node's record. It calls change with a clone of the node, and again with a new
// clone if another writer has changed the record meanwhile. If the store does not answer, Update tries again for up to
// a minute. It returns an error of change unchanged. Any other error means that the record could not be changed; the
// step should return it. It matches [Invalid] if change changes what the conductor alone writes, as in
// [Conductor.UpdateNode]. Once the work has ended or waits, Update changes nothing, also while the work of the next
// state runs: that has a task of its own.
func (t *Task) Update(ctx context.Context, change func(*Node) error) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.record.retry(ctx, ctx, &doubts{}, checked(t.work, change))
}

// updateTimeout bounds the attempts of [Task.Update]. An election among the servers of a store takes seconds.
const updateTimeout = time.Minute

// checked returns a change of a step that fails if the step's work has ended, or if it changes what the conductor alone
// writes. work is the node as the work began.
func checked(work *Node, change func(*Node) error) func(*Node) error {
	return func(n *Node) error {
		if n.Claim == "" || !n.isAtWorkOf(work) {
			return errStale
		}
		before := n.Clone()
		if err := change(n); err != nil {
			return err
		}
		n.Revision, n.CreatedAt, n.ProvisionUpdatedAt = before.Revision, before.CreatedAt, before.ProvisionUpdatedAt
		return checkOwn(before, n)
	}
}
