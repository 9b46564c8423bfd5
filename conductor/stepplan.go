package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// planSteps returns the steps for work that starts.
func (c *Conductor) planSteps(ctx context.Context, n *Node, keys stepKeys, hardware Hardware, available []Step) ([]Step, error) {
	switch {
	case keys.work == states.Deploying:
		return c.planDeployment(ctx, n, available)
	case keys.work == states.Servicing, keys.work == states.Cleaning && n.TargetProvisionState == states.Manageable:
	default:
		return automaticSteps(n, keys.work, hardware, available)
	}
	named, err := fromJSON[[]StepRequest]((*keys.info(n))[keys.list])
	if err != nil {
		return nil, fmt.Errorf("stored steps: %w", err)
	}
	steps := make([]Step, 0, len(named))
	for _, request := range named {
		step, err := c.runnable(Step{Interface: request.Interface, Step: request.Step, Args: request.Args}, available)
		if err == nil {
			err = step.checkArgs()
		}
		if err != nil {
			return nil, err
		}
		step.named = true
		steps = append(steps, step)
	}
	return steps, nil
}

// planDeployment merges three lists of steps: the hardware type's, those of the deploy
// templates that the instance's traits name, and those of the request. A step of a later
// list replaces steps with the same interface and name of an earlier list; priority 0 removes
// it. As in Ironic, steps that the hardware type does not have are left out.
func (c *Conductor) planDeployment(ctx context.Context, n *Node, available []Step) ([]Step, error) {
	named, err := fromJSON[[]StepRequest](n.DriverInternalInfo[deploySteps.extra])
	if err != nil {
		return nil, fmt.Errorf("stored deploy steps: %w", err)
	}
	requested, err := c.deploymentSteps(ctx, n, named, available)
	if err != nil {
		return nil, err
	}
	steps := slices.Clone(available)
	for _, step := range requested {
		steps = slices.DeleteFunc(steps, func(s Step) bool { return s.Interface == step.Interface && s.Step == step.Step })
		steps = append(steps, step)
	}
	if steps = automatic(steps); len(steps) == 0 {
		return nil, errors.New("there are no deploy steps")
	}
	return steps, nil
}

// deploymentSteps returns the steps from deploy templates, followed by those of the request.
func (c *Conductor) deploymentSteps(ctx context.Context, n *Node, named []StepRequest, available []Step) ([]Step, error) {
	requests, err := c.templateSteps(ctx, n)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, request := range append(requests, named...) {
		step, err := c.runnable(Step{Interface: request.Interface, Step: request.Step, Args: request.Args}, available)
		if err != nil {
			c.config.Log.Info("a deploy step is left out", "node", n.UUID, "error", err)
			continue
		}
		if request.Priority != nil {
			step.Priority = *request.Priority
		}
		if step.Priority > 0 {
			err = step.checkArgs()
			if step.Interface == "deploy" && step.Step == "deploy" {
				err = refuse(Invalid, "deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0")
			}
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// checkArgs refuses unknown arguments, and the absence of required ones.
func (s Step) checkArgs() error {
	if _, ok := builtinSteps[s.Step]; ok {
		return nil
	}
	var unexpected, missing []string
	for name := range s.Args {
		if _, ok := s.ArgsInfo[name]; !ok {
			unexpected = append(unexpected, name)
		}
	}
	for name, argument := range s.ArgsInfo {
		if _, ok := s.Args[name]; !ok && argument.Required {
			missing = append(missing, fmt.Sprintf("%s (%s)", name, argument.Description))
		}
	}
	slices.Sort(unexpected)
	slices.Sort(missing)
	switch {
	case len(unexpected) > 0:
		return refuse(Invalid, "step %s.%s has these unexpected arguments: %s", s.Interface, s.Step, strings.Join(unexpected, ", "))
	case len(missing) > 0:
		return refuse(Invalid, "step %s.%s is missing these required arguments: %s", s.Interface, s.Step, strings.Join(missing, ", "))
	default:
		return nil
	}
}

// templateSteps returns the steps of the deploy templates named by the traits of the
// node's instance_info.
func (c *Conductor) templateSteps(ctx context.Context, n *Node) ([]StepRequest, error) {
	traits, _ := n.InstanceInfo["traits"].([]any)
	var steps []StepRequest
	for _, trait := range traits {
		name, _ := trait.(string)
		template, err := c.Object(ctx, KindDeployTemplate, name)
		if errors.Is(err, NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		of, err := fromJSON[[]StepRequest](template.Fields["steps"])
		if err != nil {
			return nil, fmt.Errorf("deploy template %s: %w", name, err)
		}
		steps = append(steps, of...)
	}
	return steps, nil
}

// automaticSteps returns the steps of work that no client composes. Without any the work would
// change nothing and succeed, so it fails; only in Ironic's fake-hardware nothing needs to be erased.
func automaticSteps(n *Node, work states.State, hardware Hardware, available []Step) ([]Step, error) {
	steps := automatic(available)
	switch {
	case len(steps) > 0:
		return steps, nil
	case work != states.Cleaning:
		return nil, refuse(Unsupported, "Driver %s has no steps for a node in provision state %q.", n.Driver, work)
	case hardware.Describe().Simulated:
		return nil, nil
	default:
		return nil, refuse(Unsupported, "Cannot clean node %s: driver %s has no automated clean steps, so nothing would be erased. "+
			"For nodes that need no cleaning, set automated_clean to false on the node, or for the whole conductor (-automated-clean=false).", n.UUID, n.Driver)
	}
}

// automatic returns the steps with a priority above 0 in the order in which they run.
func automatic(steps []Step) []Step {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Priority <= 0 })
	slices.SortStableFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Interface, b.Interface), cmp.Compare(a.Step, b.Step))
	})
	return steps
}

// runnable completes a requested or stored step with the hardware type's function and
// properties.
func (c *Conductor) runnable(step Step, available []Step) (Step, error) {
	for _, s := range available {
		if s.Interface == step.Interface && s.Step == step.Step {
			s.Args = step.Args
			if step.Priority != 0 {
				s.Priority = step.Priority
			}
			return s, nil
		}
	}
	if _, ok := builtinSteps[step.Step]; ok && c.config.Table.Series() >= states.Bobcat {
		step.Abortable = true
		return step, nil
	}
	return Step{}, fmt.Errorf("the hardware type has no step %s.%s", step.Interface, step.Step)
}
