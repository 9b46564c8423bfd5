// SPDX-License-Identifier: Apache-2.0

// Package agentwork has the conductor's part in work that Ironic's agent does: what follows from the agent's heartbeat,
// and whether an agent that runs does the work that begins. It needs little of the task of the agent's node.
//
// Source: ironic/drivers/modules/agent_base.py.
package agentwork

//lint:file-ignore ST1005 the texts are Ironic's

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/states"
)

// Task is what the package needs of the task of a node.
type Task interface {
	// Node returns what the node's record says now.
	Node() Node
	// Agent returns the agent that runs on the node.
	Agent() (Agent, error)
	// Machine returns what a command tells the agent of its machine.
	Machine(context.Context) (agent.Machine, error)
	// NoteSteps stores the agent's steps for the work.
	NoteSteps(context.Context, agent.Steps) error
	// NoteResult stores what follows for the node from the result of the current step, which the agent has done.
	NoteResult(context.Context, json.RawMessage) error
	// Reboot stores that the current step ends with a reboot, and boots the agent again.
	Reboot(context.Context) error
	CleanUpAgent(context.Context) error // removes the media and files from which the agent was booted
	ForgetAgent(context.Context) error  // removes the agent from the record
	ReadPower(context.Context) (states.Power, error)
	Log() *slog.Logger
}

// Node has what the record of a node says of its agent and its work.
type Node struct {
	UUID        string
	Heard       bool       // the agent's last heartbeat is recent
	HasSteps    bool       // the agent was asked for its steps
	Work        agent.Work // empty for a rescue
	Noun        string     // the word for the work in errors
	Progress    string     // the text for an agent that does not tell how far its step is
	BootsInStep bool       // a step of the work boots the agent
	Automated   bool       // no client has requested the work
	AbortAfter  bool       // the work ends after the current step, as a client has requested
	Step        *Step      // the current one; nil for none

	Instance           string // the UUID of the instance
	RescuePasswordHash string
}

// Step is the current step of a node.
type Step struct {
	agent.Current
	RebootRequested bool // the step ends with a reboot
}

// Agent has the commands that the package sends. [agent.Client] implements it.
type Agent interface {
	Commands(context.Context) ([]agent.Command, error)
	Steps(context.Context, agent.Work, agent.Machine) (agent.Steps, error)
	FinalizeRescue(ctx context.Context, hash string) error
}

// Outcome is how the work of a node goes on that has waited for the agent.
type Outcome uint8

const (
	Unchanged Outcome = iota // the node waits for the next heartbeat
	Resume                   // the work continues with the next step
	Repeat                   // the work continues with the current step, once more
	Restart                  // the work continues with its first step, and is planned again
	Rescued                  // the rescue is complete: the record forgets the password
)

// Answer asks the agent for its commands at the heartbeat for which the steps of a node wait, and returns how the work
// goes on. An error fails the work.
//
// Source: the functions _heartbeat_*_wait and process_next_step.
func Answer(ctx context.Context, t Task) (Outcome, error) {
	n := t.Node()
	if !n.BootsInStep && n.Step == nil {
		return Resume, nil // the work begins by asking for the agent's steps
	}
	if n.BootsInStep && !n.HasSteps {
		switch err := ReadSteps(ctx, t); {
		case errors.Is(err, agent.ErrBusy):
			return Unchanged, nil
		case err != nil:
			return Unchanged, fmt.Errorf("Failed to load in-band deploy steps: %w", err)
		}
	}
	var commands []agent.Command // that the agent has received since its start
	client, err := t.Agent()
	if err == nil {
		commands, err = client.Commands(ctx)
	}
	if err != nil {
		return Unchanged, fmt.Errorf("%s: %w", n.Progress, err)
	}
	commands = upToStep(n.Work, commands)
	verdict, reason := agent.Judge(n.Work, n.UUID, n.Step.Current, commands)
	t.Log().Debug("the agent was asked", "node", n.UUID, "commands", len(commands), "verdict", verdict)
	if verdict == agent.Fail {
		return Unchanged, errors.New(reason)
	}
	follows := decide(n, verdict)
	if follows.noted {
		if err := t.NoteResult(ctx, commands[len(commands)-1].Result); err != nil {
			return Unchanged, fmt.Errorf("For node %s, the result of %s step %v cannot be used: %w", n.UUID, n.Work, n.Step.Name, err)
		}
	}
	if follows.reboots {
		if err := t.Reboot(ctx); err != nil {
			return Unchanged, fmt.Errorf("Reboot requested by %s step %v failed for node %s: %w", n.Work, n.Step.Name, n.UUID, err)
		}
	}
	if follows.readsSteps {
		if err := ReadSteps(ctx, t); err != nil {
			return Unchanged, fmt.Errorf("Could not continue %s on node %s: %w.", n.Noun, n.UUID, err)
		}
	}
	return follows.outcome, nil
}

