// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/boundedcall"
)

// consultsAgent reports whether a heartbeat makes the conductor speak to the node's agent: the node uses the agent, and
// its steps or its rescue wait for it. Only the hardware type knows that. A conductor without it gets the heartbeats of
// a node that has no owner, and refuses them, as Ironic does.
//
// Source: get_topic_for in ironic/conductor/rpcapi.py.
func (e *engine) consultsAgent(ctx context.Context, n *Node) (bool, error) {
	kind := kindOf(n.ProvisionState)
	if !kind.waitsForAgent(n) {
		return false, nil
	}
	hardware, err := e.types.of(n)
	if err != nil {
		return false, err
	}
	return e.types.usesAgent(ctx, hardware, n, kind.work)
}

// consultAgent handles the heartbeat of a node's agent, for which the node's work waits, in a goroutine of its own: it
// reserves the node, asks the agent for its commands and stores the result. If the work continues and this conductor
// owns the node, the goroutine does the work. consultAgent does nothing while a process works on the node, or once the
// node has left the state or its agent; the next heartbeat comes soon.
func (e *engine) consultAgent(waiting *Node) {
	id := waiting.UUID
	log := e.config.Log.With("node", id)
	s, err := e.sessions.current()
	if err != nil {
		log.Debug("the agent is not asked", "error", err)
		return
	}
	if !e.pool.TryTakeSpare(id) {
		log.Debug("the agent is not asked: no worker is free")
		return
	}
	s.run.group.Go(func() {
		defer e.pool.Free(id)
		_, n, err := e.fleet.edit(s.ctx, id, func(n *Node) error {
			other := n.Agent.URL != waiting.Agent.URL || n.Agent.Token != waiting.Agent.Token // which other work waits for
			if other || n.Reservation != "" || n.ProvisionState != waiting.ProvisionState {
				return errNothingToDo
			}
			e.reserve(n, s.id)
			return nil
		})
		if err != nil {
			level := slog.LevelDebug
			if errors.Is(err, ErrTooLarge) {
				level = slog.LevelWarn
			}
			log.Log(s.ctx, level, "the agent is not asked", "error", err)
			return
		}
		e.consultReserved(s, e.task(n))
	})
}

// consultReserved is consultAgent for a node that this process has reserved.
func (e *engine) consultReserved(s *session, t *Task) {
	change, failure := boundedcall.Do(s.ctx, stepGrace, t.askAgent)
	if failure != nil && s.ctx.Err() != nil {
		return // the next process drops the reservation
	}
	before := t.Node()
	failure, err := t.record.conclude(s.ctx, failure, func(n *Node, failure error, ramdisk ramdiskUse) error {
		if !n.isAtWorkOf(before) {
			return errEnded
		}
		at := now()
		n.ProvisionUpdatedAt = &at // an agent that sends heartbeats does not time out
		var err error
		if failure != nil {
			err = e.rules.fail(n, workFailure{text: failure.Error(), ramdisk: ramdisk}, at)
		} else {
			err = change(n, at)
		}
		if err == nil && (!n.hasWork() || !s.owns(n)) {
			n.drop()
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnded) {
		e.config.Log.Warn("the answer of an agent could not be stored", "node", before.UUID, "error", err)
		return
	}
	if failure != nil {
		e.history.failed(s.ctx, before, t.Node())
	}
	if t.Node().Claim == s.id {
		t.run(s.ctx)
	}
}

// askAgent asks the agent of the task's node, which waits, and returns the change of the node's record that follows. An
// error fails the node's work.
//
// Source: the functions _heartbeat_*_wait and process_next_step in ironic/drivers/modules/agent_base.py.
func (t *Task) askAgent(ctx context.Context) (change func(*Node, time.Time) error, failure error) {
	n := t.Node()
	kind, rules := kindOf(n.ProvisionState), t.engine.rules
	w := kind.agent.word
	ctx, err := t.engine.fenced(ctx, n)
	if err != nil {
		return nil, err
	}
	switch {
	case kind.agent.answer != nil:
		return kind.agent.answer(t, ctx)
	case !kind.bootsInStep() && kind.of(n).Current == nil:
		return rules.resume, nil // the work begins by asking for the agent's steps
	case kind.bootsInStep() && !n.Agent.hasSteps(w):
		switch err := t.refreshAgentSteps(ctx); {
		case errors.Is(err, agent.ErrBusy):
			return unchanged, nil
		case err != nil:
			//lint:ignore ST1005 the text is Ironic's, in agent_base.py
			return nil, fmt.Errorf("Failed to load in-band deploy steps: %w", err)
		}
	}
	var commands []agent.Command // that the agent has received since its start
	client, err := t.engine.agent(t.Node())
	if err == nil {
		commands, err = client.Commands(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind.texts.progress, err)
	}
	commands = upToStep(w, commands)
	verdict, reason := agent.Judge(w, n.UUID, kind.of(t.Node()).waitsFor(), commands)
	t.engine.config.Log.Debug("the agent was asked", "node", n.UUID, "commands", len(commands), "verdict", verdict)
	switch verdict {
	case agent.Fail:
		return nil, errors.New(reason)
	case agent.Wait:
		return unchanged, nil
	case agent.Repeat:
		return rules.repeat, nil
	case agent.Mismatch:
		return t.mismatch(ctx, kind)
	case agent.Done:
		return t.stepDone(ctx, kind, w, commands[len(commands)-1])
	default: // Booted
		return rules.resume, nil
	}
}

func unchanged(*Node, time.Time) error { return nil }

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

// rebootAgent boots the agent again after a step that requires it. The node waits for the next heartbeat.
//
// Source: _post_step_reboot in ironic/drivers/modules/agent_base.py.
func (t *Task) rebootAgent(ctx context.Context, kind *workKind) error {
	if err := t.Update(ctx, func(n *Node) error { kind.ensureSteps(n).Rebooted = true; return nil }); err != nil {
		return err
	}
	booter, err := t.booter(ctx)
	if err != nil {
		return err
	}
	return t.engine.types.call(ctx, t.Node(), toBoot, func(ctx context.Context) error { return booter.BootAgent(ctx, t) })
}

// endAgent powers the machine off whose cleaning or service an agent has done. After a service it starts the instance
// again. With disable_power_off the machine is rebooted. By fast track the agent stays after a cleaning. endAgent
// reports whether the tear-down was begun.
func (t *Task) endAgent(ctx context.Context, kind *workKind) (begun bool, err error) {
	t.record.updateLater(func(n *Node) { kind.ensureSteps(n).Current = nil })
	_, err = t.booter(ctx)
	switch {
	case err == nil && t.KeepsAgent():
		return false, nil
	case err == nil:
		begun = true
		err = t.tearDownRamdisk(ctx, CleanUp{PowerOff: true, Ramdisk: true, Instance: kind.end.bootsInstance})
	}
	if err != nil && ctx.Err() == nil {
		//lint:ignore ST1005 the text is Ironic's, in conductor/cleaning.py and servicing.py
		err = fmt.Errorf("Failed to tear down from %s for node %s, reason: %w", kind.texts.noun, t.Node().UUID, err)
	}
	return begun, err
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
