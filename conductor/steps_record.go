// SPDX-License-Identifier: Apache-2.0

package conductor

import "github.com/ironstate/ironstate/states"

// Record returns the step as Ironic's records and texts have it in the steps of a cleaning, a deployment or a service.
// A clean or service step that a client requested has fewer keys.
// The caller owns the map, and shares the arguments with the step.
func (s Step) Record(work states.Work) map[string]any {
	if s.OnChildren { // it is not compared with the steps of the node
		return s.request().Record()
	}
	deploys := work == states.WorkDeploy
	step := map[string]any{"interface": s.Interface, "step": s.Step, "priority": s.Priority}
	if !deploys || s.Abortable { // a deploy step can be aborted since 2026.1
		step["abortable"] = s.Abortable
	}
	if !s.Requested {
		info := argumentsInfo(s.ArgsInfo)
		switch {
		case s.Listed: // as the agent describes it
			step["reboot_requested"] = s.RebootRequested
		case !deploys:
			step["requires_ramdisk"] = !s.NoRamdisk
		}
		if info != nil || !s.Listed {
			step["argsinfo"] = info
		}
	}
	if s.Args != nil {
		step["args"] = s.Args
	}
	if s.Order != nil {
		step["order"] = *s.Order
	}
	return step
}

// request returns a planned step of a cleaning or a service as it was requested.
func (s Step) request() StepRequest {
	return StepRequest{Interface: s.Interface, Step: s.Step, Args: s.Args, Order: s.Order, OnChildren: s.OnChildren, Children: s.Children}
}

// argumentsInfo returns the descriptions of a step's arguments, null for none.
func argumentsInfo(arguments map[string]StepArgument) any {
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

// Record returns the step as Ironic's records and texts have it before it is planned. The caller owns the map, and
// shares the arguments with the step.
func (r StepRequest) Record() map[string]any {
	step := map[string]any{"interface": r.Interface, "step": r.Step}
	if r.Args != nil {
		step["args"] = r.Args
	}
	if r.Priority != nil {
		step["priority"] = *r.Priority
	}
	if r.Order != nil {
		step["order"] = *r.Order
	}
	if r.OnChildren {
		step["execute_on_child_nodes"] = true
	}
	if len(r.Children) > 0 {
		children := make([]any, len(r.Children))
		for i, child := range r.Children {
			children[i] = child
		}
		step["limit_child_node_execution"] = children
	}
	return step
}

// records returns the records of planned steps or of requests.
func records[S any](steps []S, record func(S) map[string]any) []any {
	list := make([]any, len(steps))
	for i, step := range steps {
		list[i] = record(step)
	}
	return list
}

// records returns the records of steps of this kind.
func (k *workKind) records(steps []Step) []any {
	return records(steps, func(s Step) map[string]any { return s.Record(k.work) })
}
