package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// stepKeys locates the steps of one kind of work in a node's record. The names are Ironic's.
type stepKeys struct {
	work  states.State // the state in which the steps run
	verb  string       // Ironic's word for the kind of step
	list  string       // key in info: all steps of the work
	index string       // key in info: the index of the current step
	extra string       // key in info: another parameter of the request
	field func(*Node) *map[string]any
	info  func(*Node) *map[string]any
}

func internalInfo(n *Node) *map[string]any { return &n.DriverInternalInfo }

var (
	cleanSteps   = stepKeys{states.Cleaning, "clean", "clean_steps", "clean_step_index", "cleaning_disable_ramdisk", func(n *Node) *map[string]any { return &n.CleanStep }, internalInfo}
	deploySteps  = stepKeys{states.Deploying, "deploy", "deploy_steps", "deploy_step_index", "user_deploy_steps", func(n *Node) *map[string]any { return &n.DeployStep }, internalInfo}
	serviceSteps = stepKeys{states.Servicing, "service", "service_steps", "service_step_index", "servicing_disable_ramdisk", func(n *Node) *map[string]any { return &n.ServiceStep }, internalInfo}

	// stepsOf maps each state in which work with steps runs, waits or is held to its keys.
	stepsOf = map[states.State]stepKeys{
		states.Cleaning: cleanSteps, states.CleanWait: cleanSteps, states.CleanHold: cleanSteps,
		states.Deploying: deploySteps, states.DeployWait: deploySteps, states.DeployHold: deploySteps,
		states.Servicing: serviceSteps, states.ServiceWait: serviceSteps, states.ServiceHold: serviceSteps,
		states.Inspecting: workSteps(states.Inspecting), states.InspectWait: workSteps(states.Inspecting),
		states.Rescuing: workSteps(states.Rescuing), states.RescueWait: workSteps(states.Rescuing),
		states.Unrescuing: workSteps(states.Unrescuing), states.Deleting: workSteps(states.Deleting),
		states.Adopting: workSteps(states.Adopting),
	}
)

// workSteps returns the keys of work for which Ironic's record has no step fields.
func workSteps(work states.State) stepKeys {
	field := func(n *Node) *map[string]any { return &n.WorkStep }
	info := func(n *Node) *map[string]any { return &n.WorkInfo }
	return stepKeys{work, work.String(), "steps", "index", "", field, info}
}

// forgetSteps removes the steps of finished work from a node's record.
func (n *Node) forgetSteps(keys stepKeys) {
	*keys.field(n) = nil
	info := keys.info(n)
	set(info, keys.list, nil)
	delete(*info, keys.index)
	delete(*info, keys.extra)
	delete(n.WorkInfo, prepared)
}

// prepared is the key in WorkInfo that is true once Prepare has been called and the node
// waits for its call-back.
const prepared = "prepared"

// set stores a value in a map of a record and creates the map if it is nil.
func set(m *map[string]any, key string, value any) {
	if *m == nil {
		*m = map[string]any{}
	}
	(*m)[key] = value
}

// jsonValue converts a value to its form in records, which is that of decoded JSON.
func jsonValue(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var value any
	if unmarshal(text, &value) != nil {
		return nil
	}
	return value
}

// fromJSON is the inverse of jsonValue.
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

// stepName returns the name of a recorded step in errors and logs: "deploy.deploy".
func stepName(step map[string]any) string {
	name, _ := step["step"].(string)
	if kind, _ := step["interface"].(string); kind != "" {
		return kind + "." + name
	}
	return name
}

// record returns a step in the form of Ironic's records. A step that a client requested has
// fewer fields.
func (s Step) record(work states.State) map[string]any {
	record := map[string]any{"interface": s.Interface, "step": s.Step, "priority": jsonValue(s.Priority)}
	if work != states.Deploying {
		record["abortable"] = s.Abortable
	}
	if !s.named {
		record["argsinfo"] = nil
		if len(s.ArgsInfo) > 0 {
			record["argsinfo"] = jsonValue(s.ArgsInfo)
		}
		if work != states.Deploying {
			record["requires_ramdisk"] = !s.NoRamdisk
		}
	}
	if len(s.Args) > 0 {
		record["args"] = s.Args
	}
	return record
}

// stepError reports that a step of a node's work failed.
type stepError struct {
	node *Node
	step Step
	work states.State
	err  error
}

