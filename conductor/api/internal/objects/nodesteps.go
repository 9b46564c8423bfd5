// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

// stepKind is a kind of steps that Ironic has in driver_internal_info.
type stepKind struct {
	list, index, params string // the keys of the steps, of the current one's index, and of the request's parameters
	work                states.Work
	of                  func(*node) *conductor.Steps
}

var (
	cleanSteps = stepKind{
		list: "clean_steps", index: "clean_step_index", params: "cleaning_disable_ramdisk", work: states.WorkClean,
		of: func(n *node) *conductor.Steps { return n.CleanSteps },
	}
	deploySteps = stepKind{
		list: "deploy_steps", index: "deploy_step_index", params: "user_deploy_steps", work: states.WorkDeploy,
		of: func(n *node) *conductor.Steps { return n.DeploySteps },
	}
	serviceSteps = stepKind{
		list: "service_steps", index: "service_step_index", params: "service_disable_ramdisk", work: states.WorkService,
		of: func(n *node) *conductor.Steps { return n.ServiceSteps },
	}
)

// stepField returns the field with the current step of a kind, {} for none.
func stepField(name string, since states.APIVersion, kind stepKind) field {
	return field{name: name, since: since, flags: readOnly, zero: noObject, mask: masked.Value, get: func(o record) any {
		s := kind.of(o.(*node))
		if s == nil || s.Current == nil {
			return nil
		}
		step := s.Current.Record(kind.work)
		if s.AbortAfter {
			step["abort_after"] = true
		}
		return step
	}}
}

// internalInfoField is driver_internal_info, with the steps of the node's work.
var internalInfoField = field{
	name: "driver_internal_info", since: since.InternalInfo, flags: readOnly, zero: noObject, mask: masked.Value,
	get: func(o record) any {
		n := o.(*node)
		info := n.InternalInfo()
		for _, kind := range []stepKind{cleanSteps, deploySteps, serviceSteps} {
			if steps := kind.of(n); steps != nil {
				kind.add(info, steps)
			}
		}
		return info
	},
}

// add adds steps to driver_internal_info. Until the work begins the list holds the requested steps.
func (k stepKind) add(info map[string]any, s *conductor.Steps) {
	requested := make([]any, len(s.Requested))
	for i, request := range s.Requested {
		requested[i] = request.Record()
	}
	planned := make([]any, len(s.Planned))
	for i, step := range s.Planned {
		planned[i] = step.Record(k.work)
	}
	deploys := k.work == states.WorkDeploy
	switch {
	case s.Planned != nil:
		info[k.list] = planned
	case s.Requested != nil && !deploys:
		info[k.list] = requested
	default:
		info[k.list] = nil // as the end of the work leaves it
	}
	if s.Begun > 0 {
		info[k.index] = s.Begun - 1
	}
	switch {
	case deploys && len(requested) > 0:
		info[k.params] = requested
	case k.work == states.WorkService && s.Requested != nil && !s.DisableRamdisk:
		info[k.params] = nil
	case !deploys && s.Requested != nil:
		info[k.params] = s.DisableRamdisk
	}
}
