// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// PowerState reads a node's power state: PowerOn or PowerOff.
func (d *Driver) PowerState(ctx context.Context, id string) (states.Power, error) {
	var power states.Power
	err := d.do(ctx, call{id: id, op: "read the power state"}, func(ctx context.Context, conn connection) (err error) {
		power, err = readPower(ctx, conn)
		return err
	})
	return power, err
}

// reset is a request to a machine, by ipmitool's word for it if it has one.
type reset string

const (
	resetOn         reset = "on"
	resetOff        reset = "off"
	resetSoft       reset = "soft" // off, by the operating system
	resetCycle      reset = "cycle"
	resetSoftReboot reset = "soft reboot" // by the operating system; ipmitool has none
	resetNMI        reset = "diag"        // a non-maskable interrupt
)

// resetOf maps the power states that may be requested.
var resetOf = map[states.Power]reset{
	states.PowerOn: resetOn, states.PowerOff: resetOff, states.PowerRebooting: resetCycle, states.PowerSoftOff: resetSoft,
	states.PowerSoftRebooting: resetSoftReboot,
}

// SetPower requests a power state and returns once the BMC has accepted the request: PowerOn, PowerOff, PowerRebooting,
// PowerSoftOff or PowerSoftRebooting. To reboot a node that is off, SetPower switches it on. The error matches
// [errors.ErrUnsupported] for any other value, for PowerSoftRebooting over IPMI, and where the BMC has no such reset.
//
// After a request that was refused, or whose answer was lost, SetPower reads the power state once, by the rule of
// [powersync.Confirm].
//
// Source: set_power_state in ironic/drivers/modules/redfish/power.py.
func (d *Driver) SetPower(ctx context.Context, id string, power states.Power) error {
	kind, ok := resetOf[power]
	if !ok {
		return fmt.Errorf("set power state %q: %w", power, errors.ErrUnsupported)
	}
	return d.setPower(ctx, id, "set "+power.String(), kind, power)
}

// setPower sends a reset; power is the state to confirm afterwards, NoPower for none. The reset is sent again only if
// the BMC has refused its session.
func (d *Driver) setPower(ctx context.Context, id, op string, kind reset, power states.Power) error {
	var lost error // of a request that may have been carried out
	wanted := power
	// A BMC may refuse to switch a machine on for a minute.
	err := d.do(ctx, call{id: id, op: op, long: power.Target() == states.PowerOn}, func(ctx context.Context, conn connection) error {
		asked := kind
		if kind == resetCycle || kind == resetSoftReboot {
			word, err := conn.powerState(ctx)
			if err != nil {
				return err
			}
			asked, wanted = restart(power, word)
		}
		sent, err := conn.setPower(ctx, asked)
		if sent && err != nil && !errors.Is(failure.KindOf(err), verify.Credentials) {
			lost = err
		}
		return err
	})
	if errors.Is(err, verify.Unsupported) {
		err = unsupported{err}
	}
	if lost != nil {
		err = powersync.Confirm(ctx, wanted, err, func() powersync.Reading {
			now, unread := d.PowerState(ctx, id)
			return powersync.Reading{Power: now, Err: unread}
		})
	}
	return err
}

// restart returns the reset in place of a restart of a machine, and the power state in which it ends: a machine that is
// off is switched on. One without a power state is restarted.
func restart(power states.Power, now string) (reset, states.Power) {
	reading, _ := parsePower(now)
	if ask, err := powersync.DecideRequest(power, powersync.Reading{Power: reading}); err == nil && resetOf[ask] != "" {
		power = ask
	}
	return resetOf[power], power
}

// unsupported is an error of the kind [verify.Unsupported] that also matches [errors.ErrUnsupported].
type unsupported struct{ error }

func (u unsupported) Unwrap() error { return u.error }

func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }

// InjectNMI sends a node's machine a non-maskable interrupt, at which most operating systems write a dump.
//
// Source: inject_nmi in ironic/drivers/modules/redfish/management.py and ipmitool.py.
func (d *Driver) InjectNMI(ctx context.Context, id string) error {
	return d.setPower(ctx, id, "inject an NMI", resetNMI, states.NoPower)
}

func readPower(ctx context.Context, conn connection) (states.Power, error) {
	word, err := conn.powerState(ctx)
	if err != nil {
		return states.NoPower, err
	}
	return parsePower(word)
}

// parsePower returns the power state of a driver's answer: Redfish's PowerState, or the line that ipmitool prints. As
// in Ironic's redfish driver, a machine that is powering on counts as on, and one that is powering off as off.
func parsePower(answer string) (states.Power, error) {
	word := strings.ToLower(strings.TrimSpace(answer))
	switch strings.TrimPrefix(word, "chassis power is ") {
	case "on", "poweringon":
		return states.PowerOn, nil
	case "off", "poweringoff":
		return states.PowerOff, nil
	default:
		return states.NoPower, failure.Unsupportedf("the power state read is %q", answer)
	}
}
