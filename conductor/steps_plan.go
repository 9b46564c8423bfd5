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
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
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

// checked returns a requested step as Ironic prints it after its first check, which adds what a client cannot choose.
func (s Step) checked(request StepRequest) string {
	return fmt.Sprintf("%s, 'abortable': %s, 'priority': %d}", strings.TrimSuffix(request.String(), "}"), pyrepr.Of(s.Abortable), s.Priority)
}

// problems returns the reasons why a step cannot run as requested.
func (s Step) problems(request string, kind *workKind, withoutRamdisk bool) (problems []string) {
	if _, ok := builtinSteps[s.Step]; ok {
		return nil
	}
	disabled := kind.steps.merges && s.Priority <= 0
	var unexpected, missing []string
	for name := range s.Args {
		if _, ok := s.ArgsInfo[name]; !ok {
			unexpected = append(unexpected, name)
		}
	}
	for name, argument := range s.ArgsInfo {
		if _, ok := s.Args[name]; !ok && argument.Required && !disabled {
			missing = append(missing, fmt.Sprintf("%s (%s)", name, argument.Description))
		}
	}
	slices.Sort(unexpected)
	slices.Sort(missing)
	if len(unexpected) > 0 {
		problems = append(problems,
			fmt.Sprintf("%v step %s has these unexpected arguments: %s", kind.work, request, strings.Join(unexpected, ", ")))
	}
	if len(missing) > 0 {
		problems = append(problems,
			fmt.Sprintf("%v step %s is missing these required arguments: %s", kind.work, request, strings.Join(missing, ", ")))
	}
	if withoutRamdisk && !s.NoRamdisk {
		problems = append(problems, fmt.Sprintf("%v step %s requires booting a ramdisk", kind.work, request))
	}
	if kind.steps.merges && !disabled && s.Interface == "deploy" && s.Step == "deploy" {
		problems = append(problems, "deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. "+
			"It may be disabled by setting the priority to 0")
	}
	return problems
}

// String returns the step as Ironic prints it in its errors, without secrets.
func (r StepRequest) String() string {
	fields := []string{"'interface': " + pyrepr.Text(r.Interface), "'step': " + pyrepr.Text(r.Step)}
	if r.Args != nil {
		fields = append(fields, "'args': "+pyrepr.Of(masked.Value(r.Args)))
	}
	if r.Order != nil {
		fields = append(fields, fmt.Sprintf("'order': %d", *r.Order))
	}
	if r.Priority != nil {
		fields = append(fields, fmt.Sprintf("'priority': %d", *r.Priority))
	}
	if r.OnChildren {
		fields = append(fields, "'execute_on_child_nodes': True")
	}
	if len(r.Children) > 0 {
		fields = append(fields, "'limit_child_node_execution': "+pyrepr.List(r.Children))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// CheckSteps returns an error that matches [Invalid] if the rules do not allow a step of the request, and otherwise
// nil.
//
// Source: check_disallowed_steps in ironic/conductor/steps.py.
func (r *ProvisionRequest) CheckSteps(rules admission.Rules) error {
	for i := range works {
		kind := &works[i]
		if kind.steps.requested == nil {
			continue
		}
		for _, step := range kind.steps.requested(r) {
			if text := disallowedText(rules, kind, step.Interface+"."+step.Step); text != "" {
				return refuse(Invalid, "%s", text)
			}
		}
	}
	return nil
}

// disallowedText returns why the operator's configuration does not allow a step, or "" if it does.
func disallowedText(rules admission.Rules, kind *workKind, step string) string {
	if rules.AllowsStep(kind.work, step) {
		return ""
	}
	return fmt.Sprintf("%v step '%s' is not allowed. Disallowed by operator configuration [api]disallow_%v_steps.", kind.work, step, kind.work)
}

// allNamed reports whether all steps are named by their interface and themselves.
func allNamed(steps []string) bool {
	for _, name := range steps {
		if kind, step, _ := strings.Cut(name, "."); kind == "" || step == "" {
			return false
		}
	}
	return true
}
