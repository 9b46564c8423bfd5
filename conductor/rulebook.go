// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"

	"github.com/ironstate/ironstate/states"
)

// rulebook decides by the configuration and by the hardware types what happens to a node's record. Its methods do no
// I/O.
type rulebook struct {
	config *Config
	types  *hardwareTypes
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

// end applies the result of the work in the node's state to the record.
func (b *rulebook) end(ctx context.Context, n *Node, e result) error {
	if e.event == states.EventFail {
		kind := kindOf(n.ProvisionState)
		aborted := kind.steps.in != nil && errors.As(e.err, new(*abortError))
		if aborted {
			kind.edit(n).Current = nil // fail then sets no fault: an abort is not a fault
		}
		if err := b.failed(ctx, n, e.err.Error(), aborted, true); err != nil {
			return err
		}
		if aborted {
			kind.forget(n)
		}
	} else {
		moved, err := n.machine().Report(b.config.Table, e.event, "")
		if err != nil {
			return err
		}
		if e.event != states.EventWait && e.event != states.EventHold {
			if kind := kindOf(n.ProvisionState); kind.steps.in != nil && *kind.steps.in(n) != nil {
				kind.forget(n)
			}
			if !b.keepsAgent(n) {
				n.forgetAgent()
			}
		}
		b.move(n, e.event, moved)
	}
	if e.edit != nil {
		e.edit(n)
	}
	if !n.hasWork() {
		n.drop()
	}
	return nil
}

// fail applies the failure of the work in the node's state to the record. If a step of a cleaning
// or a service has failed, fail puts the node into maintenance.
//
// Source: the error handlers of ironic/conductor/utils.py.
func (b *rulebook) fail(ctx context.Context, n *Node, text string) error {
	return b.failed(ctx, n, text, false, true)
}

// failed is fail for work that may have been aborted by request, and that may leave the node without its fault.
func (b *rulebook) failed(ctx context.Context, n *Node, text string, aborted, faults bool) error {
	from := n.ProvisionState
	moved, err := n.machine().Report(b.config.Table, states.EventFail, text)
	if err != nil {
		return err
	}
	kind := kindOf(from)
	n.CleanUp = b.cleanUp(ctx, n, aborted)
	if kind.steps.in != nil {
		if faults && kind.end.fault != "" && kind.of(n).Current != nil {
			n.Maintenance, n.Fault = true, kind.end.fault
			if n.MaintenanceReason == "" {
				n.MaintenanceReason = moved.LastError
			}
		}
		switch steps := *kind.steps.in(n); {
		case !kind.steps.kept:
			kind.forget(n)
		case steps != nil: // Ironic keeps the list of steps
			steps.Current, steps.Begun, steps.AbortAfter = nil, 0, false
		}
	}
	if kind.end.failed != nil {
		kind.end.failed(n)
	}
	n.forgetAgent()
	b.move(n, states.EventFail, moved)
	return nil
}
