// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentwork"
	"github.com/ironstate/ironstate/states"
)

// workKind is all that the conductor knows of a kind of work.
type workKind struct {
	work states.Work
	// do does the work in its working state.
	do      func(*Task, context.Context) result
	request workRequest
	steps   workSteps
	agent   workAgent
	abort   workAbort
	end     workEnd
	cached  workCache
	// moved changes the record of a node that moves to or from a state of the work, besides its state; nil for nothing.
	moved func(n *Node, from, to states.State, at time.Time)
	// expected returns the expected time of the work; nil if that is the timeout of its wait.
	expected func(*Config) time.Duration
	texts    workTexts
}

// workRequest is what the conductor knows of a client's request for work.
type workRequest struct {
	// limit bounds the number of nodes with such work; nil for any number.
	limit *limit
	// deploys says that the request deploys an instance. The agent gets its configuration drive.
	deploys bool
	// prepare completes the request before it is stored; nil for nothing.
	prepare func(*ProvisionRequest) error
	// remember stores what the request has for the work; nil if that is the requested steps or nothing. When a client
	// deletes the node or aborts its work in one of the states of dropIn, drop removes it.
	remember func(*Node, *ProvisionRequest) error
	drop     func(*Node)
	dropIn   states.Set
}

// limit is a limit for the number of nodes in busy states.
type limit struct {
	of   func(*Config) int
	busy states.Set
}

// workSteps is what the conductor knows of the steps of work.
type workSteps struct {
	// in returns the field of the record with the steps. It is nil for work without steps.
	in func(*Node) **Steps
	// kept says that the list of steps stays in the record of a node whose work has failed.
	kept bool
	// requested returns the steps in a client's request. It is nil if a client requests no such steps.
	requested func(*ProvisionRequest) []StepRequest
	// merges says that the requested steps are merged with the other ones by their names and priorities. Otherwise they
	// are all steps of the work.
	merges bool
	// plan plans the steps that no client has composed; nil if they are the steps of the hardware type by their
	// priorities.
	plan func(ctx context.Context, e *engine, n *Node, available []Step) ([]Step, error)
	// replan plans the work again after its first call-back, because a step of it boots the agent, which may write an
	// image; nil if no step boots it.
	replan func(ctx context.Context, e *engine, n *Node, available []Step) ([]Step, error)
	// notePlanned changes the record of the steps when they are planned; nil for nothing.
	notePlanned func(*Steps, states.Series)
	// recordsLikeDeploySteps says that the records of the steps have "abortable" only if it is true, and never
	// "requires_ramdisk".
	recordsLikeDeploySteps bool
	// historyBeforePlan says that the history has the beginning of the steps before they are planned.
	historyBeforePlan bool
}

// workAgent is what the conductor knows of the agent in work.
type workAgent struct {
	// word is the agent's word for the work, empty if the agent executes no steps of it.
	word agent.Work
	// steps returns the steps of Ironic's deploy interface for the agent; nil if the interface has none.
	steps func(AgentBooter, *Node) []Step
	// anyInterface says that the agent's steps of all hardware interfaces can be requested.
	anyInterface bool
	// optionalSince is the series since which no agent is booted for composed steps that need none. textsShowCompleted
	// says that texts then show the steps as the check for that has completed them.
	optionalSince      states.Series
	textsShowCompleted bool
	// answer answers the heartbeat for which the work waits; nil if the agent executes steps, so that [agentwork.Answer]
	// does, or if no heartbeat is waited for.
	answer func(context.Context, agentwork.Task) (agentwork.Outcome, error)
	// reused says that with fast track the work may use an agent that already runs. stays says that the agent then keeps
	// running after the work has succeeded.
	//
	// Source: fast_track_able in ironic/conductor/utils.py, and what asks it.
	reused, stays bool
}

// workAbort is what the conductor knows of the abort of work by a client.
type workAbort struct {
	// byStep says that a client may abort the work only if the hardware type has a step of it that can be aborted.
	byStep bool
	// since is the first series in which a client can abort a step. afterStepSince is the first series in which an abort
	// during a step that is not abortable takes effect after that step.
	since, afterStepSince states.Series
	// entry returns the entry of an abort in the history; nil if it has none.
	entry func(*Node) (severity, event string)
}

