// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentwork"
	"github.com/ironstate/ironstate/conductor/internal/sequence"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

var errHeld = errors.New("the work is held")

// abortError reports that work was aborted by request after a step that was not abortable.
type abortError struct {
	work states.Work
	step string
}

func (e *abortError) Error() string {
	return "By request, the " + e.work.String() + " operation was aborted" + afterStep(e.step)
}

// doSteps runs the steps of the node's state.
func (t *Task) doSteps(ctx context.Context) result {
	kind := kindOf(t.Node().ProvisionState)
	err := t.refreshCache(ctx, kind, false)
	begun := err == nil
	if begun {
		err = t.runSteps(ctx, kind)
	}
	if err == nil && kind.of(t.Node()).Prepared {
		tornDown := false
		if tornDown, err = t.endAgent(ctx, kind); tornDown && err != nil && ctx.Err() == nil {
			return result{event: states.EventFail, err: err, change: func(n *Node) { n.CleanUp = nil }} // the tear-down is not repeated
		}
	}
	if err == nil {
		err = t.refreshCache(ctx, kind, true)
	}
	switch {
	case err == nil:
		return result{event: states.EventDone, stepsDone: true}
	case errors.Is(err, ErrWait):
		if kind == inspection {
			t.noteBMCAddresses(ctx)
		}
		return t.engine.rules.pause(kind.work.Working(), states.EventWait, err)
	case errors.Is(err, errHeld):
		return t.engine.rules.pause(kind.work.Working(), states.EventHold, err)
	case verify.LoginRefused(err) && !(begun && t.engine.rules.mustCleanUp(t.Node())): // a clean-up would send the password again
		return result{event: states.EventFail, err: err, change: func(n *Node) { n.CleanUp = nil }}
	default:
		return failedWith(err)
	}
}

// stepsRun is the execution of the steps of a node's work by one process, until the work waits or ends.
type stepsRun struct {
	task  *Task
	kind  *workKind
	steps []Step // the plan
	next  int    // the index of the next step
	ready bool   // an agent runs that does the work by fast track
}

// runSteps runs a node's steps, starting with the first or with the successor of the step that
// waited. It returns nil when all steps are done, ErrWait or errHeld if the node must wait or
// be held, an *abortError, a *stepError, or the store's error.
func (t *Task) runSteps(ctx context.Context, kind *workKind) error {
	n, types := t.Node(), t.engine.types
	use, err := askHardware(ctx, types, n, "its use of the agent", func() agentUse { return types.agentUse(t.hardware, n, kind) })
	if err != nil {
		return err
	}
	return sequence.Run(ctx, t.engine.rules.sequenceOf(n, kind, use), &stepsRun{task: t, kind: kind})
}

// Progress implements [sequence.Task].
func (r *stepsRun) Progress() (ready bool, left int) { return r.ready, len(r.steps) - r.next }

// Do implements [sequence.Task]. It returns ErrWait when the machine boots the agent, and while the agent is busy.
func (r *stepsRun) Do(ctx context.Context, action sequence.Action) (err error) {
	t, kind := r.task, r.kind
	if action.Operates() {
		if ctx, err = t.engine.fenced(ctx, t.Node()); err != nil {
			return err
		}
	}
	switch action {
	case sequence.NoteEarly:
		t.engine.history.begun(ctx, t.Node(), r.firstSteps(ctx))
	case sequence.SkipAgent:
		t.record.updateLater(func(n *Node) { kind.ensureSteps(n).disableRamdisk() })
	case sequence.FindAgent:
		if r.ready, err = t.engine.config.fastTracks(t.Node()); r.ready {
			r.ready, err = agentwork.FastTrack(ctx, agentTask{t})
		}
	case sequence.PrepareImage:
		err = explain(ctx, "Failed to prepare to deploy", t.engine.types.call(ctx, t.Node(), "to prepare the image", t.prepareImage))
	case sequence.KeepAgent:
		t.record.updateLater(kind.notePrepared)
	case sequence.BootAgent:
		if err = t.callBooter(ctx, toBoot, AgentBooter.BootAgent); err == nil {
			t.record.updateLater(kind.notePrepared)
			return ErrWait
		}
		err = explain(ctx, "prepare the node for its steps", err)
	case sequence.LearnSteps:
		err = agentwork.ReadSteps(ctx, agentTask{t})
		if errors.Is(err, agent.ErrBusy) {
			return ErrWait
		}
		err = explain(ctx, "Node failed to start the first "+kind.texts.noun+" step", err)
	case sequence.Plan, sequence.Replan, sequence.Recall:
		err = r.plan(ctx, action)
	case sequence.Note:
		t.engine.history.begun(ctx, t.Node(), kind.records(r.steps))
	case sequence.Abort:
		err = &abortError{kind.work, t.Node().Step().String()}
	case sequence.RunStep:
		err = r.runNext(ctx)
	}
	return err
}

