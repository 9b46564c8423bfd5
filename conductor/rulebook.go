// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"sync/atomic"

	"github.com/ironstate/ironstate/states"
)

// rulebook decides by the configuration and by the descriptions of the hardware types what happens to
// a node's record. Its methods do no I/O.
type rulebook struct {
	config    *Config
	described atomic.Pointer[map[string]Description] // by the name of the hardware type; those of all members
}

// hardware returns a node's hardware type.
func (b *rulebook) hardware(n *Node) (Hardware, error) {
	hardware, ok := b.config.Hardware[n.Driver]
	if !ok {
		return nil, noHardware(n)
	}
	return hardware, nil
}

func noHardware(n *Node) error {
	return refuse(Invalid, "no conductor has the hardware type %q of node %s", n.Driver, n.UUID)
}

// result is the result of the work in one state: the event to report, the error if the event is
// fail, and a further change of the node's record, nil for none.
type result struct {
	event states.Event
	err   error
	edit  func(*Node)
}

// end applies the result of the work in the node's state to the record.
func (b *rulebook) end(n *Node, e result) error {
	if e.event == states.EventFail {
		kind, aborted := stepKinds[n.ProvisionState]
		if aborted = aborted && errors.Is(e.err, errAborted); aborted {
			kind.edit(n).Current = nil // fail then sets no fault: an abort is not a fault
		}
		if err := b.fail(n, e.err.Error()); err != nil {
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
			if kind, ok := stepKinds[n.ProvisionState]; ok && *kind.in(n) != nil {
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
func (b *rulebook) fail(n *Node, text string) error {
	from := n.ProvisionState
	moved, err := n.machine().Report(b.config.Table, states.EventFail, text)
	if err != nil {
		return err
	}
	fault := faults[from]
	n.CleanUp = b.cleanUp(n, false)
	if kind, ok := stepKinds[from]; ok {
		if fault != "" && kind.of(n).Current != nil {
			n.Maintenance, n.Fault = true, fault
			if n.MaintenanceReason == "" {
				n.MaintenanceReason = moved.LastError
			}
		}
		switch steps := *kind.in(n); {
		case kind.work != states.Cleaning:
			kind.forget(n)
		case steps != nil: // Ironic keeps the list of steps
			steps.Current, steps.Begun, steps.AbortAfter = nil, 0, false
		}
	}
	if from == states.Adopting {
		n.Power = states.NoPower
	}
	if from == states.Rescuing || from == states.RescueWait {
		n.forgetRescue()
	}
	n.forgetAgent()
	b.move(n, states.EventFail, moved)
	return nil
}

// faults maps the states with steps to the fault of a node whose step has failed.
//
// Source: ironic/common/faults.py.
var faults = map[states.State]string{
	states.Cleaning: "clean failure", states.CleanWait: "clean failure", states.CleanHold: "clean failure",
	states.Servicing: "service failure", states.ServiceWait: "service failure", states.ServiceHold: "service failure",
}