// workEnd is what the conductor knows of the end of work.
type workEnd struct {
	// done and failed change the record of a node whose work has ended, besides its state; nil for nothing.
	done   func(*rulebook, *Node)
	failed func(*Node)
	// fault is the fault of a node whose step has failed, empty if such a node is not put into maintenance.
	// takeOverFaults says that the node has it, too, if the conductor has died and another one fails its work.
	//
	// Source: ironic/common/faults.py.
	fault          string
	takeOverFaults bool
	// resumes reports whether the work starts again when the process that did it has died; nil if it then fails.
	resumes func(*Config) bool
	// after changes what is done on the machine when the work has failed or was aborted; nil for nothing.
	after func(b *rulebook, n *Node, c *CleanUp, aborted bool)
	// bootsInstance says that the machine boots its instance again when the work has ended.
	bootsInstance bool
}

// workCache says what is read again of the machine before the first step, and when the work is done.
type workCache struct{ before, after cacheRefresh }

// works has all that the conductor knows of each work, with room for more. init fills it in: some of its functions read
// it, which would be a cycle in a literal.
var works [16]workKind

// The works whose steps are in Ironic's record, and the inspection.
var (
	inspection  = &works[states.WorkInspect]
	cleanSteps  = &works[states.WorkClean]
	deploySteps = &works[states.WorkDeploy]
)

