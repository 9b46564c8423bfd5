// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/ironstate/ironstate/conductor/internal/agentwork"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// Heartbeat is the content of a heartbeat of the agent that runs on a node.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
type Heartbeat struct {
	// From is the address from which the heartbeat came. [Config.AgentAddress] compares the host of CallbackURL with it.
	From               netip.Addr
	CallbackURL        string
	AgentVersion       string
	AgentToken         string
	AgentVerifyCA      string
	AgentStatus        string // "start", "end", "error", or empty
	AgentStatusMessage string
}

// Heartbeat handles a heartbeat of a node's agent: it stores the agent's data. If the node uses the agent
// ([AgentBooter]), the conductor then asks the agent for its commands, after Heartbeat has returned, and continues or
// fails the work by the answer, whatever status the agent reports. Otherwise an agent that reports an error fails the
// work that waits for a call-back, and any other heartbeat continues the work only if the waiting step is the built-in
// step "wait" or the hardware type is simulated ([Description]): a heartbeat does not say that the agent has done
// anything. In a state that allows no heartbeat nothing is stored. The error matches [NotFound], or [Invalid] for a
// wrong token, for a URL without TLS if [Config] requires it, for a URL that [agent.ParseURL] or [Config.AgentAddress]
// refuses, for another URL or certificate than in the agent's earlier heartbeats, and while no conductor of the node's
// conductor group has its hardware type; or it comes from [Conductor.Resume].
func (c *Conductor) Heartbeat(ctx context.Context, ident string, h Heartbeat) error {
	n, owner, err := c.calls.elsewhere(ctx, ident)
	switch {
	case err != nil:
	case owner.ID == "":
		_, err = h.here(ctx, c, ident)
	case n.Agent.has(h.AgentToken):
		_, err = forward(ctx, c, owner, n, h)
	default: // no stranger's heartbeat becomes a call
		err = errAgentToken
	}
	return invalidWithoutConductor(err)
}

func (Heartbeat) method() string { return "heartbeat" }

func (h Heartbeat) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	n, err := c.fleet.node(ctx, ident)
	if err != nil {
		return none{}, err
	}
	if err := c.rules.checkHeartbeat(n, h); err != nil { // names are looked up for no stranger
		return none{}, err
	}
	if h.CallbackURL != "" { // an agent that takes no commands has none
		if err := c.engine.permitAgent(ctx, n, h); err != nil {
			return none{}, err
		}
	}
	consults := false
	prepare := func(ctx context.Context, n *Node) (change func(*Node) error, err error) {
		if err := c.rules.checkHeartbeat(n, h); err != nil {
			return nil, err
		}
		if !kindOf(n.ProvisionState).heartbeats() && !c.rules.recordsHeartbeat(n) {
			return nil, errNothingToDo
		}
		if consults, err = c.engine.consultsAgent(ctx, n); err != nil {
			return nil, err
		}
		if consults && h.CallbackURL == "" {
			return nil, c.engine.permitAgent(ctx, n, h)
		}
		return func(n *Node) error {
			n.Agent.URL, n.Agent.From, n.Agent.Version, n.Agent.LastHeartbeat = h.CallbackURL, h.From, errtext.Clean(h.AgentVersion), now()
			n.Agent.VerifyCA = cmp.Or(h.AgentVerifyCA, n.Agent.VerifyCA)
			return nil
		}, nil
	}
	before, n, err := c.fleet.editPrepared(ctx, ident, prepare, c.fleet.editFrom)
	if errors.Is(err, errNothingToDo) {
		c.config.Log.Warn("an agent has sent a heartbeat in a state that allows none", "node", ident)
		return none{}, nil
	}
	if err != nil {
		return none{}, err
	}
	if before.Agent.URL == "" && h.CallbackURL != "" {
		c.config.Log.Info("an agent runs", "node", n.UUID, "from", h.From, "version", n.Agent.Version)
	}
	effect, failure, err := c.engine.heartbeatEffect(ctx, n, h, consults)
	if err != nil {
		return none{}, err
	}
	c.config.Log.Debug("a heartbeat", "node", n.UUID, "state", n.ProvisionState, "effect", effect)
	switch effect {
	case heartbeatResumes:
		return none{}, resume(ctx, c, ident, failure, n.waitsAs)
	case heartbeatConsults:
		c.engine.consultAgent(n)
	}
	return none{}, nil
}

// heartbeatEffect says what the conductor does after it has stored a heartbeat. Its text is logged.
type heartbeatEffect string

const (
	heartbeatNotAwaited  heartbeatEffect = "none: the node waits for no heartbeat"
	heartbeatReserved    heartbeatEffect = "none: the node is reserved"
	heartbeatMaintenance heartbeatEffect = "none: the node is in maintenance"
	heartbeatTellsNobody heartbeatEffect = "none: the step does not end with a heartbeat"
	heartbeatResumes     heartbeatEffect = "it is the call-back for which the node waits"
	heartbeatConsults    heartbeatEffect = "the conductor asks the agent for its commands"
)

// heartbeatEffect returns the effect of a heartbeat that is already stored in the node's record. A failure, if there is
// one, ends the work. consults is the result of [engine.consultsAgent].
func (e *engine) heartbeatEffect(
	ctx context.Context, n *Node, h Heartbeat, consults bool,
) (effect heartbeatEffect, failure, err error) {
	if effect, failure = e.rules.heartbeatByRecord(n); effect != "" {
		return effect, failure, nil
	}
	waits, err := e.waitsBuiltIn(ctx, n)
	if err != nil {
		return "", nil, err
	}
	effect, failure = heartbeatByAnswers(h, e.types.description(n).Simulated, consults, waits)
	return effect, failure, nil
}

