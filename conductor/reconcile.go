// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// action is what a conductor has to do with a node.
type action uint8

const (
	// nothing: another process has to act, or nobody.
	nothing action = iota
	// work: reserve the node, unless it is reserved already, and do the work of its state or clean up after failed work.
	work
	// release: drop this conductor's reservation, since no work is left.
	release
	// failOrphan: drop the reservation of a process that has died, and report its work as failed.
	failOrphan
	// timeOut: report that the node has waited too long for a call-back.
	timeOut
)

// workStates are the states in which a conductor works on a node.
var workStates = states.SetOf(
	states.Verifying, states.Inspecting, states.Cleaning, states.Deploying, states.Deleting,
	states.Rescuing, states.Unrescuing, states.Servicing, states.Adopting,
)

// reconcile decides what the process with a view of the members has to do with a node now. It assumes that no
// goroutine of this process works on the node. Records of any origin are valid: those of this process, of another
// one, and of one that has died at any moment.
func reconcile(n *Node, m view, timeouts machine.Timeouts, now time.Time) action {
	switch {
	case n.Reservation != "" && n.Claim == m.id:
		if n.TargetPower == states.NoPower && n.hasWork() {
			return work
		}
		return release
	case !m.owns(n):
		return nothing
	case n.Reservation != "" && !isMember(m.members, n.Claim):
		return failOrphan
	case n.Reservation != "":
		return nothing
	case n.hasWork():
		return work
	}
	if _, over := timedOut(n, timeouts, now); over {
		return timeOut
	}
	return nothing
}

// timedOut reports whether a node has waited too long for a call-back, and returns Ironic's text for the last error. A
// node in maintenance waits on.
//
// Source: the functions cleanup_after_timeout and cleanup_*wait_timeout in ironic/conductor/utils.py, and
// _check_inspect_wait_timeouts in ironic/conductor/manager.py.
func timedOut(n *Node, timeouts machine.Timeouts, now time.Time) (lastError string, over bool) {
	if n.Maintenance || n.ProvisionUpdatedAt == nil {
		return "", false
	}
	lastError, over = n.machine().TimedOut(now.Sub(*n.ProvisionUpdatedAt), timeouts)
	switch {
	case !over:
	case n.ProvisionState == states.DeployWait:
		lastError = fmt.Sprintf("Timeout reached while waiting for callback for node %s", n.UUID)
	case n.ProvisionState == states.RescueWait:
		lastError = "Timeout reached while waiting for rescue ramdisk callback for node"
	case n.ProvisionState == states.InspectWait:
		lastError = "timeout reached while inspecting the node"
	case n.ProvisionState == states.CleanWait, n.ProvisionState == states.ServiceWait:
		work, step := "cleaning", "{}"
		if n.ProvisionState == states.ServiceWait {
			work = "servicing"
		}
		if s := n.Step(); s.Step != "" {
			step = StepRequest{Interface: s.Interface, Step: s.Step, Args: s.Args, Priority: &s.Priority}.String()
		}
		lastError = fmt.Sprintf("Timeout reached while %[1]s the node. Please check if the ramdisk responsible for the %[1]s is running on the node. Failed on step %[2]s.", work, step)
	}
	return lastError, over
}
