// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/raidconfig"
	"github.com/ironstate/ironstate/states"
)

// eraseParameters tell the agent how it erases disks, with Ironic's defaults.
//
// Source: agent_add_clean_params in ironic/drivers/modules/deploy_utils.py.
var eraseParameters = map[string]any{
	"agent_erase_devices_iterations": 1, "agent_erase_devices_zeroize": true, "agent_continue_if_secure_erase_failed": false,
	"agent_continue_if_ata_erase_failed": false, "agent_enable_nvme_secure_erase": true, "agent_enable_ata_secure_erase": true,
	"disk_erasure_concurrency": 4, "agent_erase_skip_read_only": false,
}

// inBand returns the steps that the node's agent has for work, as the record has them: none before the agent was asked.
func inBand(n *Node, work states.Work) []Step {
	var steps []Step
	for _, found := range n.Agent.Steps[works[work].agent.word].Steps {
		step := Step{
			Interface: found.Interface, Step: found.Step, Priority: found.Priority, Abortable: found.Abortable,
			InBand: true, Listed: true, RebootRequested: found.RebootRequested, Run: runInBand,
		}
		for argument, info := range found.ArgsInfo {
			if step.ArgsInfo == nil {
				step.ArgsInfo = map[string]StepArgument{}
			}
			step.ArgsInfo[argument] = StepArgument{Description: info.Description, Required: info.Required}
		}
		steps = append(steps, step)
	}
	return steps
}

// withInBand returns the steps of a hardware type for work, and the steps of the node's agent and deploy interface. If
// both have a step, the hardware type's counts. Of the agent's steps for a cleaning and a deployment, only the deploy
// interface's count, and those that the hardware type has in band ([InBandStepper]).
//
// Source: get_clean_steps, get_deploy_steps and get_service_steps in ironic/drivers/modules/agent_base.py and agent.py.
func withInBand(hardware Hardware, n *Node, work states.Work) []Step {
	steps := slices.Clip(hardware.Steps(n, work)) // the hardware type may keep the slice
	booter := agentBooter(hardware, n, work)
	if booter == nil {
		return steps
	}
	more := inBand(n, work)
	if !works[work].agent.anyInterface {
		stepper, able := hardware.(InBandStepper)
		more = slices.DeleteFunc(more, func(s Step) bool {
			return s.Interface != "deploy" && !(able && stepper.StepsInBand(n, s.Interface))
		})
	}
	if steps := works[work].agent.steps; steps != nil {
		more = append(steps(booter, n), more...)
	}
	for _, step := range more {
		if !slices.ContainsFunc(steps, func(s Step) bool { return s.Interface == step.Interface && s.Step == step.Step }) {
			steps = append(steps, step)
		}
	}
	return steps
}

// raidStepDone returns the change of a node's record that follows a RAID step which the agent has done, nil for any
// other step.
//
// Source: the hooks of AgentRAID in ironic/drivers/modules/agent.py.
func raidStepDone(w agent.Work, step string, result json.RawMessage, at time.Time) (change func(*Node) error, err error) {
	switch {
	case w == agent.Clean && step == "raid.delete_configuration":
		return func(n *Node) error {
			delete(n.Properties, "root_device")
			n.RAIDConfig = map[string]any{}
			return nil
		}, nil
	case w == agent.Clean && step == "raid.create_configuration", w == agent.Deploy && step == "raid.apply_configuration":
	default:
		return nil, nil
	}
	config, err := raidconfig.Parse(result, string(w)+"_result")
	if err != nil {
		return nil, err
	}
	return func(n *Node) error {
		n.RAIDConfig, n.Properties = config.Record(at), config.Properties(n.Properties)
		return nil
	}, nil
}
