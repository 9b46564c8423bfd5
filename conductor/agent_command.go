// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentwork"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/secret"
)

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

// agentTask is a task as its agent's work uses it. It implements [agentwork.Task].
type agentTask struct{ task *Task }

func (t agentTask) Node() agentwork.Node {
	n := t.task.Node()
	kind := kindOf(n.ProvisionState)
	steps := kind.of(n)
	hash, _ := n.InstanceInfo["hashed_rescue_password"].(string)
	node := agentwork.Node{
		UUID: n.UUID, Heard: n.Agent.URL != "" && n.agentHeard(now(), t.task.engine.config.FastTrackTimeout),
		HasSteps: n.Agent.hasSteps(kind.agent.word), Work: kind.agent.word, Noun: kind.texts.noun, Progress: kind.texts.progress,
		BootsInStep: kind.bootsInStep(), Automated: kind.automated(n), AbortAfter: steps.AbortAfter,
		Instance: n.InstanceUUID, RescuePasswordHash: hash,
	}
	if s := steps.Current; s != nil {
		node.Step = &agentwork.Step{RebootRequested: s.RebootRequested, Current: agent.Current{
			Name: agent.StepName{Interface: s.Interface, Step: s.Step}, InBand: s.InBand, Sent: steps.Sent, Rebooted: steps.Rebooted,
		}}
	}
	return node
}

func (t agentTask) Agent() (agentwork.Agent, error) { return t.task.engine.agent(t.task.Node()) }
func (t agentTask) Log() *slog.Logger               { return t.task.engine.config.Log }

func (t agentTask) Machine(ctx context.Context) (agent.Machine, error) {
	return t.task.engine.machine(ctx, t.task.Node())
}

func (t agentTask) NoteSteps(ctx context.Context, found agent.Steps) error {
	return t.task.Update(ctx, func(n *Node) error {
		if n.Agent.Steps == nil {
			n.Agent.Steps = map[agent.Work]AgentSteps{}
		}
		n.Agent.Steps[kindOf(n.ProvisionState).agent.word] = AgentSteps{Steps: found.Steps, Refreshed: now()}
		n.Agent.Managers = found.Versions
		return nil
	})
}

func (t agentTask) NoteResult(ctx context.Context, result json.RawMessage) error {
	n := t.task.Node()
	step := n.Step()
	if step.Step == "write_image" {
		t.task.engine.config.logImage(n)
	}
	change, err := raidStepDone(kindOf(n.ProvisionState).agent.word, step.String(), result, time.Now())
	if change == nil || err != nil {
		return err
	}
	return t.task.Update(ctx, change)
}

func (t agentTask) Reboot(ctx context.Context) error {
	err := t.task.Update(ctx, func(n *Node) error { kindOf(n.ProvisionState).ensureSteps(n).Rebooted = true; return nil })
	if err != nil {
		return err
	}
	return t.task.callBooter(ctx, toBoot, AgentBooter.BootAgent)
}

func (t agentTask) ForgetAgent(ctx context.Context) error { return t.task.ForgetAgent(ctx) }

func (t agentTask) CleanUpAgent(ctx context.Context) error {
	return t.task.callBooter(ctx, toCleanUp, AgentBooter.CleanUpAgent)
}

func (t agentTask) ReadPower(ctx context.Context) (states.Power, error) {
	now := t.task.engine.readPower(ctx, t.task.hardware, t.task.Node())
	return now.Power, now.Err
}
