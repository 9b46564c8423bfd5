// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

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

// cleanUp returns what has to be done on a node's machine if the work of the node's state fails or is aborted, nil for
// nothing. use is what [engine.bootsRamdisk] has returned. A machine stays on after a failed step of a cleaning or
// a service, which may be a firmware update, and after an aborted deployment, for an investigation.
//
// Source: the error handlers of ironic/conductor/utils.py, the functions do_node_clean_abort of cleaning.py,
// do_node_deploy_abort of deployments.py and do_node_service_abort of servicing.py, and tear_down_inband_cleaning in
// ironic/drivers/modules/deploy_utils.py.
func (b *rulebook) cleanUp(n *Node, use ramdiskUse, aborted bool) *CleanUp {
	kind := kindOf(n.ProvisionState)
	ramdisk := kind.bootsRamdisk(n, use)
	inStep := !aborted && kind.end.fault != "" && kind.of(n).Current != nil
	c := CleanUp{PowerOff: ramdisk && !inStep, Ramdisk: ramdisk}
	c.Instance = c.PowerOff && kind.end.bootsInstance
	if kind.end.after != nil {
		kind.end.after(b, n, &c, aborted)
	}
	if c == (CleanUp{}) {
		return nil
	}
	return &c
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