// heartbeatByRecord returns the effect of a heartbeat if the node's record alone decides it. The effect is empty if the
// hardware type has to be asked.
func (b *rulebook) heartbeatByRecord(n *Node) (effect heartbeatEffect, failure error) {
	switch {
	case n.Reservation != "":
		return heartbeatReserved, nil
	case !kindOf(n.ProvisionState).waitsForAgent(n):
		return heartbeatNotAwaited, nil
	case b.admission().Heartbeat(n.Fields()) != nil: // it is in maintenance
		if failure = b.endsInMaintenance(n); failure != nil {
			return heartbeatResumes, failure
		}
		return heartbeatMaintenance, nil
	default:
		return "", nil
	}
}

// endsInMaintenance returns the reason why a heartbeat fails the work of a node in maintenance,
// nil if the work waits until the maintenance has ended.
//
// Source: _heartbeat_in_maintenance in ironic/drivers/modules/agent_base.py.
func (b *rulebook) endsInMaintenance(n *Node) error {
	work := kindOf(n.ProvisionState).texts.inMaintenance
	if work == "" || b.admission().Work(n.Fields()) == nil {
		return nil
	}
	return fmt.Errorf("%s aborted as node is in maintenance mode", work)
}

// heartbeatByAnswers returns the effect of a heartbeat for which a node waits. The other arguments are the answers of
// the node's hardware type: whether it is simulated, whether the conductor speaks to the agent, and whether the node
// waits in the built-in step "wait".
func heartbeatByAnswers(h Heartbeat, simulated, consults, waitsBuiltIn bool) (effect heartbeatEffect, failure error) {
	switch {
	case h.AgentStatus == "error" && !consults:
		return heartbeatResumes, fmt.Errorf("the agent reported an error: %s", h.AgentStatusMessage)
	case simulated && !consults || waitsBuiltIn:
		return heartbeatResumes, nil
	case consults:
		return heartbeatConsults, nil
	default:
		return heartbeatTellsNobody, nil
	}
}

// waitsBuiltIn reports whether the current step of a node is the built-in step "wait", and no step of that name of the
// node's hardware type. A heartbeat then continues the work, without the conductor's speaking to the agent.
func (e *engine) waitsBuiltIn(ctx context.Context, n *Node) (bool, error) {
	hardware, err := e.types.of(n)
	if err != nil || n.Step().Step != "wait" {
		return false, nil
	}
	available, err := e.types.stepsFor(ctx, hardware, n, kindOf(n.ProvisionState).work)
	if err != nil {
		return false, err
	}
	step, _ := e.rules.runnable(n.Step(), available)
	return step.Step == "wait" && step.Run == nil, nil
}

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
	outcome, failure := boundedcall.Do(s.ctx, stepGrace, t.askAgent)
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
			err = e.rules.answered(n, outcome, at)
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

// askAgent asks the agent of the task's node, which waits, how the node's work goes on. An error fails the work.
func (t *Task) askAgent(ctx context.Context) (agentwork.Outcome, error) {
	ctx, err := t.engine.fenced(ctx, t.Node())
	if err != nil {
		return agentwork.Unchanged, err
	}
	if answer := kindOf(t.Node().ProvisionState).agent.answer; answer != nil {
		return answer(ctx, agentTask{t})
	}
	return agentwork.Answer(ctx, agentTask{t})
}

// Resume is the call-back that a node waits for. With a nil failure the waiting step is
// done and the work continues with the next step; an inspection that waits is then complete.
// Otherwise the work has failed. The error matches [NotAllowed] for a node that does not
// wait, [NotFound], [Locked] or [NoWorker], or is the store's.
func (c *Conductor) Resume(ctx context.Context, ident string, failure error) error {
	return resume(ctx, c, ident, failure, func(*Node) bool { return true })
}

// waitsAs reports whether a later record of a node waits as this one does: in the same step of the same work.
func (n *Node) waitsAs(later *Node) bool {
	kind := kindOf(n.ProvisionState)
	return later.isAtWorkOf(n) && later.Step().String() == n.Step().String() && kind.of(later).Begun == kind.of(n).Begun
}

// resume is Resume for a node that still waits for this call-back. Otherwise it does nothing: another call-back was
// first.
func resume(ctx context.Context, c *Conductor, ident string, failure error, waits func(*Node) bool) error {
	before, n, err := c.engine.startWork(ctx, ident, func(ctx context.Context, n *Node) (change func(*Node) error, err error) {
		if !waits(n) {
			return nil, errNothingToDo
		}
		if c.config.Table.Phase(n.ProvisionState) != states.PhaseWaiting {
			return nil, refuse(NotAllowed, "Node %s does not wait for a call-back: it is in provision state %q.", n.UUID, n.ProvisionState)
		}
		if err := c.rules.unlocked(n); err != nil {
			return nil, err
		}
		var ramdisk ramdiskUse
		if failure != nil {
			ramdisk = c.engine.bootsRamdisk(ctx, n)
		}
		return func(n *Node) error { return c.rules.callBack(n, failure, ramdisk, now()) }, nil
	})
	if errors.Is(err, errNothingToDo) {
		return nil
	}
	// Ironic has no entry for an inspection that an inspector ends, see
	// ironic/drivers/modules/inspector/interface.py.
	if err == nil && failure != nil && !inspection.waits(before) {
		c.engine.history.failed(ctx, before, n)
	}
	return err
}
