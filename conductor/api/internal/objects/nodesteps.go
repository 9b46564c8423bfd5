// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

// stepKind says how the API shows the steps of one kind of work in a node, as Ironic does.
type stepKind struct {
	work states.Work
	// of returns the steps in the record; nil for a work whose steps Ironic does not show.
	of func(*node) *conductor.Steps
	// The keys in driver_internal_info: of the list of steps, of the current one's index, and of the request's parameters.
	list, index, params string
	// merges says that the requested steps are merged with others: they are the parameters, and not the list until the
	// work begins. The parameter of other work is disable_ramdisk, and unsaid if the client does not say it.
	merges bool
	unsaid any
}

var stepKinds = map[states.Work]stepKind{
	states.WorkVerify:  {},
	states.WorkInspect: {},
	states.WorkClean: {
		of:   func(n *node) *conductor.Steps { return n.CleanSteps },
		list: "clean_steps", index: "clean_step_index", params: "cleaning_disable_ramdisk", unsaid: false,
	},
	states.WorkDeploy: {
		of:   func(n *node) *conductor.Steps { return n.DeploySteps },
		list: "deploy_steps", index: "deploy_step_index", params: "user_deploy_steps", merges: true,
	},
	states.WorkAdopt:    {},
	states.WorkRescue:   {},
	states.WorkUnrescue: {},
	states.WorkService: {
		of:   func(n *node) *conductor.Steps { return n.ServiceSteps },
		list: "service_steps", index: "service_step_index", params: "service_disable_ramdisk", unsaid: nil,
	},
	states.WorkDelete: {},
}

// shownSteps are the kinds of steps that Ironic shows.
var shownSteps = func() (shown []stepKind) {
	for work, kind := range stepKinds {
		if kind.work = work; kind.of != nil {
			shown = append(shown, kind)
		}
	}
	return shown
}()

// stepField returns the field with the current step of a work, {} for none.
func stepField(name string, since states.APIVersion, work states.Work) field {
	steps := stepKinds[work].of
	return field{name: name, since: since, flags: readOnly, zero: noObject, mask: masked.Value, get: func(o record) any {
		s := steps(o.(*node))
		if s == nil || s.Current == nil {
			return nil
		}
		step := s.Current.Record(work)
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
		for _, kind := range shownSteps {
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
	switch {
	case s.Planned != nil:
		info[k.list] = planned
	case s.Requested != nil && !k.merges:
		info[k.list] = requested
	default:
		info[k.list] = nil // as the end of the work leaves it
	}
	if s.Begun > 0 {
		info[k.index] = s.Begun - 1
	}
	switch {
	case k.merges && len(requested) > 0:
		info[k.params] = requested
	case k.merges || s.Requested == nil:
	case s.DisableRamdisk != nil:
		info[k.params] = *s.DisableRamdisk
	default:
		info[k.params] = k.unsaid
	}
}
