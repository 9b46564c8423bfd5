// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// nodeV1 has the fields that only version 1 of a node's record has. The steps of work were stored as
// Ironic stores them: in these fields and in driver_internal_info.
type nodeV1 struct {
	CleanStep   map[string]any `json:"clean_step"`
	DeployStep  map[string]any `json:"deploy_step"`
	ServiceStep map[string]any `json:"service_step"`
	WorkStep    map[string]any `json:"work_step"`
	WorkInfo    map[string]any `json:"work_info"`
}

// convert sets the steps and the claim of a node that was stored in version 1.
func (old nodeV1) convert(n *Node) (err error) {
	n.Claim = strings.TrimSuffix(n.Claim, "/power") // marked the reservations of the power sync
	prepared := old.WorkInfo["prepared"] == true
	for _, part := range []struct {
		kind                stepKind
		current, info       map[string]any
		list, index, params string
	}{
		{cleanSteps, old.CleanStep, n.DriverInternalInfo, "clean_steps", "clean_step_index", "cleaning_disable_ramdisk"},
		{deploySteps, old.DeployStep, n.DriverInternalInfo, "deploy_steps", "deploy_step_index", "user_deploy_steps"},
		{serviceSteps, old.ServiceStep, n.DriverInternalInfo, "service_steps", "service_step_index", "servicing_disable_ramdisk"},
		{otherSteps(states.NoState), old.WorkStep, old.WorkInfo, "steps", "index", ""},
	} {
		list, hasList := part.info[part.list]
		params, hasParams := part.info[part.params]
		index, hasIndex := number(part.info[part.index])
		if !hasList && !hasParams && len(part.current) == 0 {
			continue
		}
		steps := part.kind.edit(n)
		if len(part.current) > 0 {
			current, err := stepV1(part.kind, part.current)
			if err != nil {
				return err
			}
			steps.Current = &current
			steps.AbortAfter = part.current["abort_after"] == true
		}
		if err := steps.listV1(part.kind, list); err != nil {
			return err
		}
		if hasIndex {
			steps.Begun = int(index) + 1
		}
		switch {
		case !hasParams:
		case part.kind.work == states.Deploying:
			if steps.Requested, err = fromJSON[[]StepRequest](params); err != nil {
				return fmt.Errorf("requested deploy steps: %w", err)
			}
		default:
			steps.DisableRamdisk = params == true
			if steps.Requested == nil {
				steps.Requested = []StepRequest{}
			}
		}
		for _, key := range []string{part.list, part.index, part.params} {
			delete(part.info, key)
		}
	}
	if kind, ok := stepKinds[n.ProvisionState]; ok && prepared {
		kind.edit(n).Prepared = true
	}
	return nil
}

// listV1 sets the planned or the requested steps. The steps of a client's request were stored in the
// place of the planned steps until the work began, without "abortable".
func (s *Steps) listV1(kind stepKind, list any) error {
	items, _ := list.([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		if _, planned := fields["abortable"]; !planned && kind.work != states.Deploying {
			request, err := fromJSON[StepRequest](fields)
			if err != nil {
				return fmt.Errorf("requested %s steps: %w", kind.verb, err)
			}
			s.Requested = append(s.Requested, request)
			continue
		}
		step, err := stepV1(kind, fields)
		if err != nil {
			return err
		}
		s.Planned = append(s.Planned, step)
	}
	return nil
}

// stepV1 returns a planned step. One that a client had requested was stored without "argsinfo".
func stepV1(kind stepKind, fields map[string]any) (Step, error) {
	step, err := fromJSON[Step](fields)
	if err != nil {
		return Step{}, fmt.Errorf("%s step: %w", kind.verb, err)
	}
	_, automatic := fields["argsinfo"]
	step.Requested = !automatic && kind.work != states.Deploying
	step.NoRamdisk = fields["requires_ramdisk"] == false
	return step, nil
}
