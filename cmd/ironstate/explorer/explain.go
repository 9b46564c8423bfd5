// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// explanation explains a node's state.
type explanation struct {
	Why      []string `json:"why"`      // sentences
	Next     []advice `json:"next"`     // one for each goal
	Timeline []stage  `json:"timeline"` // oldest first
}

// advice is the next step of [plan.Next] towards a goal. The plan may neither retry work nor destroy
// a workload. If the goal cannot be reached without that, Step says so.
type advice struct {
	Goal plan.Goal `json:"goal"`
	Step string    `json:"step"`
}

// explain explains a node from its record and the entries of its history.
func explain(table *states.Table, n *conductor.Node, history []*conductor.HistoryEntry) explanation {
	return explanation{Why: reasons(table, n), Next: advise(table, n), Timeline: timelineOf(n, history)}
}

// advised are the goals for which the page shows advice.
var advised = []plan.Goal{plan.In(states.Manageable), plan.In(states.Available), plan.In(states.Active)}

// advise returns the next step to each goal.
func advise(table *states.Table, n *conductor.Node) []advice {
	fields := plan.NodeFields{
		Maintenance: n.Maintenance, Fault: n.Fault, Protected: n.Protected, Retired: n.Retired,
		Associated: n.InstanceUUID != "", Reserved: n.Reservation != "",
		NoAutomatedClean: n.AutomatedClean != nil && !*n.AutomatedClean,
	}
	list := []advice{}
	for _, goal := range advised {
		step, err := plan.Next(table, machineNode(n), plan.Desired{Goal: goal, Version: table.Series().MaxAPIVersion(), Fields: fields})
		if err == nil { // an error means that the record has a state of another series
			list = append(list, advice{goal, stepText(step)})
		}
	}
	return list
}

// blockedTexts maps the reasons for which a plan does not send a request, and the node fields for
// which Ironic refuses it, to texts with %s for the request.
var blockedTexts = map[string]string{
	string(plan.NeedsUnhold):  "%s resumes the work that a hold step has stopped.",
	string(plan.NeedsDestroy): "%s is the next step, but destroys the workload if the node has one.",
	"maintenance":             "End the maintenance first. %s is the next step then.",
	"fault":                   "Wait until the power state can be read again. %s is the next step then.",
	"protected":               "Remove the protection first. %s is the next step then.",
	"retired":                 "Ironic does not provide a retired node: remove the flag first. %s is the next step then.",
	"reservation":             "Wait until the conductor has released the node. %s is the next step then.",
}

// stepText describes a step in a sentence, with code in backquotes.
func stepText(step plan.Step) string {
	request := "The request `" + step.Verb + "`"
	if step.With != "" {
		request += " with `" + step.With + "`"
	}
	switch text, known := blockedTexts[cmp.Or(step.Field, string(step.Reason))]; {
	case known:
		return fmt.Sprintf(text, request)
	case step.Reason == plan.NeedsRetry:
		return fmt.Sprintf("%s repeats %v, which has failed: check the node first.", request, step.Work.Working())
	case step.Action == plan.Send:
		return request + " is the next step."
	case step.Action == plan.Wait:
		return fmt.Sprintf("Wait: %v leads to %v if it succeeds.", step.Work.Working(), step.Until)
	case step.Action == plan.Done:
		return "The node is already in this state."
	default:
		return "No request leads to this state."
	}
}

// machineNode returns the part of a record that package machine decides by.
func machineNode(n *conductor.Node) machine.Node {
	return machine.Node{State: n.ProvisionState, Target: n.TargetProvisionState, LastError: n.LastError}
}

// reasons returns sentences about the cause of the node's next transition, and about the fields that
// block requests.
func reasons(table *states.Table, n *conductor.Node) []string {
	list := []string{phaseReason(table, n)}
	if n.Maintenance {
		list = append(list, withReason("The node is in maintenance: Ironic refuses to deploy, rebuild, rescue, clean or service it.",
			n.MaintenanceReason))
	}
	if n.Fault != "" {
		list = append(list, fmt.Sprintf("Its fault is %q.", n.Fault))
	}
	if n.Protected {
		list = append(list, withReason("The node is protected: Ironic refuses to tear it down, rebuild or delete it.", n.ProtectedReason))
	}
	if n.Retired {
		list = append(list, withReason("The node is retired: Ironic refuses to provide it.", n.RetiredReason))
	}
	return list
}

// withReason appends the reason that a client has given, if there is one.
func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + " Reason: " + reason + "."
}

// phaseReason returns sentences about who moves the node on from its state.
func phaseReason(table *states.Table, n *conductor.Node) string {
	switch table.Phase(n.ProvisionState) {
	case states.PhaseStable:
		return errorReason(n) + "The node stays in this state until a client sends a request."
	case states.PhaseWorking:
		who := "The work is recorded, but no conductor has started it"
		if n.Reservation != "" {
			who = "The conductor " + n.Reservation + " is working on the node"
		}
		return who + "." + ending(table, n)
	case states.PhaseWaiting:
		return "The work waits for a call-back of the agent on the node, or for a timeout." + ending(table, n)
	case states.PhaseHold:
		return "A hold step has stopped the work until a client requests unhold." + ending(table, n)
	case states.PhaseFailed:
		return "The work has failed; the last error gives the cause. " +
			"The node stays in this state until an operator has checked it and a client sends a request."
	default:
		return fmt.Sprintf("The series %v has no such state.", table.Series())
	}
}

// errorReason returns a sentence about the last error of a node in a stable state, "" if it has none.
func errorReason(n *conductor.Node) string {
	if n.LastError == "" {
		return ""
	}
	if len(n.Transitions) == 0 {
		return "The last error is older than the transitions of the record. "
	}
	switch t := n.Transitions[len(n.Transitions)-1]; {
	case !strings.HasPrefix(n.LastError, strings.TrimSuffix(t.LastError, "…")) || t.LastError == "":
		return fmt.Sprintf("The last error was recorded after the transition from %v, for instance by a power request. ", t.From)
	case t.Event == states.EventFail || t.Event == states.EventError:
		return fmt.Sprintf("The work in the state %v has failed; the last error gives the cause. ", t.From)
	case t.Event == states.EventAbort:
		return fmt.Sprintf("A client has aborted the work in the state %v. ", t.From)
	default:
		return fmt.Sprintf("The last error is older than the transition from %v. ", t.From)
	}
}

// ending returns a sentence about the state after the current work.
func ending(table *states.Table, n *conductor.Node) string {
	step, err := plan.Next(table, machineNode(n), plan.Desired{Goal: plan.In(states.Active), Version: table.Series().MaxAPIVersion()})
	if err != nil || step.Action != plan.Wait || step.Until == states.NoState {
		return ""
	}
	return fmt.Sprintf(" If the work succeeds, the node is then %v.", step.Until)
}
