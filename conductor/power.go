// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// SetPower accepts a client's request to change a node's power state. It returns once the
// node is reserved and its target power state is stored; the API then responds with 202. The
// timeout bounds the wait for the power state; 0 stands for the configured timeout. The
// error is a [*powersync.RefusedError] if the target cannot be requested, and an [*Error] if the node
// does not permit the request or is not found.
//
// Source: change_node_power_state in ironic/conductor/manager.py.
func (c *Conductor) SetPower(ctx context.Context, ident string, target states.Power, timeout time.Duration) error {
	_, err := dispatch(ctx, c, ident, powerRequest{target, timeout})
	return err
}

type powerRequest struct {
	Target  states.Power
	Timeout time.Duration
}

func (powerRequest) method() string { return "set power" }

func (r powerRequest) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	return none{}, c.fleet.retryLocked(ctx, func() error { return c.engine.startPower(ctx, ident, r.Target, r.Timeout) })
}

// startPower reserves a node for a power request and begins to carry it out.
func (e *engine) startPower(ctx context.Context, ident string, target states.Power, timeout time.Duration) error {
	s, err := e.sessions.current()
	if err != nil {
		return err
	}
	n, err := e.fleet.node(ctx, ident)
	if err != nil {
		return err
	}
	if err := e.rules.admission().Power(n.Fields(), target); err != nil {
		return e.rules.refused(n, err)
	}
	if err := e.takeWorker(ctx, n.UUID); err != nil {
		return err
	}
	id, begun := n.UUID, false
	defer func() {
		if !begun { // an error, or a panic of the hardware type
			e.pool.Free(id)
		}
	}()
	prepare := func(ctx context.Context, n *Node) (change func(*Node) error, err error) {
		accepted, err := e.acceptPower(ctx, n, target)
		return func(n *Node) error {
			n.setPower(accepted)
			e.reserve(n, s.id)
			return nil
		}, err
	}
	before, n, err := e.fleet.editPrepared(ctx, id, prepare, e.fleet.editFrom)
	if err != nil {
		return err
	}
	begun = true
	origin := e.config.origin(ctx)
	e.syncer.Emit(ctx, powersync.Event{
		ID: n.UUID, Outcome: powersync.PowerRequested, Recorded: before.Power, Asked: target, ClearedError: before.LastError,
	})
	s.run.group.Go(func() {
		defer e.pool.Free(n.UUID)
		_ = e.config.traced(s.ctx, Operation{target.String(), n, origin}, func(ctx context.Context) error {
			return e.finishPower(ctx, e.task(n), target, timeout)
		})
	})
	return nil
}

// acceptPower returns a node's power record after a power request, or refuses the request.
func (e *engine) acceptPower(ctx context.Context, n *Node, target states.Power) (accepted powersync.Record, err error) {
	if err := e.rules.admission().Power(n.Fields(), target); err != nil {
		return accepted, e.rules.refused(n, err)
	}
	accepted, err = powersync.Accept(powerRecord(n), target)
	switch {
	case errors.Is(err, powersync.ErrLocked): // the node has a target power state
		return accepted, refuse(Locked, "%s", lockedText(n, n.Conductor))
	case err != nil:
		return accepted, err
	}
	hardware, err := e.types.of(n)
	if err != nil {
		return accepted, err
	}
	if err := e.types.validate(ctx, hardware, n)["power"]; err != nil {
		return accepted, fmt.Errorf("node %s: %w", n.UUID, err)
	}
	if limiter, ok := hardware.(PowerLimiter); ok {
		supports, err := askHardware(ctx, e.types, n, "the power states of the node", func() bool { return limiter.SupportsPower(n, target) })
		if err != nil {
			return accepted, err
		}
		if !supports {
			return accepted, refuse(Invalid, "The driver %s does not support the power state, %v", n.Driver, target)
		}
	}
	return accepted, nil
}

// finishPower carries a power request out and stores what came of it.
func (e *engine) finishPower(ctx context.Context, t *Task, target states.Power, timeout time.Duration) error {
	failure := t.reachPower(ctx, target, timeout)
	if t.record.lost(ctx) {
		return errLost // another process reports the loss
	}
	var event powersync.Event
	err := t.record.persist(ctx, func(n *Node) error {
		var settled powersync.Record
		settled, event = powersync.SettleRequest(powerRecord(n), target, failure)
		n.setPower(settled)
		n.drop()
		return nil
	})
	if err != nil {
		e.config.Log.Warn("the end of a power request could not be stored", "node", t.Node().UUID, "target", target, "error", err)
		return err
	}
	e.history.power(ctx, event)
	e.syncer.Emit(ctx, event)
	return event.Err
}

// powerRecord returns the part of a node's record by which package powersync decides.
func powerRecord(n *Node) powersync.Record {
	return powersync.Record{
		ID: n.UUID, Name: n.Name, ProvisionState: n.ProvisionState, Power: n.Power, TargetPower: n.TargetPower,
		Maintenance: n.Maintenance, MaintenanceReason: n.MaintenanceReason, Fault: n.Fault,
		Reservation: n.Reservation, LastError: n.LastError, DisablePowerOff: n.DisablePowerOff,
	}
}

