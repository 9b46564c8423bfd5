// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/states"
)

// stepsWait reports whether the steps of a node wait for its agent.
func stepsWait(n *Node) bool {
	kind := kindOf(n.ProvisionState)
	return kind.agent != "" && kind.waits(n)
}

// attends reports whether a heartbeat makes the conductor speak to the node's agent: the node uses the agent, and its
// steps or its rescue wait for it.
func (b *rulebook) attends(n *Node) bool {
	if n.ProvisionState == states.RescueWait {
		return b.bootsRamdisk(n)
	}
	if !stepsWait(n) {
		return false
	}
	hardware, err := b.hardware(n)
	return err == nil && agentBooter(hardware, n, n.ProvisionState.Work()) != nil
}

// attend asks the agent of a node that has sent a heartbeat, and acts on the answer, in a goroutine of its own. It does
// nothing while this process works on the node; the next heartbeat comes soon.
func (e *engine) attend(id string) {
	s, err := e.sessions.current()
	if err != nil || !e.pool.tryTakeSpare(id) {
		return
	}
	s.run.group.Go(func() {
		defer e.pool.free(id)
		e.attendNow(s, id)
	})
}

// attendNow reserves a node, asks its agent, and stores what follows from the answer. Work that continues is done at
// once if this conductor owns the node.
func (e *engine) attendNow(s *session, id string) {
	_, n, err := e.fleet.edit(s.ctx, id, func(n *Node) error {
		if n.Reservation != "" || !e.rules.attends(n) {
			return errNothingToDo
		}
		e.reserve(n, s)
		return nil
	})
	if err != nil {
		return // another process works on the node; the next heartbeat comes soon
	}
	t := e.task(n)
	change, failure := boundedcall.Do(s.ctx, stepGrace, t.heard)
	if failure != nil {
		change = func(n *Node) error { return e.rules.fail(n, failure.Error()) }
	}
	if failure != nil && s.ctx.Err() != nil {
		return // the next process drops the reservation
	}
	before := t.Node()
	err = t.persist(s.ctx, func(n *Node) error {
		if !n.isAtWorkOf(before) {
			return errEnded
		}
		at := now()
		n.ProvisionUpdatedAt = &at // an agent that sends heartbeats does not time out
		if err := change(n); err != nil {
			return err
		}
		if !n.hasWork() || !s.owns(n) {
			n.drop()
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnded) {
		e.config.Log.Warn("the answer of an agent could not be stored", "node", id, "error", err)
		return
	}
	e.moved(before, t.Node())
	if failure != nil {
		e.history.failed(s.ctx, before, t.Node(), kindOf(before.ProvisionState).eventType)
	}
	if t.Node().Claim == s.id {
		t.run(s.ctx)
	}
}

// heard asks the agent of the task's node, which waits, and returns the change of the node's record that follows. An
// error fails the node's work.
//
// Source: the functions _heartbeat_*_wait in ironic/drivers/modules/agent_base.py.
func (t *Task) heard(ctx context.Context) (change func(*Node) error, failure error) {
	n := t.Node()
	kind := kindOf(n.ProvisionState)
	w := kind.agent
	ctx, err := t.engine.fenced(ctx, n)
	if err != nil {
		return nil, err
	}
	switch {
	case n.ProvisionState == states.RescueWait:
		return t.engine.rules.resume, t.finishRescue(ctx)
	case w != agent.Deploy && kind.of(n).Current == nil:
		return t.engine.rules.resume, nil // the work begins by asking for the agent's steps
	case w == agent.Deploy && !n.Agent.hasSteps(w):
		switch err := t.refreshAgentSteps(ctx, w); {
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
		return nil, fmt.Errorf("%s: %w", kind.progress, err)
	}
	return t.processNextStep(ctx, kind, w, commands)
}

func unchanged(*Node) error { return nil }

// processNextStep compares the agent's commands with the node's current step, and returns the change of the record that
// follows. It boots the agent again after a step that requires it.
//
// Source: process_next_step in ironic/drivers/modules/agent_base.py.
func (t *Task) processNextStep(
	ctx context.Context, kind *workKind, w agent.Work, commands []agent.Command,
) (change func(*Node) error, failure error) {
	rules, steps := t.engine.rules, kind.of(t.Node())
	current := agent.Current{
		Name: agent.StepName{Interface: steps.Current.Interface, Step: steps.Current.Step},
		Sent: steps.Sent && !steps.Rebooted,
	}
	verdict, reason := agent.Judge(w, t.Node().UUID, current, commands)
	if verdict == agent.Wait && steps.Rebooted { // was the machine rebooted? The process that did it has died.
		current.Sent = true
		verdict, reason = agent.Judge(w, t.Node().UUID, current, commands)
	}
	unsent := steps.Current.InBand && !steps.Sent
	if verdict == agent.Done {
		if steps.Current.Step == "write_image" {
			t.engine.logImage(t.Node())
		}
		if err := t.noteRAID(ctx, w, steps.Current, commands[len(commands)-1]); err != nil {
			//lint:ignore ST1005 the text begins as Ironic's, in agent_base.py
			return nil, fmt.Errorf("For node %s, the result of %s step %v cannot be used: %w", t.Node().UUID, w, steps.Current, err)
		}
	}
	switch {
	case verdict == agent.Fail:
		return nil, errors.New(reason)
	case unsent && (verdict == agent.Booted || commands[len(commands)-1].Status != agent.Running):
		return rules.repeat, nil // the agent was busy
	case verdict == agent.Wait:
		return unchanged, nil
	case verdict == agent.Mismatch:
		return t.mismatch(ctx, kind, w)
	case verdict == agent.Done && steps.Current.RebootRequested:
		if err := t.rebootAgent(ctx, kind); err != nil {
			//lint:ignore ST1005 the text is Ironic's, in agent_base.py
			return nil, fmt.Errorf("Reboot requested by %s step %v failed for node %s: %w", w, steps.Current, t.Node().UUID, err)
		}
		return unchanged, nil
	default:
		return rules.resume, nil
	}
}

// mismatch asks again for the steps of an agent whose hardware managers have changed. An automated cleaning starts from
// its first step; other work repeats the current one, and so does an aborted cleaning, which ends then: Ironic forgets
// the abort and makes the node available. A cleaning by a runbook keeps its steps, while Ironic goes on with those by
// priority.
//
// Source: _process_version_mismatch in ironic/drivers/modules/agent_base.py.
func (t *Task) mismatch(ctx context.Context, kind *workKind, w agent.Work) (change func(*Node) error, failure error) {
	if err := t.refreshAgentSteps(ctx, w); err != nil {
		//lint:ignore ST1005 the text is Ironic's, in agent_base.py
		return nil, fmt.Errorf("Could not continue %s on node %s: %w.", kind.noun, t.Node().UUID, err)
	}
	if w != agent.Clean || t.Node().TargetProvisionState == states.Manageable || kind.of(t.Node()).AbortAfter {
		return t.engine.rules.repeat, nil
	}
	return func(n *Node) error {
		steps := kind.edit(n)
		steps.Planned, steps.Begun, steps.Current, steps.Sent, steps.Prepared = nil, 0, nil, false, true
		return t.engine.rules.resume(n)
	}, nil
}

// rebootAgent boots the agent again after a step that requires it. The node waits for the next heartbeat.
//
// Source: _post_step_reboot in ironic/drivers/modules/agent_base.py.
func (t *Task) rebootAgent(ctx context.Context, kind *workKind) error {
	if err := t.Update(ctx, func(n *Node) error { kind.edit(n).Rebooted = true; return nil }); err != nil {
		return err
	}
	return t.booter().BootAgent(ctx, t)
}

// endAgent powers the machine off whose cleaning or service an agent has done. After a service it starts the instance
// again. With disable_power_off the machine is rebooted. By fast track the agent stays after a cleaning.
func (t *Task) endAgent(ctx context.Context, kind *workKind) error {
	if t.booter() == nil {
		return nil
	}
	t.updateLater(func(n *Node) { kind.edit(n).Current = nil })
	if kind.work == states.WorkClean && t.KeepsAgent() {
		return nil
	}
	err := t.tearDownRamdisk(ctx, CleanUp{PowerOff: true, Ramdisk: true, Instance: kind.work == states.WorkService})
	if err != nil && ctx.Err() == nil {
		//lint:ignore ST1005 the text is Ironic's, in conductor/cleaning.py and servicing.py
		return fmt.Errorf("Failed to tear down from %s for node %s, reason: %w", kind.noun, t.Node().UUID, err)
	}
	return err
}

// resume continues the work of a node that waits.
func (b *rulebook) resume(n *Node) error {
	moved, err := n.machine().Report(b.config.Table, states.EventResume, "")
	if err != nil {
		return err
	}
	b.move(n, states.EventResume, moved)
	return nil
}

// repeat continues the work of a node that waits with the current step.
func (b *rulebook) repeat(n *Node) error {
	steps := kindOf(n.ProvisionState).edit(n)
	steps.Begun, steps.Sent = max(steps.Begun-1, 0), false
	return b.resume(n)
}
