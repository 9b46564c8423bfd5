// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
)

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

// waitsFor returns the current step as [agent.Judge] needs it.
func (s Steps) waitsFor() agent.Current {
	return agent.Current{
		Name:   agent.StepName{Interface: s.Current.Interface, Step: s.Current.Step},
		InBand: s.Current.InBand, Sent: s.Sent, Rebooted: s.Rebooted,
	}
}

// stepDone stores the result of a step that the agent has done, and returns the change of the node's record that
// follows. It boots the agent again after a step that requires it.
func (t *Task) stepDone(
	ctx context.Context, kind *workKind, w agent.Work, result agent.Command,
) (change func(*Node, time.Time) error, failure error) {
	id, step := t.Node().UUID, kind.of(t.Node()).Current
	if step.Step == "write_image" {
		t.engine.config.logImage(t.Node())
	}
	if err := t.noteRAID(ctx, w, step, result); err != nil {
		//lint:ignore ST1005 the text begins as Ironic's, in agent_base.py
		return nil, fmt.Errorf("For node %s, the result of %s step %v cannot be used: %w", id, w, step, err)
	}
	if !step.RebootRequested {
		return t.engine.rules.resume, nil
	}
	if err := t.rebootAgent(ctx, kind); err != nil {
		//lint:ignore ST1005 the text is Ironic's, in agent_base.py
		return nil, fmt.Errorf("Reboot requested by %s step %v failed for node %s: %w", w, step, id, err)
	}
	return unchanged, nil
}

// mismatch asks again for the steps of an agent whose hardware managers have changed. An automated cleaning starts from
// its first step; other work repeats the current one, and so does an aborted cleaning, which ends then: Ironic forgets
// the abort and makes the node available. A cleaning by a runbook keeps its steps, while Ironic goes on with those by
// priority.
//
// Source: _process_version_mismatch in ironic/drivers/modules/agent_base.py.
func (t *Task) mismatch(ctx context.Context, kind *workKind) (change func(*Node, time.Time) error, failure error) {
	if err := t.refreshAgentSteps(ctx); err != nil {
		//lint:ignore ST1005 the text is Ironic's, in agent_base.py
		return nil, fmt.Errorf("Could not continue %s on node %s: %w.", kind.texts.noun, t.Node().UUID, err)
	}
	if !kind.automated(t.Node()) || kind.of(t.Node()).AbortAfter {
		return t.engine.rules.repeat, nil
	}
	return func(n *Node, at time.Time) error {
		steps := kind.ensureSteps(n)
		steps.Planned, steps.Begun, steps.Current, steps.Sent, steps.Prepared = nil, 0, nil, false, true
		return t.engine.rules.resume(n, at)
	}, nil
}

// finishRescue sends the hash of the rescue password to the agent, which sets the password and exits. It then removes
// what the agent's boot needed, such as the CD. The returned change deletes the password and its hash from the record.
// An agent that takes no hash is not given the password itself, unlike in Ironic.
//
// Source: _finalize_rescue in ironic/drivers/modules/agent_base.py, clean_up of AgentRescue in agent.py.
func (t *Task) finishRescue(ctx context.Context) (change func(*Node, time.Time) error, failure error) {
	n := t.Node()
	client, err := t.engine.agent(n)
	if err == nil {
		hash, _ := n.InstanceInfo["hashed_rescue_password"].(string)
		err = client.FinalizeRescue(ctx, hash)
	}
	if err != nil {
		return nil, fmt.Errorf("Node failed to perform rescue operation: Failed to rescue instance %s for node %s: %w",
			n.InstanceUUID, n.UUID, err)
	}
	booter, err := t.booter(ctx)
	if err == nil {
		err = t.engine.types.call(ctx, n, toCleanUp, func(ctx context.Context) error { return booter.CleanUpAgent(ctx, t) })
	}
	if err != nil {
		return nil, fmt.Errorf("Node failed to perform rescue operation: %w", err)
	}
	return func(n *Node, at time.Time) error { n.forgetRescue(); return t.engine.rules.resume(n, at) }, nil
}
