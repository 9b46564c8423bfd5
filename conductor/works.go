// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/states"
)

// workKind is all that the conductor knows of a kind of work.
type workKind struct {
	work states.Work
	// do does the work in its working state.
	do func(*Task, context.Context) result

	// in returns the field of the record with the steps of the work. It is nil for work without steps.
	in func(*Node) **Steps
	// requested returns the steps of the work in a client's request. It is nil if a client requests no such steps.
	requested func(*ProvisionRequest) []StepRequest
	// agent is the agent's word for the work, empty if the agent executes no steps of it.
	agent agent.Work
	// heartbeats says that heartbeats are taken while the work is in progress.
	//
	// Source: HEARTBEAT_ALLOWED in ironic/drivers/modules/agent_base.py.
	heartbeats bool
	// leavesAgent says that by fast track the agent stays when the work has succeeded, takesAgent that it stays for the
	// work when that begins.
	//
	// Source: fast_track_able in ironic/conductor/utils.py, and what asks it.
	leavesAgent, takesAgent bool

	// keepsSteps says that the list of steps stays in the record of a node whose work has failed.
	keepsSteps bool
	// done and failed change the record of a node whose work has ended, besides its state; nil for nothing.
	done   func(*rulebook, *Node)
	failed func(*Node)

	// limit is the work whose timeout is the expected time of this work too.
	limit states.Work
	// fault is the fault of a node whose step has failed, empty if such a node is not put into maintenance.
	//
	// Source: ironic/common/faults.py.
	fault string
	// eventType is the event_type of a failure in the history, and orphanType if the process that did the work has died.
	eventType, orphanType string

	// The other fields are words and texts of Ironic. flow is the word for the steps in the history, empty if their begin
	// and end have no entries, and noun the word for the work in errors.
	flow, noun string
	// timedOut is the last error after a wait without a call-back. {node} stands for the node and {step} for its step.
	timedOut string
	// inMaintenance is the beginning of the last error of work that a heartbeat ends during maintenance, empty if the work
	// waits until the maintenance ends.
	inMaintenance string
	// progress is the text for an agent that does not tell how far its step is.
	progress string
	// cleanUp is the text for a failed clean-up after the work, with the node and the reason.
	cleanUp string
}

// works has all that the conductor knows of each work, with room for more. init sets it, since the functions in it read
// it.
var works [16]workKind

// The works whose steps are in Ironic's record.
var (
	cleanSteps   = &works[states.WorkClean]
	deploySteps  = &works[states.WorkDeploy]
	serviceSteps = &works[states.WorkService]
)

func init() {
	const ofRamdisk = ". Please check if the ramdisk responsible for the "
	other := func(n *Node) **Steps { return &n.OtherSteps }
	works = [len(works)]workKind{
		states.WorkVerify: {
			do: (*Task).verify, leavesAgent: true, takesAgent: true, eventType: "verify", orphanType: "transition",
		},
		states.WorkInspect: {
			do: (*Task).doSteps, in: other,
			leavesAgent: true, eventType: "introspection", orphanType: "transition",
			timedOut: "Timeout reached while inspecting the node" + ofRamdisk + "inspection is running on the node.",
			cleanUp:  ". Also Failed to abort inspection on node %s, reason: %v",
		},
		states.WorkClean: {
			do: (*Task).clean, in: func(n *Node) **Steps { return &n.CleanSteps },
			requested:  func(r *ProvisionRequest) []StepRequest { return r.CleanSteps },
			agent:      agent.Clean,
			heartbeats: true, leavesAgent: true, takesAgent: true, keepsSteps: true,
			fault: "clean failure", eventType: "cleaning", orphanType: "cleaning", flow: "cleaning", noun: "cleaning",
			timedOut:      "Timeout reached while cleaning the node" + ofRamdisk + "cleaning is running on the node. Failed on step {step}.",
			inMaintenance: "Cleaning", progress: "Node failed to check cleaning progress",
			cleanUp: ". Also Failed to tear down cleaning on node %s, reason: %v",
		},
		states.WorkDeploy: {
			do: (*Task).doSteps, in: func(n *Node) **Steps { return &n.DeploySteps },
			requested:  func(r *ProvisionRequest) []StepRequest { return r.DeploySteps },
			agent:      agent.Deploy,
			heartbeats: true, takesAgent: true,
			eventType: "deploying", orphanType: "takeover", flow: "deployment", noun: "deployment",
			timedOut:      "Timeout reached while waiting for callback for node {node}",
			inMaintenance: "Deploy", progress: "Failed to process the next deploy step",
		},
		states.WorkAdopt: {
			do: (*Task).doSteps, in: other, limit: states.WorkDeploy, eventType: "adoption", orphanType: "transition",
			done: (*rulebook).restoreConsole, failed: func(n *Node) { n.Power = states.NoPower },
		},
		states.WorkRescue: {
			do: (*Task).doSteps, in: other, heartbeats: true, eventType: "rescue", orphanType: "transition",
			timedOut:      "Timeout reached while waiting for rescue ramdisk callback for node",
			inMaintenance: "Rescue", failed: (*Node).forgetRescue,
		},
		states.WorkUnrescue: {
			do: (*Task).doSteps, in: other, limit: states.WorkRescue, eventType: "rescue", orphanType: "transition",
			done: func(_ *rulebook, n *Node) { n.forgetRescue() },
		},
		states.WorkService: {
			do: (*Task).doSteps, in: func(n *Node) **Steps { return &n.ServiceSteps },
			requested:  func(r *ProvisionRequest) []StepRequest { return r.ServiceSteps },
			agent:      agent.Service,
			heartbeats: true, keepsSteps: true,
			fault: "service failure", eventType: "servicing", orphanType: "transition", flow: "servicing", noun: "service",
			timedOut: "Timeout reached while servicing the node" + ofRamdisk + "servicing is running on the node. Failed on step {step}.",
			progress: "Node failed to check service progress",
			cleanUp:  ". Also Failed to tear down service on node %s, reason: %v",
		},
		states.WorkDelete: {
			do: (*Task).tearDown, in: other, limit: states.WorkDeploy, eventType: "unprovision", orphanType: "transition",
		},
	}
	for w := range states.AllWorks() {
		works[w].work = w
	}
}

// kindOf returns the kind of the work that runs, waits or is held in a state. For any other state it is the kind of
// [states.NoWork], which has nothing.
func kindOf(s states.State) *workKind {
	w := s.Work()
	if !w.InProgress().Has(s) {
		w = states.NoWork
	}
	return &works[w]
}

// runsIn reports whether a conductor works on a node in a state.
func runsIn(s states.State) bool { return s != states.NoState && s == s.Work().Working() }

// waits reports whether the work of a node waits for a call from outside.
func (k *workKind) waits(n *Node) bool {
	return k.work != states.NoWork && n.ProvisionState == k.work.Waiting()
}

// busy returns the states in which a work runs or waits.
func busy(w states.Work) states.Set {
	return w.InProgress().Minus(states.SetOf(w.Held()))
}