// consequence is what follows from a verdict: what is done, in the order of the fields, and then the outcome.
type consequence struct {
	noted      bool // the result of the step is stored
	reboots    bool // the agent is booted again
	readsSteps bool // the agent is asked for its steps again
	outcome    Outcome
}

// decide returns what follows from a verdict about the current step of a node, unless that is [agent.Fail]. After a
// change of the agent's hardware managers an automated cleaning starts from its first step. Other work repeats the
// current step, and so does an aborted cleaning, which ends then: Ironic forgets the abort and makes the node
// available. A cleaning by a runbook keeps its steps, while Ironic goes on with the steps by priority.
//
// Source: process_next_step, _post_step_reboot and _process_version_mismatch.
func decide(n Node, v agent.Verdict) consequence {
	switch v {
	case agent.Booted:
		return consequence{outcome: Resume}
	case agent.Repeat:
		return consequence{outcome: Repeat}
	case agent.Mismatch:
		if n.Automated && !n.AbortAfter {
			return consequence{readsSteps: true, outcome: Restart}
		}
		return consequence{readsSteps: true, outcome: Repeat}
	case agent.Done:
		if n.Step.RebootRequested {
			return consequence{noted: true, reboots: true}
		}
		return consequence{noted: true, outcome: Resume}
	default: // Wait
		return consequence{}
	}
}

// upToStep returns an agent's commands without the questions for its steps at their end: these say nothing about the
// step that the agent was sent before. A conductor may have died between such a question and its next write. In Ironic
// the node then waits for ever, since each heartbeat postpones the timeout.
func upToStep(w agent.Work, commands []agent.Command) []agent.Command {
	for i := len(commands); i > 0; i-- {
		if last := commands[i-1]; last.Name != "get_"+string(w)+"_steps" || last.Status == agent.Running {
			return commands[:i]
		}
	}
	return nil
}

// ReadSteps asks the agent for its steps and stores them in the node's record. The error matches [agent.ErrBusy] while
// the agent executes a command.
//
// Source: refresh_steps.
func ReadSteps(ctx context.Context, t Task) error {
	client, err := t.Agent()
	if err != nil {
		return err
	}
	machine, err := t.Machine(ctx)
	if err != nil {
		return err
	}
	steps, err := client.Steps(ctx, t.Node().Work, machine)
	if err != nil {
		return err
	}
	return t.NoteSteps(ctx, steps)
}

// FinishRescue sends the hash of the rescue password to the agent, which sets the password and exits. It then removes
// what the agent's boot needed, such as the CD. An agent that takes no hash is not given the password itself, unlike in
// Ironic.
//
// Source: _finalize_rescue, and clean_up of AgentRescue in ironic/drivers/modules/agent.py.
func FinishRescue(ctx context.Context, t Task) (Outcome, error) {
	n := t.Node()
	client, err := t.Agent()
	if err == nil {
		err = client.FinalizeRescue(ctx, n.RescuePasswordHash)
	}
	if err != nil {
		return Unchanged, fmt.Errorf("Node failed to perform rescue operation: Failed to rescue instance %s for node %s: %w",
			n.Instance, n.UUID, err)
	}
	if err := t.CleanUpAgent(ctx); err != nil {
		return Unchanged, fmt.Errorf("Node failed to perform rescue operation: %w", err)
	}
	return Rescued, nil
}

// FastTrack reports whether the agent that runs on the machine does the work that begins, and reads its steps: the
// agent's last heartbeat is recent, the machine is on, and the agent is idle. Otherwise the record forgets the agent,
// and the machine has to boot one.
//
// Source: is_fast_track in ironic/conductor/utils.py.
func FastTrack(ctx context.Context, t Task) (bool, error) {
	n := t.Node()
	if !n.Heard {
		return false, t.ForgetAgent(ctx)
	}
	if power, err := t.ReadPower(ctx); err != nil || power != states.PowerOn {
		return false, t.ForgetAgent(ctx)
	}
	if err := ReadSteps(ctx, t); err != nil {
		t.Log().Warn("an agent that runs cannot do the next work", "node", n.UUID, "error", err)
		return false, t.ForgetAgent(ctx)
	}
	return true, nil
}