// Error returns Ironic's text for the steps of a cleaning or a service.
func (e *stepError) Error() string {
	record := e.step.record(e.work)
	if e.work != states.Cleaning && e.work != states.Servicing {
		return fmt.Sprintf("step %s failed: %v", stepName(record), e.err)
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
func (c *Conductor) runSteps(ctx context.Context, t *Task, keys stepKeys) error {
	if err := c.prepareOnce(ctx, t, keys); err != nil {
		return err
	}
	steps, next, err := c.plannedSteps(ctx, t, keys)
	if err != nil {
		return err
	}
	if 0 < next && next < len(steps) && (*keys.field(t.Node()))["abort_after"] == true {
		return errAborted
	}
	for i := next; i < len(steps); i++ {
		step := steps[i]
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := t.persist(ctx, func(n *Node) error {
			list, _ := (*keys.info(n))[keys.list].([]any)
			if i < len(list) {
				record, _ := list[i].(map[string]any)
				*keys.field(n) = maps.Clone(record)
			}
			set(keys.info(n), keys.index, jsonValue(i))
			return nil
		})
		if err != nil {
			return err
		}
		switch err := c.runStep(ctx, t, step); {
		case errors.Is(err, ErrWait), errors.Is(err, errHeld):
			return err
		case err != nil:
			return &stepError{t.Node(), step, keys.work, err}
		}
	}
	return nil
}

// prepareOnce calls Prepare before the first step, if the hardware type is a Preparer.
func (c *Conductor) prepareOnce(ctx context.Context, t *Task, keys stepKeys) error {
	preparer, ok := t.hardware.(Preparer)
	info := *keys.info(t.Node())
	withoutRamdisk := info[keys.extra] == true && (keys.work == states.Servicing || t.Node().TargetProvisionState == states.Manageable)
	if !ok || withoutRamdisk || keys.work != states.Cleaning && keys.work != states.Servicing || t.Node().begun(keys) {
		return nil
	}
	ctx, err := c.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	_, err = boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, preparer.Prepare(ctx, t, keys.work)
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrWait):
		t.updateLater(func(n *Node) { set(&n.WorkInfo, prepared, true) })
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("prepare the node for its steps: %w", err)
	}
}

// begun reports whether a node's work has started its first step or its preparation.
func (n *Node) begun(keys stepKeys) bool {
	_, first := (*keys.info(n))[keys.index]
	return first || n.WorkInfo[prepared] == true
}

// stepGrace is how long a step may take to return after its context has ended. After that the
// call is abandoned.
const stepGrace = 2 * time.Second

// runStep runs one step. A step that panics has failed.
func (c *Conductor) runStep(ctx context.Context, t *Task, step Step) error {
	run := step.Run
	if run == nil {
		run = builtinSteps[step.Step]
	}
	ctx, err := c.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	t.step = step
	_, err = boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.traced(ctx, Operation{Name: stepName(step.record(states.NoState)), Node: t.Node()}, func(ctx context.Context) error {
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
func (c *Conductor) plannedSteps(ctx context.Context, t *Task, keys stepKeys) ([]Step, int, error) {
	n := t.Node()
	hardware, err := c.hardware(n)
	if err != nil {
		return nil, 0, err
	}
	available := c.stepsFor(hardware, n, keys.work)
	if index, ok := number((*keys.info(n))[keys.index]); ok {
		stored, err := fromJSON[[]Step]((*keys.info(n))[keys.list])
		if err != nil {
			return nil, 0, fmt.Errorf("stored steps: %w", err)
		}
		if keys.work == states.Deploying {
			if _, err := c.finalSteps(ctx, n, available, false); err != nil {
				return nil, 0, err
			}
		}
		for i := range stored {
			if stored[i], err = c.runnable(stored[i], available); err != nil {
				return nil, 0, err
			}
		}
		return stored, int(index) + 1, nil
	}
	steps, err := c.planSteps(ctx, n, keys, available)
	if err != nil {
		return nil, 0, err
	}
	t.updateLater(func(n *Node) {
		list := make([]any, len(steps))
		for i, step := range steps {
			list[i] = step.record(keys.work)
		}
		if keys.work == states.Cleaning && n.TargetProvisionState != states.Manageable {
			delete(n.DriverInternalInfo, keys.extra) // left by an earlier manual cleaning
		}
		set(keys.info(n), keys.list, list)
	})
	return steps, 0, nil
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
	sleep(ctx, time.Duration(seconds*float64(time.Second)))
	return context.Cause(ctx)
}

func powerStep(power states.Power) func(context.Context, *Task) error {
	return func(ctx context.Context, t *Task) error { return t.SetPower(ctx, power) }
}
