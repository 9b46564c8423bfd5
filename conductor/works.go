// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"time"

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
	// merges says that the requested steps are merged with the other ones by their names and priorities. Otherwise they
	// are all steps of the work.
	merges bool
	// plan plans the steps that no client has composed; nil if they are the steps of the hardware type by their
	// priorities.
	plan func(ctx context.Context, e *engine, n *Node, available []Step) ([]Step, error)
	// replan plans the work again after its first call-back, because a step of it boots the agent, which may write an
	// image; nil if the agent is booted before the first step.
	replan func(ctx context.Context, e *engine, n *Node, available []Step) ([]Step, error)
	// planned changes the record of the steps when they are planned; nil for nothing.
	planned func(*Steps, states.Series)
	// agent is the agent's word for the work, empty if the agent executes no steps of it.
	agent agent.Work
	// allInBand says that the agent's steps of all hardware interfaces can be requested.
	allInBand bool
	// agentSteps returns the steps of Ironic's deploy interface for the agent; nil if the interface has none.
	agentSteps func(AgentBooter, *Node) []Step
	// withoutAgentSince is the series since which no agent is booted for composed steps that need none. checkedEarly says
	// that the check for that completes the steps in texts.
	withoutAgentSince states.Series
	checkedEarly      bool
	// deploys says that a request for the work deploys an instance. The agent gets its configuration drive.
	deploys bool
	// remember stores what a client's request has for the work; nil if that is the requested steps or nothing. When a
	// client deletes the node or aborts its work in one of the states of dropIn, drop removes it.
	remember func(*Node, *ProvisionRequest) error
	drop     func(*Node)
	dropIn   states.Set
	// answer answers the heartbeat for which the work waits, and returns the change of the record that follows; nil if the
	// agent executes steps, or none is waited for.
	answer func(*Task, context.Context) (change func(*Node) error, failure error)
	// heartbeats says that heartbeats are taken while the work is in progress.
	//
	// Source: HEARTBEAT_ALLOWED in ironic/drivers/modules/agent_base.py.
	heartbeats bool
	// leavesAgent says that by fast track the agent stays when the work has succeeded, takesAgent that it stays for the
	// work when that begins.
	//
	// Source: fast_track_able in ironic/conductor/utils.py, and what asks it.
	leavesAgent, takesAgent bool
	// cachedBefore and cachedAfter say what is read again of the machine before the first step, and when the work is done.
	cachedBefore, cachedAfter cacheRefresh

	// abortsByStep says that a client may abort the work only if the hardware type has a step of it that can be aborted.
	abortsByStep bool
	// abortableSince is the series since which steps can be aborted, and finishesSince the one since which an abort waits
	// for the end of a step that cannot be.
	abortableSince, finishesSince states.Series
	// after changes what is done on the machine when the work has failed or was aborted; nil for nothing.
	after func(b *rulebook, n *Node, c *CleanUp, aborted bool)
	// bootsInstance says that the machine boots its instance again when the work has ended.
	bootsInstance bool
	// keepsSteps says that the list of steps stays in the record of a node whose work has failed.
	keepsSteps bool
	// done and failed change the record of a node whose work has ended, besides its state; nil for nothing.
	done   func(*rulebook, *Node)
	failed func(*Node)
	// moved changes the record of a node that moves to or from a state of the work, besides its state; nil for nothing.
	moved func(n *Node, from, to states.State, at time.Time)
	// resumes reports whether the work starts again when the process that did it has died; nil if it then fails.
	resumes func(*Config) bool

	// expected returns the expected time of the work; nil if that is the timeout of its wait.
	expected func(*Config) time.Duration
	// limit bounds the number of nodes with such work; nil for any number.
	limit *limit
	// fault is the fault of a node whose step has failed, empty if such a node is not put into maintenance.
	//
	// Source: ironic/common/faults.py.
	fault string
	// takeOverFaults says that the work has its fault, too, if its conductor has died and another one fails it.
	takeOverFaults bool
	// abortEntry returns the entry of an abort in the history; nil if it has none.
	abortEntry func(*Node) (severity, event string)

	// leanRecords says that the records of the steps say only of an abortable step that it is, and not whether a step
	// needs the agent.
	leanRecords bool
	// notedEarly says that the history has the beginning of the steps before they are planned.
	notedEarly bool

	texts workTexts
}

