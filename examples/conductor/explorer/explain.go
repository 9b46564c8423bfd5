package explorer

import (
	"cmp"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// explanation explains a node's state.
type explanation struct {
	Why  []string `json:"why"`  // sentences
	Next []advice `json:"next"` // one for each goal
	Way  []stage  `json:"way"`  // the node's timeline, oldest first
}

// advice is the next step of [plan.Next] towards a goal. The plan may neither retry work nor destroy
// a workload; if only that leads to the goal, the step says so.
type advice struct {
	Goal plan.Goal `json:"goal"`
	Step string    `json:"step"`
}

// explain explains a node from its record, the entries of its history and its observed moves.
func explain(table *states.Table, n *conductor.Node, history []*conductor.Object, moves []move) explanation {
	timeline := timelineOf(table, n, history, moves)
	return explanation{Why: reasons(table, n), Next: advise(table, n), Way: timeline[max(0, len(timeline)-maxStages):]}
}

// advised are the goals for which the page shows advice.
var advised = []plan.Goal{plan.In(states.Manageable), plan.In(states.Available), plan.In(states.Active)}

func advise(table *states.Table, n *conductor.Node) []advice {
	facts := plan.Facts{
		Maintenance: n.Maintenance, Fault: n.Fault, Protected: n.Protected, Retired: n.Retired,
		Associated: n.InstanceUUID != "", Reserved: n.Reservation != "",
		NoAutomatedClean: n.AutomatedClean != nil && !*n.AutomatedClean,
	}
	list := []advice{}
	for _, goal := range advised {
		step, err := plan.Next(table, machineNode(n), plan.Wish{Goal: goal, Version: table.Series().MaxAPIVersion(), Facts: facts})
		if err == nil { // an error means that the record has a state of another series
			list = append(list, advice{goal, stepText(step)})
		}
	}
	return list
}

// heldBack maps the reasons for which a plan holds a request back, and the fields for which Ironic
// refuses it, to texts with %s for the request.
var heldBack = map[string]string{
	string(plan.NeedsUnhold):  "%s lets the work go on that a hold step has stopped.",
	string(plan.NeedsDestroy): "%s leads there, and destroys the workload, where the node carries one.",
	"maintenance":             "End the maintenance first. %s then leads on.",
	"fault":                   "Wait until the power state can be read again. %s then leads on.",
	"protected":               "End the protection first. %s then leads on.",
	"retired":                 "A retired node is not provided: end that first. %s then leads on.",
	"reservation":             "Wait until the conductor has released the node. %s then leads on.",
}

// stepText describes a step in a sentence, with code in backquotes.
func stepText(step plan.Step) string {
	request := "The request `" + step.Verb + "`"
	if step.With != "" {
		request += " with `" + step.With + "`"
	}
	switch text, known := heldBack[cmp.Or(step.Field, string(step.Reason))]; {
	case known:
		return fmt.Sprintf(text, request)
	case step.Reason == plan.NeedsRetry:
		return fmt.Sprintf("%s starts %v again, which has failed: look at the node first.", request, step.Work)
	case step.Action == plan.Send:
		return request + " leads on."
	case step.Action == plan.Wait:
		return fmt.Sprintf("Wait: %v ends in %v, if it succeeds.", step.Work, step.Until)
	case step.Action == plan.Done:
		return "It is there."
	default:
		return "No request leads there."
	}
}

func machineNode(n *conductor.Node) machine.Node {
	return machine.Node{State: n.ProvisionState, Target: n.TargetProvisionState, LastError: n.LastError}
}

// reasons returns sentences about who moves the node to its next state, and what blocks requests.
func reasons(table *states.Table, n *conductor.Node) []string {
	list := []string{phaseReason(table, n)}
	if n.Maintenance {
		list = append(list, withReason("It is in maintenance: Ironic refuses to deploy, rebuild, rescue, clean or service it", n.MaintenanceReason))
	}
	if n.Fault != "" {
		list = append(list, fmt.Sprintf("Its fault is %q.", n.Fault))
	}
	if n.Protected {
		list = append(list, withReason("It is protected: Ironic refuses to tear it down, rebuild or delete it", n.ProtectedReason))
	}
	if n.Retired {
		list = append(list, withReason("It is retired: Ironic refuses to provide it", n.RetiredReason))
	}
	return list
}

func withReason(text, reason string) string {
	if reason == "" {
		return text + "."
	}
	return text + ", for the reason " + reason + "."
}

func phaseReason(table *states.Table, n *conductor.Node) string {
	switch table.Phase(n.ProvisionState) {
	case states.PhaseResting:
		if n.LastError != "" {
			return "It rests here since its last work has failed; the last error says why. It moves on when a client requests something."
		}
		return "It rests here, and moves on when a client requests something."
	case states.PhaseWorking:
		who := "Its work is recorded, and no conductor has begun it"
		if n.Reservation != "" {
			who = "The conductor " + n.Reservation + " is at work on it"
		}
		return who + "." + ending(table, n)
	case states.PhaseWaiting:
		return "Its work waits for a call of the agent on the node, until a timeout." + ending(table, n)
	case states.PhaseHeld:
		return "A hold step has stopped its work, until a person requests unhold." + ending(table, n)
	case states.PhaseFailed:
		return "Its work has failed; the last error says why. Nothing moves it on until a person has looked and a client requests something."
	default:
		return fmt.Sprintf("The series %v has no such state.", table.Series())
	}
}

// ending returns a sentence about the state after the current work.
func ending(table *states.Table, n *conductor.Node) string {
	step, err := plan.Next(table, machineNode(n), plan.Wish{Goal: plan.In(states.Active), Version: table.Series().MaxAPIVersion()})
	if err != nil || step.Action != plan.Wait || step.Until == states.NoState {
		return ""
	}
	return fmt.Sprintf(" If it succeeds, the node is then %v.", step.Until)
}
