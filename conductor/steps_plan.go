// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/states"
)

// planSteps returns the steps for work that starts.
func (e *engine) planSteps(ctx context.Context, n *Node, kind *workKind, available []Step) ([]Step, error) {
	switch {
	case kind.composed(n):
	case kind.steps.plan != nil:
		return kind.steps.plan(ctx, e, n, available)
	default:
		steps := automatic(available)
		if len(steps) == 0 {
			return nil, refuse(Unsupported, "Driver %s has no steps for a node in provision state %q.", n.Driver, kind.work.Working())
		}
		return steps, nil
	}
	stored := kind.of(n)
	steps, problems := e.rules.checkSteps(stored.Requested, kind, available, stored.withoutRamdisk(), false)
	if len(problems) > 0 {
		begin := fmt.Sprintf("Cannot %v node %s", kind.work, n.UUID)
		if on, _ := e.config.fastTracks(n); !on && n.Agent.hasSteps(kind.agent.word) { // its first heartbeat has begun the work
			begin = fmt.Sprintf("Node failed to start the first %s step", kind.texts.noun)
		}
		return nil, refuse(Invalid, "%s: %s", begin, strings.Join(problems, "; "))
	}
	for i := range steps {
		steps[i].Requested = true
	}
	return steps, nil
}

// planCleaning returns the steps of an automated cleaning that has no runbook. Without any it would change nothing and
// succeed, so it fails; only in Ironic's fake-hardware nothing needs to be erased.
func planCleaning(_ context.Context, e *engine, n *Node, available []Step) ([]Step, error) {
	steps := automatic(withPriorities(e.rules.allowed(cleanSteps, available), e.config.CleanStepPriorities))
	if len(steps) == 0 && !e.types.description(n).Simulated {
		return nil, refuse(Unsupported, "Cannot clean node %s: driver %s has no automated clean steps, so nothing would be erased. "+
			"For nodes that need no cleaning, set automated_clean to false on the node, "+
			"or switch automated cleaning off for the whole conductor.", n.UUID, n.Driver)
	}
	return steps, nil
}

// planNewDeployment is planDeployment for a deployment that begins, perhaps without the steps of the agent.
func planNewDeployment(ctx context.Context, e *engine, n *Node, available []Step) ([]Step, error) {
	hardware, _ := e.types.of(n)
	uses, err := e.types.usesAgent(ctx, hardware, n, states.WorkDeploy)
	if err != nil {
		return nil, err
	}
	comes := uses && !n.Agent.hasSteps(agent.Deploy)
	return e.planDeployment(ctx, n, available, comes || e.types.description(n).Simulated)
}

// replanDeployment is planDeployment with the steps of the agent.
func replanDeployment(ctx context.Context, e *engine, n *Node, available []Step) ([]Step, error) {
	return e.planDeployment(ctx, n, available, false)
}

// planDeployment merges three lists of steps: the hardware type's, the steps of the deploy
// templates that the instance's traits name, and the requested ones. A step of a later
// list replaces steps with the same interface and name of an earlier list; priority 0 removes
// it. A requested step that the hardware type does not have fails the deployment. With leaveOut it is
// left out, until a call-back tells whether an agent has it.
//
// Source: continue_node_deploy in ironic/conductor/deployments.py.
func (e *engine) planDeployment(ctx context.Context, n *Node, available []Step, leaveOut bool) ([]Step, error) {
	requested, err := e.deploymentSteps(ctx, n, deploySteps.of(n).Requested, func() ([]Step, error) { return available, nil }, leaveOut)
	if errors.Is(err, Invalid) {
		err = refuse(Invalid, "Failed to validate the final deploy steps list for node %s: %w", n.UUID, err)
	}
	if err != nil {
		return nil, err
	}
	steps := e.rules.allowed(deploySteps, available)
	for _, step := range requested {
		steps = slices.DeleteFunc(steps, func(s Step) bool { return s.Interface == step.Interface && s.Step == step.Step })
		steps = append(steps, step)
	}
	if steps = automatic(steps); len(steps) == 0 {
		return nil, refuse(Unsupported, "No deploy steps returned by the driver")
	}
	return steps, nil
}

// deploymentSteps returns the steps from deploy templates, followed by the requested ones. With leaveOut it leaves out
// steps that are not available. Without any such step it does not call available, which returns the steps of the node's
// hardware type.
func (e *engine) deploymentSteps(
	ctx context.Context, n *Node, named []StepRequest, available func() ([]Step, error), leaveOut bool,
) ([]Step, error) {
	requests, templates, err := e.fleet.templateSteps(ctx, n)
	if err != nil || len(requests)+len(named) == 0 {
		return nil, err
	}
	all, err := available()
	if err != nil {
		return nil, err
	}
	steps, problems := e.rules.checkSteps(requests, deploySteps, all, false, leaveOut)
	if len(problems) > 0 {
		return nil, refuse(Invalid, "Validation of deploy steps from deploy templates matching this node's instance traits failed. "+
			"Matching deploy templates: %s. Errors: %s", strings.Join(templates, ","), strings.Join(problems, "; "))
	}
	requested, problems := e.rules.checkSteps(named, deploySteps, all, false, leaveOut)
	if len(problems) > 0 {
		return nil, refuse(Invalid, `Validation of deploy steps from "deploy steps" argument failed.%s`, strings.Join(problems, "; "))
	}
	steps = append(steps, requested...)
	for i := range steps { // the agent's reboots stay
		steps[i].Requested, steps[i].Abortable = true, false
	}
	return steps, nil
}

// templateSteps returns the steps and the names of the deploy templates named by the traits of the
// node's instance_info.
func (f *fleet) templateSteps(ctx context.Context, n *Node) (steps []StepRequest, templates []string, err error) {
	traits, _ := n.InstanceInfo["traits"].([]any)
	for _, trait := range traits {
		name, _ := trait.(string)
		template, err := find[*DeployTemplate](ctx, f, name)
		if errors.Is(err, NotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		steps, templates = append(steps, template.Steps...), append(templates, name)
	}
	return steps, templates, nil
}

// withPriorities returns the steps with other priorities, which are given by the interface and the name of a step.
//
// Source: _get_steps in ironic/conductor/steps.py.
func withPriorities(steps []Step, priorities map[string]int) []Step {
	steps = slices.Clone(steps)
	for i := range steps {
		if priority, ok := priorities[steps[i].String()]; ok {
			steps[i].Priority = priority
		}
	}
	return steps
}

// stepOrder is the order in which the steps of hardware interfaces run that have the same priority.
//
// Source: SERVICING_INTERFACE_PRIORITY in ironic/conductor/steps.py.
var stepOrder = []string{"network", "vendor", "power", "management", "firmware", "deploy", "bios", "raid"}

// automatic returns the steps with a priority above 0 in the order in which they run.
func automatic(steps []Step) []Step {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Priority <= 0 })
	slices.SortStableFunc(steps, func(a, b Step) int {
		return cmp.Or(
			cmp.Compare(b.Priority, a.Priority),
			cmp.Compare(slices.Index(stepOrder, a.Interface), slices.Index(stepOrder, b.Interface)),
			cmp.Compare(a.Step, b.Step),
		)
	})
	return steps
}
