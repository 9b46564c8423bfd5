// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/agentwork"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

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

// result is the result of the work in one state: the event to report, the error if the event is
// fail, and a further change of the node's record, nil for none.
type result struct {
	event  states.Event
	err    error
	change func(*Node)
	// always says that the change is made even if the result cannot be stored and the work fails for that.
	always bool
	// stepsDone says that the work had steps, and that all of them have ended.
	stepsDone bool
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
// result that no store can have.
func (e result) storedAs(failure error) result {
	if !unstorable(failure) {
		return e
	}
	if e.event != states.EventFail && !e.always {
		e.change = nil
	}
	return result{event: states.EventFail, err: failure, change: e.change, always: e.always}
}

// failedWith returns the result of work that failed with an error.
func failedWith(err error) result { return result{event: states.EventFail, err: err} }

// end applies the result of the work in the node's state to the record. ramdisk is what [engine.bootsRamdisk] has
// returned, for a failure.
func (b *rulebook) end(n *Node, r result, ramdisk ramdiskUse, at time.Time) error {
	kind := kindOf(n.ProvisionState)
	if r.event == states.EventFail {
		aborted := errors.As(r.err, new(*abortError))
		if aborted {
			kind.ensureSteps(n).Current = nil // fail then sets no fault: an abort is not a fault
		}
		if err := b.fail(n, workFailure{text: r.err.Error(), aborted: aborted, ramdisk: ramdisk}, at); err != nil {
			return err
		}
		if aborted {
			kind.forget(n)
		}
	} else {
		moved, err := n.machine().Report(b.config.Table, r.event, "")
		if err != nil {
			return err
		}
		if r.event != states.EventWait && r.event != states.EventHold {
			kind.forget(n)
			if !b.keepsAgent(n, at) {
				n.forgetAgent()
			}
		}
		b.move(n, r.event, moved, at)
		if r.event == states.EventDone && kind.end.done != nil {
			kind.end.done(b, n)
		}
	}
	if r.change != nil {
		r.change(n)
	}
	if !n.hasWork() {
		n.drop()
	}
	return nil
}

// workFailure is how the work of a node has failed.
type workFailure struct {
	text    string
	aborted bool // by request
	noFault bool // the node gets no fault and no maintenance also if a step has failed
	ramdisk ramdiskUse
}

// fail applies the failure of the work in the node's state to the record. If a step of a cleaning
// or a service has failed, fail puts the node into maintenance.
//
// Source: the error handlers of ironic/conductor/utils.py.
func (b *rulebook) fail(n *Node, f workFailure, at time.Time) error {
	from := n.ProvisionState
	moved, err := n.machine().Report(b.config.Table, states.EventFail, f.text)
	if err != nil {
		return err
	}
	kind := kindOf(from)
	n.CleanUp = b.cleanUp(n, f.ramdisk, f.aborted)
	if !f.noFault && kind.end.fault != "" && kind.of(n).Current != nil {
		n.Maintenance, n.Fault = true, kind.end.fault
		n.MaintenanceReason = cmp.Or(n.MaintenanceReason, moved.LastError)
	}
	if kind.steps.kept {
		steps := kind.ensureSteps(n)
		steps.Current, steps.Begun, steps.AbortAfter = nil, 0, false
	} else {
		kind.forget(n)
	}
	if kind.end.failed != nil {
		kind.end.failed(n)
	}
	n.forgetAgent()
	b.move(n, states.EventFail, moved, at)
	return nil
}

// callBack continues or fails the work of a node that waits, see [Conductor.Resume]. ramdisk is what
// [engine.bootsRamdisk] has returned, for a failure.
func (b *rulebook) callBack(n *Node, failure error, ramdisk ramdiskUse, at time.Time) error {
	if failure != nil {
		return b.fail(n, workFailure{text: failure.Error(), ramdisk: ramdisk}, at)
	}
	if _, ok := b.config.Table.Next(n.ProvisionState, states.EventResume); ok {
		return b.resume(n, at)
	}
	return b.end(n, result{event: states.EventDone}, noRamdisk, at)
}

// resume continues the work of a node that waits.
func (b *rulebook) resume(n *Node, at time.Time) error {
	moved, err := n.machine().Report(b.config.Table, states.EventResume, "")
	if err != nil {
		return err
	}
	b.move(n, states.EventResume, moved, at)
	return nil
}

// answered continues the work of a node that waits as its agent's answer says.
func (b *rulebook) answered(n *Node, outcome agentwork.Outcome, at time.Time) error {
	kind := kindOf(n.ProvisionState)
	switch outcome {
	case agentwork.Unchanged:
		return nil
	case agentwork.Repeat:
		steps := kind.ensureSteps(n)
		steps.Begun, steps.Sent = max(steps.Begun-1, 0), false
	case agentwork.Restart:
		steps := kind.ensureSteps(n)
		steps.Planned, steps.Begun, steps.Current, steps.Sent, steps.Prepared = nil, 0, nil, false, true
	case agentwork.Rescued:
		n.forgetRescue()
	}
	return b.resume(n, at)
}

// move stores the result of an event in the node, with its transitions and the time.
//
// Source: ironic/db/sqlalchemy/api.py, for the times.
func (b *rulebook) move(n *Node, event states.Event, to machine.Node, at time.Time) {
	from := n.ProvisionState
	if from != to.State {
		n.ProvisionUpdatedAt = &at
		if kind := &works[cmp.Or(to.State.Work(), from.Work())]; kind.moved != nil {
			kind.moved(n, from, to.State, at)
		}
	}
	rows := rowsOf(b.config.Table, from, event, to.State)
	for i, row := range rows {
		t := TransitionRecord{Time: at, Event: row.Event, From: row.From, To: row.To, LastError: excerpt(to.LastError)}
		if i == len(rows)-1 {
			t.Target = to.Target
		}
		n.Transitions = append(n.Transitions, t)
	}
	if over := len(n.Transitions) - max(b.config.MaxTransitions, len(rows)); over > 0 {
		n.Transitions = n.Transitions[over:]
	}
	n.ProvisionState, n.TargetProvisionState, n.LastError = to.State, to.Target, to.LastError
	n.beginSteps(from)
}

// restoreConsole switches off the console of an adopted node whose console interface cannot start it.
//
// Source: _do_takeover in ironic/conductor/manager.py.
func (b *rulebook) restoreConsole(n *Node) {
	if n.ConsoleEnabled && b.types.description(n).lacks(n, "console") {
		n.ConsoleEnabled = false
		n.LastError = fmt.Sprintf("Failed to start console while taking over the node %s: %v.", n.UUID, unsupported(n, "console"))
	}
}

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
