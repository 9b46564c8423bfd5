// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// PowerState reads a node's power state: PowerOn or PowerOff.
func (d *Driver) PowerState(ctx context.Context, id string) (states.Power, error) {
	var power states.Power
	err := d.do(ctx, id, "read the power state", func(ctx context.Context, conn connection) (err error) {
		power, err = readPower(ctx, conn)
		return err
	})
	return power, err
}

// SetPower requests a power state and returns once the BMC has accepted the request:
// PowerOn, PowerOff, PowerRebooting or PowerSoftOff. To reboot a node that is off,
// SetPower switches it on. PowerSoftRebooting, for which bmclib has no word, and every
// other value are an error that matches [errors.ErrUnsupported].
func (d *Driver) SetPower(ctx context.Context, id string, power states.Power) error {
	word, ok := map[states.Power]string{
		states.PowerOn: "on", states.PowerOff: "off", states.PowerRebooting: "cycle", states.PowerSoftOff: "soft",
	}[power]
	if !ok {
		return fmt.Errorf("set power state %q: %w", power, errors.ErrUnsupported)
	}
	return d.do(ctx, id, "set "+power.String(), func(ctx context.Context, conn connection) error {
		if power == states.PowerRebooting {
			now, err := conn.powerState(ctx)
			if err != nil {
				return err
			}
			if now, _ := parsePower(now); now == states.PowerOff {
				word = "on"
			}
		}
		return conn.setPower(ctx, word)
	})
}

// nmi is the word of connection.setPower for a non-maskable interrupt. It is ipmitool's.
const nmi = "diag"

// InjectNMI sends a node's machine a non-maskable interrupt, at which most operating
// systems write a dump.
//
// Source: inject_nmi in ironic/drivers/modules/redfish/management.py and ipmitool.py.
func (d *Driver) InjectNMI(ctx context.Context, id string) error {
	return d.do(ctx, id, "inject an NMI", func(ctx context.Context, conn connection) error {
		return conn.setPower(ctx, nmi)
	})
}

func readPower(ctx context.Context, conn connection) (states.Power, error) {
	word, err := conn.powerState(ctx)
	if err != nil {
		return states.NoPower, err
	}
	return parsePower(word)
}

// parsePower returns the power state of a driver's answer: Redfish's PowerState, or the
// line that ipmitool prints. As in Ironic's redfish driver, a machine that is powering
// on counts as on, and one that is powering off as off.
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
