// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"errors"
	"time"

	"github.com/ironstate/ironstate/states"
)

// rulebook decides by the configuration and by the descriptions of the hardware types what happens to a node's record.
// Its methods do no I/O: they get the time and the answers of hardware types from their callers.
type rulebook struct {
	config *Config
	types  *descriptions
}

// result is the result of the work in one state: the event to report, the error if the event is
// fail, and a further change of the node's record, nil for none.
type result struct {
	event states.Event
	err   error
	edit  func(*Node)
	// always says that edit is made even if the result cannot be stored and the work fails for that.
	always bool
	// stepsDone says that the work had steps, and that all of them have ended.
	stepsDone bool
}

// end applies the result of the work in the node's state to the record. ramdisk is what [engine.bootsRamdisk] has
// returned, for a failure.
func (b *rulebook) end(n *Node, r result, ramdisk bool, at time.Time) error {
	kind := kindOf(n.ProvisionState)
	if r.event == states.EventFail {
		aborted := errors.As(r.err, new(*abortError))
		if aborted {
			kind.edit(n).Current = nil // fail then sets no fault: an abort is not a fault
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
	if r.edit != nil {
		r.edit(n)
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
	ramdisk bool // the work boots the agent, see [engine.bootsRamdisk]
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
		steps := kind.edit(n)
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
