// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
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
// clone if another writer has changed the record meanwhile. It returns an error of change
// unchanged. Any other error means that the record could not be changed; the step should return it.
// It matches [Invalid] if change changes what the conductor alone writes, as in [Conductor.UpdateNode]. Once the
// work has ended or waits, Update changes nothing, also while the work of the next state runs: that has a task of its
// own.
func (t *Task) Update(ctx context.Context, change func(*Node) error) error {
	return t.record.update(ctx, &doubts{}, checked(t.work, change))
}

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

// run does the node's work, state after state, until the node reaches a state without work or is
// lost.
func (t *Task) run(ctx context.Context) {
	for {
		n := t.Node()
		t = &Task{engine: t.engine, hardware: t.hardware, record: t.record, work: n} // a step may have kept the last one
		if n.CleanUp != nil {
			if err := t.finishCleanUp(ctx); err != nil {
				t.engine.config.Log.Warn("the clean-up after a node's failed work was abandoned", "node", n.UUID, "error", err)
			}
			return
		}
		if !runsIn(n.ProvisionState) {
			return
		}
		var r result
		_ = t.engine.config.traced(ctx, Operation{n.ProvisionState.String(), n, n.Origin}, func(ctx context.Context) error {
			r = kindOf(n.ProvisionState).do(t, ctx)
			return r.err
		})
		if err := t.report(ctx, r); err != nil {
			t.engine.config.Log.Warn("the node's work was abandoned", "node", n.UUID, "error", err)
			return
		}
	}
}

const (
	// reportBackoff is the time between two attempts to store a report.
	reportBackoff = time.Second
	// reportTimeout bounds an attempt to store a report.
	reportTimeout = 10 * time.Second
)

// report stores the result of the work in the node's state. It retries until the store accepts the
// write, the node is lost or the conductor stops.
func (t *Task) report(ctx context.Context, e result) error {
	if t.record.lost(ctx) {
		return errLost
	}
	work := t.Node()
	failure, err := t.record.conclude(ctx, e.err, func(n *Node, failure error, ramdisk ramdiskUse) error {
		if !n.isAtWorkOf(work) {
			return errEnded
		}
		return t.engine.rules.end(n, e.storedAs(failure), ramdisk, now())
	})
	if err != nil && !errors.Is(err, errEnded) {
		return err
	}
	e = e.storedAs(failure)
	t.engine.history.ended(ctx, work, e)
	if e.event == states.EventFail {
		t.engine.history.failed(ctx, work, t.Node())
	}
	return nil
}

// errEnded prevents a second report of the same work: an earlier attempt, whose response was lost,
// has stored the result. The same result must not end the work that follows.
var errEnded = errors.New("the result of the work is already stored")

// isAtWorkOf reports whether a node has not left the provision state of an earlier record, nor entered it again.
func (n *Node) isAtWorkOf(earlier *Node) bool {
	return n.ProvisionState == earlier.ProvisionState && sameTime(n.ProvisionUpdatedAt, earlier.ProvisionUpdatedAt)
}

func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// storedAs returns the result that is stored by [reservedRecord.conclude] with a failure, which takes the place of a
// result that is too large for the store.
func (e result) storedAs(failure error) result {
	if !errors.Is(failure, ErrTooLarge) {
		return e
	}
	if e.event != states.EventFail && !e.always {
		e.change = nil
	}
	return result{event: states.EventFail, err: failure, change: e.change, always: e.always}
}

// failedWith returns the result of work that failed with an error.
func failedWith(err error) result { return result{event: states.EventFail, err: err} }

