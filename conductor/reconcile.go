// SPDX-License-Identifier: Apache-2.0

package conductor

import (
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
	_, late := timedOut(n, timeouts, now)
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
	case late:
		return timeOut
	default:
		return nothing
	}
}

// timedOut reports whether a node has waited too long for a call-back, and returns the last error
// that says so. A node in maintenance waits on.
func timedOut(n *Node, timeouts machine.Timeouts, now time.Time) (lastError string, over bool) {
	if n.Maintenance || n.ProvisionUpdatedAt == nil {
		return "", false
	}
	return n.machine().TimedOut(now.Sub(*n.ProvisionUpdatedAt), timeouts)
}