func init() {
	const ofRamdisk = ". Please check if the ramdisk responsible for the "
	other := workSteps{in: func(n *Node) **Steps { return &n.OtherSteps }}
	deployments := &limit{func(c *Config) int { return c.MaxDeploying }, busy(states.WorkDeploy)}
	cleanings := &limit{func(c *Config) int { return c.MaxCleaning }, busy(states.WorkDelete).Union(busy(states.WorkClean))}
	timeoutOf := func(w states.Work) func(*Config) time.Duration {
		return func(c *Config) time.Duration { return c.Timeouts.Of(w) }
	}
	works = [len(works)]workKind{
		states.WorkVerify: {
			do:       (*Task).verify,
			agent:    workAgent{reused: true, stays: true},
			end:      workEnd{resumes: func(c *Config) bool { return c.ResumeVerification }},
			expected: func(c *Config) time.Duration { return c.VerifyTimeout },
			texts:    workTexts{eventType: "verify", orphanType: "transition"},
		},
		states.WorkInspect: {
			do: (*Task).doSteps, steps: other,
			agent:  workAgent{stays: true},
			abort:  workAbort{byStep: true, entry: func(n *Node) (string, string) { return "ERROR", n.LastError }},
			cached: workCache{after: cacheRefresh{part: readFirmware, since: states.Gazpacho, byAgent: true}},
			moved:  moveInspection,
			texts: workTexts{
				eventType: "introspection", orphanType: "transition",
				stepFailed: func(e *stepError) string { return e.err.Error() },
				timedOut:   "Timeout reached while inspecting the node" + ofRamdisk + "inspection is running on the node.",
				former:     formerTimeout{states.Gazpacho, "timeout reached while inspecting the node", "transition"},
				cleanUp:    cleanUpTexts{added: ". Also Failed to abort inspection on node %s, reason: %v"},
			},
		},
		states.WorkClean: {
			do:      (*Task).clean,
			request: workRequest{limit: cleanings},
			steps: workSteps{
				in: func(n *Node) **Steps { return &n.CleanSteps }, kept: true,
				requested: func(r *ProvisionRequest) []StepRequest { return r.CleanSteps }, plan: planCleaning,
			},
			agent: workAgent{
				word: agent.Clean, optionalSince: states.Gazpacho, textsShowCompleted: true, reused: true, stays: true,
			},
			end: workEnd{fault: "clean failure", takeOverFaults: true, after: afterCleaning},
			cached: workCache{
				before: cacheRefresh{part: readMachine}, after: cacheRefresh{part: readMachine, since: states.Dalmatian},
			},
			texts: workTexts{
				eventType: "cleaning", orphanType: "cleaning", operation: "cleaning",
				flow: "Manual Cleaning", automatedFlow: "Automated Cleaning", noun: "cleaning", stepFailed: stepFailed,
				timedOut:      "Timeout reached while cleaning the node" + ofRamdisk + "cleaning is running on the node. Failed on step {step}.",
				inMaintenance: "Cleaning", progress: "Node failed to check cleaning progress",
				cleanUp: cleanUpTexts{added: ". Also Failed to tear down cleaning on node %s, reason: %v"},
			},
		},
		states.WorkDeploy: {
			// A step of the agent only waits here; its failure arrives by a heartbeat: askAgent.
			do:      (*Task).doSteps,
			request: workRequest{limit: deployments, deploys: true},
			steps: workSteps{
				in:        func(n *Node) **Steps { return &n.DeploySteps },
				requested: func(r *ProvisionRequest) []StepRequest { return r.DeploySteps }, merges: true,
				plan: planNewDeployment, replan: replanDeployment,
				recordsLikeDeploySteps: true, // a deploy step can be aborted since 2026.1
			},
			agent: workAgent{word: agent.Deploy, steps: agentDeploySteps, reused: true},
			abort: workAbort{since: states.Gazpacho},
			end:   workEnd{after: afterDeployment},
			texts: workTexts{
				eventType: "deploying", orphanType: "takeover", operation: "provisioning",
				flow: "Deployment", noun: "deployment", stepFailed: deployStepFailed,
				timedOut:      "Timeout reached while waiting for callback for node {node}",
				inMaintenance: "Deploy", progress: "Failed to process the next deploy step",
				cleanUp: cleanUpTexts{aborted: "deploying"},
			},
		},
		states.WorkAdopt: {
			do: (*Task).doSteps, steps: other,
			request:  workRequest{remember: func(n *Node, _ *ProvisionRequest) error { n.noteImageType(); return nil }},
			end:      workEnd{done: (*rulebook).restoreConsole, failed: func(n *Node) { n.Power = states.NoPower }},
			expected: timeoutOf(states.WorkDeploy),
			texts:    workTexts{eventType: "adoption", orphanType: "transition"},
		},
		states.WorkRescue: {
			do: (*Task).doSteps, steps: other,
			request: workRequest{
				prepare: hashRescuePassword, remember: rememberPassword, drop: (*Node).forgetRescue,
				dropIn: states.WorkRescue.States().Union(states.WorkUnrescue.States()).Union(states.SetOf(states.Rescue)),
			},
			agent: workAgent{answer: agentwork.FinishRescue},
			abort: workAbort{entry: func(*Node) (string, string) { return "INFO", "By request, the rescue operation was aborted." }},
			end:   workEnd{failed: (*Node).forgetRescue, after: afterRescue},
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
			do: (*Task).doSteps, steps: other,
			end:      workEnd{done: func(_ *rulebook, n *Node) { n.forgetRescue() }},
			expected: timeoutOf(states.WorkRescue),
			texts:    workTexts{eventType: "rescue", orphanType: "transition", operation: "unrescuing"},
		},
		states.WorkService: {
			do: (*Task).doSteps,
			steps: workSteps{
				in: func(n *Node) **Steps { return &n.ServiceSteps }, kept: true,
				requested: func(r *ProvisionRequest) []StepRequest { return r.ServiceSteps }, notePlanned: notesNoAgent, historyBeforePlan: true,
			},
			agent: workAgent{word: agent.Service, anyInterface: true, optionalSince: states.Flamingo},
			abort: workAbort{afterStepSince: states.Flamingo},
			end:   workEnd{fault: "service failure", bootsInstance: true},
			cached: workCache{
				before: cacheRefresh{part: readMachine, since: states.Dalmatian},
				after:  cacheRefresh{part: readMachine, since: states.Dalmatian},
			},
			texts: workTexts{
				eventType: "servicing", orphanType: "transition", operation: "service",
				flow: "Servicing", noun: "service", stepFailed: stepFailed,
				timedOut: "Timeout reached while servicing the node" + ofRamdisk + "servicing is running on the node. Failed on step {step}.",
				progress: "Node failed to check service progress",
				cleanUp:  cleanUpTexts{added: ". Also Failed to tear down service on node %s, reason: %v"},
			},
		},
		states.WorkDelete: {
			do: (*Task).tearDown, steps: other,
			request:  workRequest{limit: cleanings},
			expected: timeoutOf(states.WorkDeploy),
			texts:    workTexts{eventType: "unprovision", orphanType: "transition", operation: "unprovisioning"},
		},
	}
	for w := range states.AllWorks() {
		works[w].work = w
	}
}