// verify validates the node's power interface, verifies its hardware and reads its power state. As
// in Ironic's code of every release, and unlike in the enroll specification, the management
// interface is not validated: nodes that Ironic verifies would fail.
//
// Source: ironic/conductor/verify.py.
func (t *Task) verify(ctx context.Context) result {
	n := t.Node()
	ctx, err := t.engine.fenced(ctx, n)
	if err != nil {
		return failedWith(err)
	}
	limited, cancel := context.WithTimeout(ctx, t.engine.config.VerifyTimeout)
	defer cancel()
	power, err := verify.Run(limited, n.label(), verify.Func(func(ctx context.Context) (power states.Power, err error) {
		if err := t.engine.types.validate(ctx, t.hardware, n)["power"]; err != nil {
			return states.NoPower, fmt.Errorf("power interface: %w", err)
		}
		err = t.engine.config.traced(ctx, Operation{Name: "verify", Node: n}, func(ctx context.Context) (err error) {
			power, err = callHardware(ctx, t.engine.types, n, "to verify the hardware", func(ctx context.Context) (states.Power, error) {
				return t.hardware.Verify(ctx, n)
			})
			return err
		})
		return power, err
	}))
	if err != nil && !(errors.Is(err, verify.ErrNoPower) && t.engine.types.description(n).Simulated) {
		return failedWith(err)
	}
	cache, _ := t.readCache(ctx, readMachine) // the credentials are right
	return result{event: states.EventDone, change: func(n *Node) {
		n.Power = power
		if cache != nil {
			cache(n)
		} else if _, reads := t.hardware.(CacheReader); !reads {
			n.BootMode, n.SecureBoot = "", nil // a client may have created the node with others
		}
	}}
}

// clean runs the steps of an automated or manual cleaning. If automated cleaning is off for the
// node, it reports done without a step.
//
// Source: ironic/conductor/cleaning.py.
func (t *Task) clean(ctx context.Context) result {
	n := t.Node()
	manual := !cleanSteps.automated(n)
	begins := !manual && !cleanSteps.of(n).begun()
	if begins {
		skip := t.engine.config.SkipAutomatedClean
		if n.AutomatedClean != nil {
			skip = !*n.AutomatedClean
		}
		if skip {
			// The steps of an earlier cleaning stay in the record, as in Ironic.
			return result{event: states.EventDone, change: func(edited *Node) { edited.CleanSteps = n.CleanSteps.clone() }}
		}
		if err := t.engine.rules.admission().Work(n.Fields()); err != nil {
			return failedWith(t.engine.rules.refused(n, err))
		}
	}
	if err := t.engine.types.validate(ctx, t.hardware, n)["power"]; err != nil {
		return failedWith(fmt.Errorf("validation of node %s for cleaning failed: %w", n.label(), err))
	}
	if begins {
		if err := t.takeRunbook(ctx); err != nil {
			return failedWith(err)
		}
	}
	e := t.doSteps(ctx)
	if e.event == states.EventDone && !manual && t.Node().Retired {
		e.event = states.EventManage
	}
	return e
}

// tearDown runs the steps of a tear-down, deletes the node's allocation, and clears the node's
// instance fields. The automated cleaning that follows is the work of another state.
func (t *Task) tearDown(ctx context.Context) result {
	allocation := t.Node().AllocationUUID
	e := t.doSteps(ctx)
	if t.record.lost(ctx) {
		return e // another process has taken the node over, or the node was deleted
	}
	if allocation != "" {
		if err := t.engine.fleet.discard(context.WithoutCancel(ctx), KindAllocation, allocation); err != nil {
			t.engine.config.Log.Warn("the allocation of a node was not deleted", "node", t.Node().UUID, "error", err)
		}
	}
	e.always, e.change = true, func(n *Node) {
		n.InstanceInfo, n.InstanceUUID, n.InstanceName, n.AllocationUUID = nil, "", "", ""
		n.DeploySteps = &Steps{Current: deploySteps.of(n).Current}
		n.Deployment = DeploymentInfo{}
		if pyrepr.Truthy(n.DriverInternalInfo[automaticLessee]) {
			n.Lessee = ""
			delete(n.DriverInternalInfo, automaticLessee)
		}
	}
	return e
}