// limit is a limit for the number of nodes in busy states.
type limit struct {
	of   func(*Config) int
	busy states.Set
}

// works has all that the conductor knows of each work, with room for more. init sets it, since the functions in it read
// it.
var works [16]workKind

// The works whose steps are in Ironic's record, and the inspection.
var (
	inspection  = &works[states.WorkInspect]
	cleanSteps  = &works[states.WorkClean]
	deploySteps = &works[states.WorkDeploy]
)

func init() {
	const ofRamdisk = ". Please check if the ramdisk responsible for the "
	other := func(n *Node) **Steps { return &n.OtherSteps }
	deployments := &limit{func(c *Config) int { return c.MaxDeploying }, busy(states.WorkDeploy)}
	cleanings := &limit{func(c *Config) int { return c.MaxCleaning }, busy(states.WorkDelete).Union(busy(states.WorkClean))}
	timeoutOf := func(w states.Work) func(*Config) time.Duration {
		return func(c *Config) time.Duration { return c.Timeouts.Of(w) }
	}
	works = [len(works)]workKind{
		states.WorkVerify: {
			do: (*Task).verify, leavesAgent: true, takesAgent: true,
			expected: func(c *Config) time.Duration { return c.VerifyTimeout },
			resumes:  func(c *Config) bool { return c.ResumeVerification },
			texts:    workTexts{eventType: "verify", orphanType: "transition"},
		},
		states.WorkInspect: {
			do: (*Task).doSteps, in: other, leavesAgent: true, abortsByStep: true,
			cachedAfter: cacheRefresh{part: readFirmware, since: states.Gazpacho, byAgent: true},
			abortEntry:  func(n *Node) (string, string) { return "ERROR", n.LastError },
			moved:       moveInspection,
			texts: workTexts{
				eventType: "introspection", orphanType: "transition",
				stepFailed: func(e *stepError) string { return e.err.Error() },
				timedOut:   "Timeout reached while inspecting the node" + ofRamdisk + "inspection is running on the node.",
				former:     formerTimeout{states.Gazpacho, "timeout reached while inspecting the node", "transition"},
				cleanUp:    cleanUpTexts{added: ". Also Failed to abort inspection on node %s, reason: %v"},
			},
		},
		states.WorkClean: {
			do: (*Task).clean, in: func(n *Node) **Steps { return &n.CleanSteps },
			requested: func(r *ProvisionRequest) []StepRequest { return r.CleanSteps }, plan: planCleaning,
			agent: agent.Clean, withoutAgentSince: states.Gazpacho, checkedEarly: true,
			heartbeats: true, leavesAgent: true, takesAgent: true, keepsSteps: true,
			cachedBefore: cacheRefresh{part: readMachine}, cachedAfter: cacheRefresh{part: readMachine, since: states.Dalmatian},
			after: afterCleaning, fault: "clean failure", takeOverFaults: true, limit: cleanings,
			texts: workTexts{
				eventType: "cleaning", orphanType: "cleaning", operation: "cleaning",
				flow: "Manual Cleaning", automatedFlow: "Automated Cleaning", noun: "cleaning", stepFailed: stepFailed,
				timedOut:      "Timeout reached while cleaning the node" + ofRamdisk + "cleaning is running on the node. Failed on step {step}.",
				inMaintenance: "Cleaning", progress: "Node failed to check cleaning progress",
				cleanUp: cleanUpTexts{added: ". Also Failed to tear down cleaning on node %s, reason: %v"},
			},
		},
		states.WorkDeploy: {
			// A step of the agent only waits here; its failure arrives by a heartbeat: heard.
			do: (*Task).doSteps, in: func(n *Node) **Steps { return &n.DeploySteps },
			requested: func(r *ProvisionRequest) []StepRequest { return r.DeploySteps }, merges: true,
			plan: planNewDeployment, replan: replanDeployment,
			agent: agent.Deploy, agentSteps: agentDeploySteps,
			heartbeats: true, takesAgent: true,
			abortableSince: states.Gazpacho, after: afterDeployment, deploys: true, limit: deployments,
			leanRecords: true, // a deploy step can be aborted since 2026.1
			texts: workTexts{
				eventType: "deploying", orphanType: "takeover", operation: "provisioning",
				flow: "Deployment", noun: "deployment", stepFailed: deployStepFailed,
				timedOut:      "Timeout reached while waiting for callback for node {node}",
				inMaintenance: "Deploy", progress: "Failed to process the next deploy step",
				cleanUp: cleanUpTexts{aborted: "deploying"},
			},
		},
		states.WorkAdopt: {
			do: (*Task).doSteps, in: other, expected: timeoutOf(states.WorkDeploy),
			remember: func(n *Node, _ *ProvisionRequest) error { n.noteImageType(); return nil },
			done:     (*rulebook).restoreConsole, failed: func(n *Node) { n.Power = states.NoPower },
			texts: workTexts{eventType: "adoption", orphanType: "transition"},
		},
		states.WorkRescue: {
			do: (*Task).doSteps, in: other, answer: (*Task).finishRescue, heartbeats: true,
			after: afterRescue, failed: (*Node).forgetRescue,
			abortEntry: func(*Node) (string, string) { return "INFO", "By request, the rescue operation was aborted." },
			remember:   rememberPassword, drop: (*Node).forgetRescue,
			dropIn: states.WorkRescue.States().Union(states.WorkUnrescue.States()).Union(states.SetOf(states.Rescue)),
			texts: workTexts{
				eventType: "rescue", orphanType: "transition", operation: "rescuing",
				timedOut:      "Timeout reached while waiting for rescue ramdisk callback for node",
				inMaintenance: "Rescue",
				cleanUp: cleanUpTexts{
					instead: "Rescue operation was unsuccessful, clean up failed for node: %v",
					aborted: "rescue", abortFault: "rescue abort failure",
				},
			},
		},
		states.WorkUnrescue: {
			do: (*Task).doSteps, in: other, expected: timeoutOf(states.WorkRescue),
			done:  func(_ *rulebook, n *Node) { n.forgetRescue() },
			texts: workTexts{eventType: "rescue", orphanType: "transition", operation: "unrescuing"},
		},
		states.WorkService: {
			do: (*Task).doSteps, in: func(n *Node) **Steps { return &n.ServiceSteps },
			requested: func(r *ProvisionRequest) []StepRequest { return r.ServiceSteps }, planned: notesNoAgent,
			agent: agent.Service, allInBand: true, withoutAgentSince: states.Flamingo,
			heartbeats: true, keepsSteps: true, bootsInstance: true,
			cachedBefore:  cacheRefresh{part: readMachine, since: states.Dalmatian},
			cachedAfter:   cacheRefresh{part: readMachine, since: states.Dalmatian},
			finishesSince: states.Flamingo, fault: "service failure", notedEarly: true,
			texts: workTexts{
				eventType: "servicing", orphanType: "transition", operation: "service",
				flow: "Servicing", noun: "service", stepFailed: stepFailed,
				timedOut: "Timeout reached while servicing the node" + ofRamdisk + "servicing is running on the node. Failed on step {step}.",
				progress: "Node failed to check service progress",
				cleanUp:  cleanUpTexts{added: ". Also Failed to tear down service on node %s, reason: %v"},
			},
		},
		states.WorkDelete: {
			do: (*Task).tearDown, in: other, expected: timeoutOf(states.WorkDeploy), limit: cleanings,
			texts: workTexts{eventType: "unprovision", orphanType: "transition", operation: "unprovisioning"},
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
