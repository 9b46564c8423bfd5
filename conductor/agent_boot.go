// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/raidconfig"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/secret"
)

// AgentBooter is a [Hardware] whose machines can boot Ironic's agent. For a node that uses the agent, the conductor
// boots it before the steps of a cleaning or a service and in a deployment, and again after a step that requires a
// reboot. With each of its heartbeats the conductor asks the agent for its commands, and sends it the next step.
//
// Source: BootInterface in ironic/drivers/base.py.
type AgentBooter interface {
	// UsesAgent reports whether the agent does work on the node: an inspection, a cleaning, a deployment, a rescue or a
	// service. A deployment then has the steps of Ironic's deploy interface "custom-agent".
	UsesAgent(n *Node, work states.Work) bool
	// WritesImage reports whether the agent writes the image of an instance. A deployment then has the step write_image
	// of Ironic's deploy interface "direct" as well.
	WritesImage(n *Node) bool
	// BootAgent boots the task's machine into the agent's ramdisk. It returns when the machine is on.
	BootAgent(ctx context.Context, t *Task) error
	// CleanUpAgent removes what BootAgent has provided, such as virtual media, and the image of [ImageServer]. It may
	// power the machine off first, except in the state RescueWait: the ramdisk of a rescue, which is in memory, runs on.
	CleanUpAgent(ctx context.Context, t *Task) error
	// PrepareInstance makes the machine boot its disk from now on. It does not change the power state.
	PrepareInstance(ctx context.Context, t *Task) error
}

// InBandStepper is an [AgentBooter] with hardware interfaces whose steps the agent executes, such as Ironic's RAID
// interface "agent". For any other, the agent's steps in a cleaning and a deployment are the deploy interface's.
//
// Source: get_clean_steps and get_deploy_steps in ironic/drivers/modules/agent.py.
type InBandStepper interface {
	// StepsInBand reports whether the agent's steps of a kind of hardware interfaces such as "raid" are steps of the
	// interface that the node has. It is not asked about the deploy interface, of which the agent's always are, nor in a
	// service, which may have all steps of the agent.
	StepsInBand(n *Node, kind string) bool
}

// ConfigDriveBuilder is a [Hardware] that makes the image of a configuration drive from the JSON that a client sends.
// With any other hardware, a client must send the image itself.
type ConfigDriveBuilder interface {
	// BuildConfigDrive returns an image with the volume label config-2 and these files, by their paths.
	BuildConfigDrive(ctx context.Context, files map[string][]byte) ([]byte, error)
}

// agentBooter returns a node's hardware type if the agent does the work, nil if not. Work that cannot wait for the
// agent does not use it. It is called within a bounded call, since the hardware type may panic or hang.
func agentBooter(hardware Hardware, n *Node, work states.Work) AgentBooter {
	booter, ok := hardware.(AgentBooter)
	if ok && work.Waiting() != states.NoState && booter.UsesAgent(n, work) {
		return booter
	}
	return nil
}

// usesAgent reports whether the agent does the work on a node.
func (ts *hardwareTypes) usesAgent(ctx context.Context, hardware Hardware, n *Node, work states.Work) (bool, error) {
	return askHardware(ctx, ts, n, "its use of the agent", func() bool { return agentBooter(hardware, n, work) != nil })
}

// What the calls of an AgentBooter are for, as callHardware names them.
const (
	toBoot    = "to boot the agent"
	toCleanUp = "to clean up"
)

// agentUse is how a hardware type uses the agent for the work on a node.
type agentUse struct {
	executes    bool // the agent executes steps
	writesImage bool
	available   []Step // if a client or a runbook has composed the steps, which may need no agent
}

// agentUse returns the answers of a hardware type. It is called within askHardware.
func (ts *hardwareTypes) agentUse(hardware Hardware, n *Node, kind *workKind) (use agentUse) {
	booter := agentBooter(hardware, n, kind.work)
	if use.executes = kind.agent.word != "" && booter != nil; !use.executes {
		return use
	}
	use.writesImage = kind.bootsInStep() && booter.WritesImage(n)
	if kind.composed(n) {
		use.available = ts.listSteps(hardware, n, kind.work)
	}
	return use
}

// booter is agentBooter for the work of the task's node, which uses the agent: it is an error if the hardware type does
// not say so any more.
func (t *Task) booter(ctx context.Context) (AgentBooter, error) {
	n := t.Node()
	work := n.ProvisionState.Work()
	booter, err := askHardware(ctx, t.engine.types, n, "its use of the agent", func() AgentBooter { return agentBooter(t.hardware, n, work) })
	if err == nil && booter == nil {
		err = &HardwareError{fmt.Errorf("the hardware type does not use the agent any more for the work %s", work)}
	}
	return booter, err
}

// agent returns a client of the agent that runs on a node.
func (e *engine) agent(n *Node) (*agent.Client, error) {
	config := e.config.Agent
	var err error
	if config.VerifyCA, config.SkipVerify, err = agentCA(n, e.config.AgentVerifyCA, readCA); err != nil {
		return nil, err
	}
	config.URL, config.Token, config.Node = n.Agent.URL, secret.New(n.Agent.Token), n.UUID
	config.Dial = e.dialAgent(n.Agent.From)
	return agent.New(config)
}