// kindOf returns the kind of the work that runs, waits or is held in a state. For any other state it is the kind of
// [states.NoWork], which has nothing.
func kindOf(s states.State) *workKind {
	if !s.InProgress() {
		return &works[states.NoWork]
	}
	return &works[s.Work()]
}

// runsIn reports whether a conductor works on a node in a state.
func runsIn(s states.State) bool { return s != states.NoState && s == s.Work().Working() }

// waits reports whether the work of a node waits for a call from outside.
func (k *workKind) waits(n *Node) bool {
	return k.work != states.NoWork && n.ProvisionState == k.work.Waiting()
}

// heartbeats reports whether heartbeats are taken while the work is in progress.
//
// Source: HEARTBEAT_ALLOWED in ironic/drivers/modules/agent_base.py.
func (k *workKind) heartbeats() bool { return k.agent.word != "" || k.agent.answer != nil }

// waitsForAgent reports whether the work of a node waits for a heartbeat.
func (k *workKind) waitsForAgent(n *Node) bool { return k.waits(n) && k.heartbeats() }

// bootsInStep reports whether a step of the work boots the agent. For other work it is booted before the first step.
func (k *workKind) bootsInStep() bool { return k.steps.replan != nil }

// busy returns the states in which a work runs or waits.
func busy(w states.Work) states.Set {
	return w.InProgress().Minus(states.SetOf(w.Held()))
}

// workTexts are Ironic's words and texts for a kind of work.
type workTexts struct {
	// eventType is the event_type of a failure in the history, and orphanType if the process that did the work has died.
	eventType, orphanType string
	// operation is the word for the work in the refusal of a request, empty if there is no such refusal. noun is the word
	// in errors.
	operation, noun string
	// flow is the word for the steps in the history, empty if their begin and end have no entries. automatedFlow is flow
	// for work that the conductor begins by itself, empty if it never does.
	flow, automatedFlow string
	// stepFailed is the text for a step that has failed in the conductor; nil for a plain one. The text for a step that
	// has failed in the agent is of [agent.Judge].
	stepFailed func(*stepError) string
	// timedOut is the last error after a wait without a call-back. {node} stands for the node and {step} for its step.
	timedOut string
	// former has what timedOut and the event_type of that failure were before a series.
	former formerTimeout
	// inMaintenance is the beginning of the last error of work that a heartbeat ends during maintenance, empty if the work
	// waits until the maintenance ends.
	inMaintenance string
	// progress is the text for an agent that does not tell how far its step is.
	progress string
	cleanUp  cleanUpTexts
}

// cleanUpTexts are the texts for a failed clean-up after failed work.
type cleanUpTexts struct {
	// added, with the node and the reason, is added to the last error; empty for a plain text. instead, with the reason,
	// replaces the last error.
	added, instead string
	// After an abort that CleanUp notes, aborted is the word for the work in the last error, and abortFault the fault with
	// which the node is put into maintenance, empty if it is not.
	aborted, abortFault string
}

// formerTimeout is the last error and the event_type after a wait without a call-back before a series.
type formerTimeout struct {
	until               states.Series
	timedOut, eventType string
}

// timeout returns the last error and the event_type after a wait without a call-back.
func (t *workTexts) timeout(series states.Series) (text, eventType string) {
	if series < t.former.until {
		return t.former.timedOut, t.former.eventType
	}
	return t.timedOut, t.eventType
}
