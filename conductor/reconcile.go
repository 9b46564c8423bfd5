// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"strings"
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

// reconcile decides what the process with a view of the members has to do with a node now. It assumes that no
// goroutine of this process works on the node. Records of any origin are valid: records of this process, of another
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
	if timedOut(n, timeouts, now) {
		return timeOut
	}
	return nothing
}

// timedOut reports whether a node has waited too long for a call-back. A node in maintenance waits on. Its owner asks
// at each [Config.CheckInterval]. The time begins with the state, and again each time that the agent was asked for
// its commands ([engine.attendReserved]).
func timedOut(n *Node, timeouts machine.Timeouts, now time.Time) bool {
	if n.Maintenance || n.ProvisionUpdatedAt == nil {
		return false
	}
	_, over := n.machine().TimedOut(now.Sub(*n.ProvisionUpdatedAt), timeouts)
	return over
}

// timeoutText returns the last error of a node that waits and has timed out, as Ironic of a series has it.
//
// Source: the functions cleanup_after_timeout and cleanup_*wait_timeout in ironic/conductor/utils.py, and
// _check_inspect_wait_timeouts in ironic/conductor/manager.py.
func timeoutText(n *Node, series states.Series) string {
	text, _ := kindOf(n.ProvisionState).texts.timeout(series)
	step := "{}"
	if s := n.Step(); s.Step != "" {
		step = StepRequest{Interface: s.Interface, Step: s.Step, Args: s.Args, Priority: &s.Priority}.String()
	}
	return strings.NewReplacer("{node}", n.UUID, "{step}", step).Replace(text)
}