// machine returns the part of a command that describes a node to the agent: the records of the node and of its ports.
// Secrets are masked, except for the configuration drive in a deployment.
func (e *engine) machine(ctx context.Context, n *Node) (agent.Machine, error) {
	kind := kindOf(n.ProvisionState)
	record, err := fromJSON[map[string]any](n)
	if err != nil {
		return agent.Machine{}, fmt.Errorf("the record of node %s cannot be encoded: %w", n.UUID, err)
	}
	maps.DeleteFunc(record, func(key string, _ any) bool { return !slices.Contains(agentsFields, key) })
	record["driver_internal_info"] = n.InternalInfo()
	record = maps.Clone(masked.Object(record))
	for _, key := range []string{"driver_info", "extra", "instance_info", "network_data", "properties", "raid_config", "target_raid_config"} {
		if record[key] == nil {
			record[key] = map[string]any{} // the agent reads it
		}
	}
	if drive, ok := n.InstanceInfo["configdrive"]; ok && kind.request.deploys {
		info := maps.Clone(masked.Object(n.InstanceInfo))
		info["configdrive"] = drive
		record["instance_info"] = info
	}
	if step := n.Step(); step.Step != "" {
		record[string(kind.agent.word)+"_step"] = StepRequest{Interface: step.Interface, Step: step.Step, Priority: &step.Priority}
	}
	ports, err := e.fleet.portsOf(ctx, n.UUID)
	if err != nil {
		return agent.Machine{}, err
	}
	return agent.Machine{Node: record, Ports: ports}, nil
}

// agentsFields are the fields of a node's record that the agent gets: Ironic's own fields. The others are the
// conductor's own.
//
// Source: the fields of Node in ironic/objects/node.py.
var agentsFields = []string{
	"allocation_uuid", "automated_clean", "boot_mode", "chassis_uuid", "conductor", "conductor_group", "console_enabled",
	"created_at", "description", "disable_power_off", "driver", "driver_info", "extra", "fault", "health",
	"inspection_finished_at", "inspection_started_at", "instance_info", "instance_name", "instance_uuid", "last_error",
	"lessee", "maintenance", "maintenance_reason", "name", "network_data", "owner", "parent_node", "power_state",
	"properties", "protected", "protected_reason", "provision_state", "provision_updated_at", "raid_config", "reservation",
	"resource_class", "retired", "retired_reason", "secure_boot", "shard", "target_power_state", "target_provision_state",
	"target_raid_config", "traits", "updated_at", "uuid",
}

// eraseParameters tell the agent how it erases disks, with Ironic's defaults.
//
// Source: agent_add_clean_params in ironic/drivers/modules/deploy_utils.py.
var eraseParameters = map[string]any{
	"agent_erase_devices_iterations": 1, "agent_erase_devices_zeroize": true, "agent_continue_if_secure_erase_failed": false,
	"agent_continue_if_ata_erase_failed": false, "agent_enable_nvme_secure_erase": true, "agent_enable_ata_secure_erase": true,
	"disk_erasure_concurrency": 4, "agent_erase_skip_read_only": false,
}

// refreshAgentSteps asks the node's agent for its steps and stores them in the node's record. The error matches
// [agent.ErrBusy] while the agent executes a command.
//
// Source: refresh_steps in ironic/drivers/modules/agent_base.py.
func (t *Task) refreshAgentSteps(ctx context.Context) error {
	n := t.Node()
	w := kindOf(n.ProvisionState).agent.word
	client, err := t.engine.agent(n)
	if err != nil {
		return err
	}
	machine, err := t.engine.machine(ctx, n)
	if err != nil {
		return err
	}
	found, err := client.Steps(ctx, w, machine)
	if err != nil {
		return err
	}
	return t.Update(ctx, func(n *Node) error {
		if n.Agent.Steps == nil {
			n.Agent.Steps = map[agent.Work]AgentSteps{}
		}
		n.Agent.Steps[w] = AgentSteps{Steps: found.Steps, Refreshed: now()}
		n.Agent.Managers = found.Versions
		return nil
	})
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

// runInBand sends the task's step to the agent. It returns ErrWait when the agent has accepted it, and also while the
// agent is busy: the step is then sent after the next heartbeat.
//
// Source: execute_step in ironic/drivers/modules/agent_base.py.
func runInBand(ctx context.Context, t *Task) error {
	return t.sendStep(ctx, t.Step().Args)
}

// sendStep is runInBand with other arguments than the step has.
func (t *Task) sendStep(ctx context.Context, args map[string]any) error {
	n, step := t.Node(), t.Step()
	kind := kindOf(n.ProvisionState)
	w := kind.agent.word
	client, err := t.engine.agent(n)
	if err != nil {
		return err
	}
	machine, err := t.engine.machine(ctx, n)
	if err != nil {
		return err
	}
	_, err = client.Execute(ctx, w, agent.Step{
		StepName: agent.StepName{Interface: step.Interface, Step: step.Step}, Priority: step.Priority, Args: args,
		RebootRequested: step.RebootRequested, Abortable: step.Abortable, RequiresRamdisk: w == agent.Clean,
		Repeated: kind.of(n).repeatsPrevious(),
	}, n.Agent.Managers, machine)
	switch {
	case errors.Is(err, agent.ErrBusy):
		return ErrWait
	case err != nil:
		return err
	}
	t.record.updateLater(func(n *Node) { kind.ensureSteps(n).Sent = true })
	return ErrWait
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

// noteRAID stores the node's new RAID configuration after the agent has done a step that changes it.
func (t *Task) noteRAID(ctx context.Context, w agent.Work, step *Step, command agent.Command) error {
	change, err := raidStepDone(w, step.String(), command.Result, time.Now())
	if change == nil || err != nil {
		return err
	}
	return t.Update(ctx, change)
}
