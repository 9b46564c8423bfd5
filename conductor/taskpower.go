package conductor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// The exponential backoff between two reads of a power state: the first delay and the maximum.
const (
	firstPowerRead = 100 * time.Millisecond
	maxPowerRead   = 5 * time.Second
)

// SetPower sets the power state of the task's node, waits until the machine has it, and stores it. A
// machine that has it already is not set. A reboot cannot be observed: it is done when the machine is
// on. The wait is bounded by the timeouts of [Config.Power]. Before a power off or a reboot the node's
// record forgets the agent, which ends with it.
//
// Source: node_power_action in ironic/conductor/utils.py.
func (t *Task) SetPower(ctx context.Context, power states.Power) error {
	n := t.Node()
	if n == nil {
		return &ConfigError{"Task", "one that a step was given"}
	}
	if power != states.PowerOn && n.knowsAgent() {
		if err := t.Update(ctx, func(n *Node) error { n.forgetBootedAgent(); return nil }); err != nil {
			return err
		}
	}
	if err := t.conductor.reachPower(ctx, t.hardware, n, power); err != nil {
		return err
	}
	return t.Update(ctx, func(n *Node) error { n.powered(power.Target()); return nil })
}

// reachPower sets the power state of a node and waits until the machine has it.
func (c *Conductor) reachPower(ctx context.Context, hardware Hardware, n *Node, power states.Power) error {
	want := power.Target()
	switch {
	case want == states.NoPower:
		return refuse(Invalid, "%v cannot be requested as a power state", power)
	case n.DisablePowerOff && want == states.PowerOff:
		return refuse(PowerOffDisabled, "%v of node %s is disabled by disable_power_off", power, n.UUID)
	}
	timeout := cmp.Or(c.config.Power.Timeout, time.Minute)
	if power == states.PowerSoftOff || power == states.PowerSoftRebooting {
		timeout = cmp.Or(c.config.Power.SoftTimeout, 10*time.Minute)
	}
	restart := power == states.PowerRebooting || power == states.PowerSoftRebooting
	if now, err := hardware.PowerState(ctx, n); err != nil && !restart {
		return err
	} else if now != want || restart {
		if err := hardware.SetPower(ctx, n, power); err != nil {
			return err
		}
	}
	begun := time.Now()
	for wait := firstPowerRead; ; wait = min(2*wait, maxPowerRead) {
		now, err := hardware.PowerState(ctx, n)
		switch {
		case err == nil && now == want:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(begun) <= timeout: // a BMC may be busy meanwhile
		case err != nil:
			return err
		default:
			return fmt.Errorf("%v was requested, but the power state is %v after %v", power, now, timeout)
		}
		sleep(ctx, wait)
	}
}