// setPower stores a decision of package powersync in a node, apart from its reservation.
func (n *Node) setPower(r powersync.Record) {
	if n.TargetPower != states.NoPower && r.TargetPower == states.NoPower && r.LastError == "" {
		n.powered(r.Power)
	}
	if r.Power == states.PowerOff && (n.Power != states.PowerOff || n.TargetPower != states.NoPower) {
		n.forgetBootedAgent()
	}
	n.Power, n.TargetPower = r.Power, r.TargetPower
	n.Maintenance, n.MaintenanceReason, n.Fault = r.Maintenance, r.MaintenanceReason, r.Fault
	n.LastError = r.LastError
}

// The exponential backoff between two reads of a power state: the first delay, and the maximum unless
// [powersync.Config.Poll] is set.
const (
	firstPowerRead = 100 * time.Millisecond
	maxPowerRead   = 5 * time.Second
)

// reachPower sets the power state of the task's node and waits until the machine has it. Before a power off or a reboot
// the node's record forgets the agent, also if the machine is off already: the agent may have powered it off, or a
// person.
func (t *Task) reachPower(ctx context.Context, target states.Power, timeout time.Duration) error {
	n := t.Node()
	if target.Target() == states.NoPower {
		return refuse(Invalid, "%v cannot be requested as a power state", target)
	}
	if err := n.permitsPower(target); err != nil {
		return err
	}
	ask, err := powersync.DecideRequest(target, t.engine.readPower(ctx, t.hardware, n))
	if err == nil {
		err = t.forgetBefore(ctx, target)
	}
	if err != nil || ask == states.NoPower {
		return err
	}
	if _, err := (relatives{t}).setPower(ctx, target, timeout); err != nil {
		return err
	}
	return powersync.Perform(powerRecord(n), ask, func(power states.Power) error { return t.awaitPower(ctx, power, timeout) })
}

// awaitPower requests a power state from the hardware, and waits until the machine has it. Halfway through the wait it
// sends power on again if the machine is still off: BMCs of Lenovo accept a power on soon after a power off, and ignore
// it. A refusal of the second request changes nothing, since the machine may be about to start; only a call that
// hangs fails the request.
//
// Source: pull request 595 of github.com/dsx-ai-factory/infra-controller.
func (t *Task) awaitPower(ctx context.Context, ask states.Power, timeout time.Duration) error {
	if err := t.askPower(ctx, ask); err != nil {
		return err
	}
	n := t.Node()
	if timeout <= 0 {
		timeout = t.engine.syncer.Config().RequestTimeout(ask)
	}
	begun, again := time.Now(), ask == states.PowerOn
	for wait := firstPowerRead; ; wait = min(2*wait, cmp.Or(t.engine.config.Power.Poll, maxPowerRead)) {
		now := t.engine.readPower(ctx, t.hardware, n)
		switch {
		case now.Err == nil && now.Power == ask.Target():
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case verify.LoginRefused(now.Err):
			return now.Err
		case time.Since(begun) <= timeout: // a BMC may be busy meanwhile
		case now.Err != nil:
			return fmt.Errorf("%w: %q within %v: %w", powersync.ErrNotReached, ask.Target(), timeout, now.Err)
		default:
			return fmt.Errorf("%w: %q within %v: it is in %q", powersync.ErrNotReached, ask.Target(), timeout, now.Power)
		}
		if again && now.Err == nil && now.Power == states.PowerOff && time.Since(begun) >= timeout/2 {
			again = false
			second, cancel := context.WithTimeout(ctx, timeout-time.Since(begun))
			_ = t.askPower(second, ask)
			cancel()
		}
		sleep.For(ctx, wait)
	}
}

// permitsPower returns an error if the node forbids a power state.
func (n *Node) permitsPower(target states.Power) error {
	if n.DisablePowerOff && target.Target() == states.PowerOff {
		return refuse(PowerOffDisabled, "%v of node %s is disabled by disable_power_off", target, n.UUID)
	}
	return nil
}

// forgetBefore removes the data of the node's agent before a request for a power state that ends the agent.
//
// Source: node_power_action in ironic/conductor/utils.py.
func (t *Task) forgetBefore(ctx context.Context, power states.Power) error {
	if power == states.PowerOn || t.Node().Agent.Token == "" {
		return nil
	}
	return t.Update(ctx, func(n *Node) error { n.forgetBootedAgent(); return nil })
}

// askPower requests a power state from the hardware of a node that this process has reserved, by the rule of
// [powersync.Confirm].
func (t *Task) askPower(ctx context.Context, power states.Power) error {
	n := t.Node()
	permitted, err := t.engine.fenced(ctx, n)
	if err != nil {
		return err
	}
	t.engine.counters.powerSets.Add(1)
	timeout, o := t.engine.syncer.Config().SetPowerTimeout(), Operation{Name: "set " + power.String(), Node: n}
	_, err = callPower(permitted, t.engine, timeout, o, forPower, func(ctx context.Context) (none, error) {
		return none{}, t.hardware.SetPower(ctx, n, power)
	})
	return powersync.Confirm(ctx, power, err, func() powersync.Reading { return t.engine.readPower(ctx, t.hardware, n) })
}

// forPower is the purpose of the calls that set and read a power state: none is made while another one hangs.
const forPower = "for the power"

// readPower reads the power state of a node.
func (e *engine) readPower(ctx context.Context, hardware Hardware, n *Node) powersync.Reading {
	e.counters.powerReads.Add(1)
	o := Operation{Name: "read power", Node: n}
	power, err := callPower(ctx, e, e.syncer.Config().Timeout, o, forPower, func(ctx context.Context) (states.Power, error) {
		return hardware.PowerState(ctx, n)
	})
	return powersync.Reading{Power: power, Err: err}
}