// explain puts a text before an error. Once the context has ended, the error is its cause.
func explain(ctx context.Context, text string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("%s: %w", text, err)
	}
}

// runNext runs the next step of the plan.
func (r *stepsRun) runNext(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t, step := r.task, r.steps[r.next]
	r.next++
	err := t.record.persist(ctx, func(n *Node) error {
		s, current := r.kind.ensureSteps(n), step.recorded()
		s.Current, s.Begun, s.AbortAfter, s.Sent, s.Rebooted = &current, r.next, false, false, false
		return nil
	})
	if err != nil {
		return err
	}
	err = t.runStep(ctx, step)
	t.engine.config.Log.Debug("a step has run", "node", t.Node().UUID, "step", step.String(), "error", err)
	if err == nil || errors.Is(err, ErrWait) || errors.Is(err, errHeld) {
		return err
	}
	return &stepError{t.Node(), step, r.kind, err}
}

// stepError reports that a step of a node's work failed.
type stepError struct {
	node *Node
	step Step
	kind *workKind
	err  error
}

// Error returns Ironic's text for the steps of a deployment, a cleaning, a service or an inspection.
//
// Source: do_next_deploy_step in ironic/conductor/deployments.py and its like, and inspect_hardware in inspection.py.
func (e *stepError) Error() string {
	if e.kind.texts.stepFailed != nil {
		return e.kind.texts.stepFailed(e)
	}
	return fmt.Sprintf("step %v failed: %v", e.step, e.err)
}

// stepFailed is the text for a step of a cleaning or a service.
func stepFailed(e *stepError) string {
	step := e.step.checked(e.step.request())
	if e.step.OnChildren {
		step = e.step.request().String()
	}
	return fmt.Sprintf("Node %s failed step %s: %v", e.node.UUID, step, e.err)
}

// deployStepFailed is the text for a step of a deployment.
//
// Source: log_and_raise_deployment_error in ironic/drivers/modules/agent_base.py, whose text has no full stop.
func deployStepFailed(e *stepError) string {
	text := fmt.Sprintf("Deploy step %v failed: %v", e.step, e.err)
	if !slices.Contains([]string{"prepare_instance_boot", "tear_down_agent", "boot_instance"}, e.step.Step) {
		text += "."
	}
	return text
}

func (e *stepError) Unwrap() error { return e.err }

// firstSteps returns the records of the steps of work that begins: as they are planned without the agent, or as the
// client has requested them if that is not possible.
//
// Source: do_node_service in ironic/conductor/servicing.py.
func (r *stepsRun) firstSteps(ctx context.Context) []any {
	kind, n := r.kind, r.task.Node()
	available, err := r.task.engine.types.stepsFor(ctx, r.task.hardware, n, kind.work)
	var steps []Step
	if err == nil {
		steps, err = r.task.engine.planSteps(ctx, n, kind, available)
	}
	if err != nil {
		return records(kind.of(n).Requested, StepRequest.Record)
	}
	return kind.records(steps)
}

// notesNoAgent records that no agent was booted for the steps of a service, as Ironic shows then.
func notesNoAgent(s *Steps, series states.Series) {
	if !s.Prepared && series >= states.Gazpacho {
		s.disableRamdisk()
	}
}

// notePrepared records that the agent runs which executes the steps.
func (k *workKind) notePrepared(n *Node) {
	k.ensureSteps(n).Prepared = true
	for key, value := range eraseParameters {
		setKey(&n.DriverInternalInfo, key, value)
	}
}

// stepGrace is how long a step may take to return after its context has ended. After that the
// call is abandoned.
const stepGrace = 2 * time.Second

