// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// set stores a value in a map of a record and creates the map if it is nil.
func set(m *map[string]any, key string, value any) {
	if *m == nil {
		*m = map[string]any{}
	}
	(*m)[key] = value
}

// fromJSON converts a decoded JSON value to a typed one.
func fromJSON[T any](value any) (v T, err error) {
	text, err := json.Marshal(value)
	if err == nil {
		err = unmarshal(text, &v)
	}
	return v, err
}

func number(value any) (float64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// stepError reports that a step of a node's work failed.
type stepError struct {
	node *Node
	step Step
	work states.State
	err  error
}

// Error returns Ironic's text for the steps of a deployment, a cleaning, a service or an inspection.
//
// Source: do_next_deploy_step in ironic/conductor/deployments.py and its like, inspect_hardware in inspection.py, and
// log_and_raise_deployment_error in ironic/drivers/modules/agent_base.py, whose text has no full stop.
func (e *stepError) Error() string {
	switch e.work {
	case states.Cleaning, states.Servicing:
	case states.Inspecting:
		return e.err.Error()
	case states.Deploying:
		if preparation := new(prepareError); errors.As(e.err, &preparation) {
			return "Failed to prepare to deploy: " + preparation.Error()
		}
		text := fmt.Sprintf("Deploy step %v failed: %v", e.step, e.err)
		if !slices.Contains([]string{"prepare_instance_boot", "tear_down_agent", "boot_instance"}, e.step.Step) {
			text += "."
		}
		return text
	default:
		return fmt.Sprintf("step %v failed: %v", e.step, e.err)
	}
	request := StepRequest{Interface: e.step.Interface, Step: e.step.Step, Args: e.step.Args}
	text := fmt.Sprintf("%s, 'abortable': %s, 'priority': %d}", strings.TrimSuffix(request.String(), "}"), pyrepr.Of(e.step.Abortable), e.step.Priority)
	return fmt.Sprintf("Node %s failed step %s: %v", e.node.UUID, text, e.err)
}

func (e *stepError) Unwrap() error { return e.err }

var (
	errAborted = errors.New("the work was aborted by request")
	errHeld    = errors.New("the work is held")
)

// abortError reports that work was aborted by request after a step that was not abortable.
type abortError struct {
	work states.State
	step string
}

func (e *abortError) Error() string {
	operation := "clean"
	if e.work == states.Servicing {
		operation = "service"
	}
	return "By request, the " + operation + " operation was aborted" + afterStep(e.step)
}

func (e *abortError) Unwrap() error { return errAborted }

// runSteps runs a node's steps, starting with the first or with the successor of the step that
// waited. It returns nil when all steps are done, ErrWait or errHeld if the node must wait or
// be held, errAborted, a *stepError, or the store's error.
func (t *Task) runSteps(ctx context.Context, kind stepKind) error {
	if err := t.bootOnce(ctx, kind); err != nil {
		return err
	}
	if err := t.learnSteps(ctx, kind); err != nil {
		return err
	}
	steps, next, err := t.plannedSteps(ctx, kind)
	if err != nil {
		return err
	}
	if 0 < next && next < len(steps) && kind.of(t.Node()).AbortAfter {
		return errAborted
	}
	for i := next; i < len(steps); i++ {
		step := steps[i]
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := t.persist(ctx, func(n *Node) error {
			s, current := kind.edit(n), step.recorded()
			s.Current, s.Begun, s.AbortAfter, s.Sent, s.Rebooted = &current, i+1, false, false, false
			return nil
		})
		if err != nil {
			return err
		}
		switch err := t.runStep(ctx, step); {
		case errors.Is(err, ErrWait), errors.Is(err, errHeld):
			return err
		case err != nil:
			return &stepError{t.Node(), step, kind.work, err}
		}
	}
	return nil
}

// bootOnce boots the agent before the first step of a cleaning or a service, if the node uses it, unless by fast track the
// agent that runs does the work.
//
// Source: prepare_inband_cleaning in ironic/drivers/modules/deploy_utils.py.
func (t *Task) bootOnce(ctx context.Context, kind stepKind) error {
	booter, steps := agentBooter(t.hardware, t.Node()), kind.of(t.Node())
	if booter == nil || kind.withoutRamdisk(t.Node()) || agentWork[kind.work] == "" || steps.begun() {
		return nil
	}
	ctx, err := t.engine.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	if kind.work != states.Servicing {
		switch ready, err := fastTrack(ctx, t); {
		case err != nil:
			return err
		case kind.work == states.Deploying:
			return nil // unless the agent is ready, a step boots it
		case ready:
			t.updateLater(kind.prepared)
			return nil
		}
	}
	_, err = boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, booter.BootAgent(ctx, t)
	})
	switch {
	case err == nil:
		t.updateLater(kind.prepared)
		return ErrWait
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("prepare the node for its steps: %w", err)
	}
}

// prepared records that the agent runs which executes the steps.
func (k stepKind) prepared(n *Node) {
	k.edit(n).Prepared = true
	for key, value := range eraseParameters {
		set(&n.DriverInternalInfo, key, value)
	}
}

