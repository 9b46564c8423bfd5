// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

// stepKind is a kind of steps that Ironic has in driver_internal_info.
type stepKind struct {
	list, index, params string // the keys of the steps, of the current one's index, and of the request's parameters
	deploys             bool   // the steps are those of a deployment
	of                  func(*node) *conductor.Steps
}

var (
	cleanSteps = stepKind{
		list: "clean_steps", index: "clean_step_index", params: "cleaning_disable_ramdisk",
		of: func(n *node) *conductor.Steps { return n.CleanSteps },
	}
	deploySteps = stepKind{
		list: "deploy_steps", index: "deploy_step_index", params: "user_deploy_steps", deploys: true,
		of: func(n *node) *conductor.Steps { return n.DeploySteps },
	}
	serviceSteps = stepKind{
		list: "service_steps", index: "service_step_index", params: "servicing_disable_ramdisk",
		of: func(n *node) *conductor.Steps { return n.ServiceSteps },
	}
)

// stepField returns the field with the current step of a kind, {} for none.
func stepField(name string, since states.APIVersion, kind stepKind) field {
	return field{name: name, since: since, types: []string{"object", "null"}, get: func(n *node) any {
		s := kind.of(n)
		if s == nil || s.Current == nil {
			return map[string]any{}
		}
		step := kind.planned(*s.Current)
		if s.AbortAfter {
			step["abort_after"] = true
		}
		return step
	}}.masked(masked.Object)
}

// internalInfoField is driver_internal_info, with the steps of the node's work.
var internalInfoField = field{
	name: "driver_internal_info", since: since.InternalInfo, types: []string{"object", "null"},
	get: func(n *node) any {
		info := n.InternalInfo()
		for _, kind := range []stepKind{cleanSteps, deploySteps, serviceSteps} {
			if steps := kind.of(n); steps != nil {
				kind.add(info, steps)
			}
		}
		return info
	},
}.masked(masked.Object)

// add adds steps to driver_internal_info. Until the work begins the list holds the requested steps.
func (k stepKind) add(info map[string]any, s *conductor.Steps) {
	requested := make([]any, len(s.Requested))
	for i, request := range s.Requested {
		step := map[string]any{"interface": request.Interface, "step": request.Step}
		if request.Args != nil {
			step["args"] = request.Args
		}
		if request.Priority != nil {
			step["priority"] = *request.Priority
		}
		requested[i] = step
	}
	planned := make([]any, len(s.Planned))
	for i, step := range s.Planned {
		planned[i] = k.planned(step)
	}
	switch {
	case s.Planned != nil:
		info[k.list] = planned
	case s.Requested != nil && !k.deploys:
		info[k.list] = requested
	default:
		info[k.list] = nil // as the end of the work leaves it
	}
	if s.Begun > 0 {
		info[k.index] = s.Begun - 1
	}
	switch {
	case k.deploys && len(requested) > 0:
		info[k.params] = requested
	case !k.deploys && s.Requested != nil:
		info[k.params] = s.DisableRamdisk
	}
}

// planned returns a step in the form of Ironic's records. A clean or service step that a client
// requested has fewer fields.
func (k stepKind) planned(s conductor.Step) map[string]any {
	step := map[string]any{"interface": s.Interface, "step": s.Step, "priority": s.Priority}
	if !k.deploys {
		step["abortable"] = s.Abortable
	}
	if !s.Requested {
		step["argsinfo"] = argumentsInfo(s.ArgsInfo)
		if !k.deploys {
			step["requires_ramdisk"] = !s.NoRamdisk
		}
	}
	if len(s.Args) > 0 {
		step["args"] = s.Args
	}
	return step
}

// argumentsInfo returns the descriptions of a step's arguments, null for none.
func argumentsInfo(arguments map[string]conductor.StepArgument) any {
	if len(arguments) == 0 {
		return nil
	}
	info := map[string]any{}
	for name, a := range arguments {
		argument := map[string]any{}
		if a.Description != "" {
			argument["description"] = a.Description
		}
		if a.Required {
			argument["required"] = true
		}
		info[name] = argument
	}
	return info
}