// bounded calls f, which may panic, and which has stepGrace to return after its context has ended.
func bounded(ctx context.Context, f func(context.Context) error) error {
	_, err := boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// runStep runs one step. A step that panics has failed.
func (t *Task) runStep(ctx context.Context, step Step) error {
	ctx, err := t.engine.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	t.step = step
	err = t.engine.types.call(ctx, t.Node(), "of step "+step.String(), func(ctx context.Context) error {
		return t.engine.config.traced(ctx, Operation{Name: step.String(), Node: t.Node()}, func(ctx context.Context) error {
			if step.Run == nil {
				return t.runBuiltin(ctx)
			}
			return step.Run(ctx, t)
		})
	})
	if ctx.Err() != nil && err != nil && !errors.Is(err, ErrWait) {
		return context.Cause(ctx)
	}
	return err
}

// plan makes or reads the plan of the work. A new plan is stored by the next write: when a step begins, or at the end
// of work without steps. Work whose agent a step has booted is planned again after the first call-back, since the
// agent's steps are known then.
//
// Source: validate_deploy_steps in ironic/conductor/deployments.py.
func (r *stepsRun) plan(ctx context.Context, action sequence.Action) error {
	e, kind, n := r.task.engine, r.kind, r.task.Node()
	hardware, err := e.types.of(n)
	if err != nil {
		return err
	}
	available, err := e.types.stepsFor(ctx, hardware, n, kind.work)
	if err != nil {
		return err
	}
	before := kind.of(n)
	switch action {
	case sequence.Recall:
		r.steps, r.next = slices.Clone(before.Planned), before.Begun
		for i := range r.steps {
			if r.steps[i], err = e.rules.runnable(r.steps[i], available); err != nil {
				return err
			}
			r.steps[i].Abortable = before.Planned[i].Abortable
		}
		return nil
	case sequence.Replan:
		r.steps, err = kind.steps.replan(ctx, e, n, available)
		r.next = before.continuesAt(n.Step(), r.steps)
	default:
		r.steps, err = e.planSteps(ctx, n, kind, available)
	}
	if err != nil {
		return err
	}
	if action == sequence.Plan || fmt.Sprint(r.steps) != fmt.Sprint(before.Planned) {
		e.config.logPlan(n, r.steps)
	}
	begun, planned := r.next, make([]Step, len(r.steps))
	for i, step := range r.steps {
		planned[i] = step.recorded()
	}
	r.task.record.updateLater(func(n *Node) {
		s := kind.ensureSteps(n)
		s.Planned = planned
		if action == sequence.Replan {
			s.Validated, s.Begun = true, begun
		}
		if kind.steps.notePlanned != nil {
			kind.steps.notePlanned(s, r.task.Series())
		}
		if kind.automated(n) && !kind.composed(n) {
			s.Requested, s.DisableRamdisk = nil, nil // left by an earlier manual cleaning
		}
	})
	return nil
}

// continuesAt returns the index of the next step in a new plan: the step after the current one, or the current one if
// it is repeated.
func (s Steps) continuesAt(current Step, plan []Step) (next int) {
	next = s.Begun
	if i := slices.IndexFunc(plan, func(s Step) bool { return s.String() == current.String() }); i >= 0 {
		next = i + 1
	}
	if s.Begun < len(s.Planned) && s.Planned[s.Begun].String() == current.String() {
		next--
	}
	return next
}

// runInBand sends the task's step to the agent. It returns ErrWait when the agent has accepted it, and also while the
// agent is busy: the step is then sent after the next heartbeat.
//
// Source: execute_step in ironic/drivers/modules/agent_base.py.
func runInBand(ctx context.Context, t *Task) error {
	return t.send(ctx, t.Step().Args)
}

// send is runInBand with other arguments than the step has.
func (t *Task) send(ctx context.Context, args map[string]any) error {
	n, step := t.Node(), t.Step()
	kind := kindOf(n.ProvisionState)
	w := kind.agent.word
	client, err := t.engine.agent(n)
	if err != nil {
		return err
	}
	machine, err := t.engine.machine(ctx, n)
	if err != nil {
		return err
	}
	_, err = client.Execute(ctx, w, agent.Step{
		StepName: agent.StepName{Interface: step.Interface, Step: step.Step}, Priority: step.Priority, Args: args,
		RebootRequested: step.RebootRequested, Abortable: step.Abortable, RequiresRamdisk: w == agent.Clean,
		Repeated: kind.of(n).repeatsPrevious(),
	}, n.Agent.Managers, machine)
	switch {
	case errors.Is(err, agent.ErrBusy):
		return ErrWait
	case err != nil:
		return err
	}
	t.record.updateLater(func(n *Node) { kind.ensureSteps(n).Sent = true })
	return ErrWait
}