// learnSteps asks the agent for its steps before those of a cleaning or a service are planned. It returns ErrWait while
// the agent is busy.
func (t *Task) learnSteps(ctx context.Context, kind stepKind) error {
	if steps := kind.of(t.Node()); !steps.Prepared || steps.Begun > 0 || agentBooter(t.hardware, t.Node()) == nil {
		return nil
	}
	ctx, err := t.engine.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	switch err := t.refreshAgentSteps(ctx, agentWork[kind.work]); {
	case errors.Is(err, agent.ErrBusy):
		return ErrWait
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("Node failed to start the first %s step: %w", map[states.State]string{states.Cleaning: "cleaning", states.Servicing: "service"}[kind.work], err)
	}
	return nil
}

// stepGrace is how long a step may take to return after its context has ended. After that the
// call is abandoned.
const stepGrace = 2 * time.Second

// runStep runs one step. A step that panics has failed.
func (t *Task) runStep(ctx context.Context, step Step) error {
	run := step.Run
	if run == nil {
		run = builtinSteps[step.Step]
	}
	ctx, err := t.engine.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	t.step = step
	_, err = boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, t.engine.config.traced(ctx, Operation{Name: step.String(), Node: t.Node()}, func(ctx context.Context) error {
			return run(ctx, t)
		})
	})
	if ctx.Err() != nil && err != nil && !errors.Is(err, ErrWait) {
		return context.Cause(ctx)
	}
	return err
}

// plannedSteps returns the steps of a node's work and the index of the next step. It reads
// them from the record if the work has started. A new plan is stored by the next write, that
// of the first step or that of the end of work without steps.
func (t *Task) plannedSteps(ctx context.Context, kind stepKind) ([]Step, int, error) {
	n := t.Node()
	hardware, err := t.engine.rules.hardware(n)
	if err != nil {
		return nil, 0, err
	}
	available := t.engine.rules.stepsFor(hardware, n, kind.work)
	if s := kind.of(n); s.Begun > 0 {
		if kind.work == states.Deploying && !s.Validated {
			return t.replanDeployment(ctx, n, available)
		}
		steps := slices.Clone(s.Planned)
		for i := range steps {
			if steps[i], err = t.engine.rules.runnable(steps[i], available); err != nil {
				return nil, 0, err
			}
		}
		return steps, s.Begun, nil
	}
	steps, err := t.engine.planSteps(ctx, n, kind, available)
	if err != nil {
		return nil, 0, err
	}
	t.updateLater(func(n *Node) {
		s := kind.edit(n)
		s.Planned = make([]Step, len(steps))
		for i, step := range steps {
			s.Planned[i] = step.recorded()
		}
		if kind.work == states.Cleaning && n.TargetProvisionState != states.Manageable {
			s.Requested, s.DisableRamdisk = nil, false // left by an earlier manual cleaning
		}
	})
	return steps, 0, nil
}

// replanDeployment plans a deployment again after the first call-back, since the agent's steps are known then, and
// returns the steps and the index of the one that follows the current one.
//
// Source: validate_deploy_steps in ironic/conductor/deployments.py.
func (t *Task) replanDeployment(ctx context.Context, n *Node, available []Step) ([]Step, int, error) {
	steps, err := t.engine.planDeployment(ctx, n, available, false)
	if err != nil {
		return nil, 0, err
	}
	current, next := n.Step(), n.DeploySteps.Begun
	if i := slices.IndexFunc(steps, func(s Step) bool { return s.String() == current.String() }); i >= 0 {
		next = i + 1
	}
	if n.DeploySteps.Begun < len(n.DeploySteps.Planned) && n.DeploySteps.Planned[n.DeploySteps.Begun].String() == current.String() {
		next-- // the current step is repeated
	}
	t.updateLater(func(n *Node) { n.DeploySteps.plan(steps, next) })
	return steps, next, nil
}

// plan stores the steps of a deployment, of which next have begun.
func (s *Steps) plan(steps []Step, next int) {
	s.Validated, s.Begun, s.Planned = true, next, make([]Step, len(steps))
	for i, step := range steps {
		s.Planned[i] = step.recorded()
	}
}

// builtinSteps are the steps that exist for every hardware type.
//
// Source: the reserved steps of ironic/conductor/steps.py since 2023.2.
var builtinSteps map[string]func(context.Context, *Task) error

func init() {
	builtinSteps = map[string]func(context.Context, *Task) error{
		"hold":      func(context.Context, *Task) error { return errHeld },
		"wait":      waitStep,
		"power_on":  powerStep(states.PowerOn),
		"power_off": powerStep(states.PowerOff),
		"reboot":    powerStep(states.PowerRebooting),
	}
}

// waitStep waits for the number of seconds in its argument "seconds", or without one for the
// next heartbeat.
func waitStep(ctx context.Context, t *Task) error {
	seconds, ok := number(t.Step().Args["seconds"])
	if !ok {
		return ErrWait
	}
	sleep.For(ctx, time.Duration(seconds*float64(time.Second)))
	return context.Cause(ctx)
}

func powerStep(power states.Power) func(context.Context, *Task) error {
	return func(ctx context.Context, t *Task) error { return t.SetPower(ctx, power) }
}
