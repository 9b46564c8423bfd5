// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// The rules of a power request are used in this order: Accept, DecideRequest, Perform, Confirm for each request to the
// hardware, SettleRequest. [Syncer.Set] carries them out.

// Accept decides about a request for a power state. It returns the record to store with
// the caller's reservation: its target power state is set and its last error cleared.
// The error is a [*RefusedError], or matches [ErrLocked]. The rule is [admission.Rules.Power];
// besides, a node with a target power state is locked.
func Accept(r Record, power states.Power) (Record, error) {
	refusal := admission.Rules{}.Power(admission.NodeFields{
		State: r.ProvisionState, DisablePowerOff: r.DisablePowerOff, Reserved: r.Reservation != "",
	}, power)
	switch {
	case power.Target() == states.NoPower:
		return r, &RefusedError{ID: r.ID, Power: power}
	case errors.Is(refusal, admission.Locked):
		return r, fmt.Errorf("node %s: %w by %s", r.ID, ErrLocked, r.Reservation)
	case refusal != nil:
		return r, &RefusedError{
			ID: r.ID, State: r.ProvisionState, Power: power, PowerOffDisabled: errors.Is(refusal, admission.PowerOffDisabled),
		}
	case r.TargetPower != states.NoPower:
		return r, fmt.Errorf("node %s: %w: it is on its way to %q", r.ID, ErrLocked, r.TargetPower)
	}
	r.TargetPower = power.Target()
	r.LastError = ""
	return r, nil
}

// DecideRequest decides how an accepted request for a power state begins: it returns the
// power state to ask of the hardware, or NoPower if the hardware is in that state already. A
// machine that is off is switched on instead of restarted. An error ends the request.
//
// Source: node_power_action in ironic/conductor/utils.py.
func DecideRequest(power states.Power, reading Reading) (ask states.Power, err error) {
	restart := restarts(power)
	now, _ := reading.known()
	switch {
	case reading.Err != nil && !restart, // hardware that answers without a power state is set
		errors.Is(reading.Err, verify.Credentials): // they are not sent again: BMCs lock accounts
		return states.NoPower, reading.Err
	case now == power.Target() && !restart:
		return states.NoPower, nil
	case now == states.PowerOff && restart:
		return states.PowerOn, nil
	default:
		return power, nil
	}
}

// Confirm returns the error of a request for a power state. If the hardware has refused the request, or its answer was
// lost, Confirm reads the power state once: the request has succeeded if it is the wanted one, since machines also go
// off by themselves. Nothing is read once the context has ended, after a restart, which a power state does not show,
// for hardware that lacks the request, and after refused credentials, which are not sent again.
func Confirm(ctx context.Context, power states.Power, err error, read func() Reading) error {
	switch {
	case err == nil || ctx.Err() != nil || power.Target() == states.NoPower || restarts(power),
		errors.Is(err, errors.ErrUnsupported), errors.Is(err, verify.Credentials):
		return err
	}
	if now, unread := read().known(); unread == nil && now == power.Target() {
		return nil
	}
	return err
}

// restarts reports whether a request ends in the power state in which it begins.
func restarts(power states.Power) bool {
	return power == states.PowerRebooting || power == states.PowerSoftRebooting
}

// Perform carries out a request for a power state by do, which asks the hardware for a power state and returns once it
// is reached. A restart whose error says that the hardware lacks it becomes a power off, hard or soft as the restart,
// and a power on, unless the node forbids power off. The first error ends the request.
//
// Source: reboot and set_power_state in ironic/drivers/modules/ipmitool.py.
func Perform(r Record, power states.Power, do func(states.Power) error) error {
	err := do(power)
	if !restarts(power) || r.DisablePowerOff || !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	off := states.PowerOff
	if power == states.PowerSoftRebooting {
		off = states.PowerSoftOff
	}
	if err := do(off); err != nil {
		return err
	}
	return do(states.PowerOn)
}

// SettleRequest decides what follows once the hardware has reached the requested power
// state or, with an error, has not. The record is the node's current one. SettleRequest
// returns it without its reservation and target power state, with the reached power
// state or a last error; and the event, whose outcome is [PowerSet] or [PowerNotSet].
//
// Source: node_power_action in ironic/conductor/utils.py.
func SettleRequest(r Record, power states.Power, err error) (Record, Event) {
	e := Event{ID: r.ID, Outcome: PowerSet, Recorded: r.Power, Asked: power}
	if err != nil {
		node := r.ID
		if r.Name != "" {
			node = r.Name + " (" + r.ID + ")"
		}
		e = e.as(PowerNotSet, fmt.Errorf("node %s: request for %q failed: %w", node, power, err))
		e.setLastError(&r, e.Err.Error())
	} else {
		r.Power = power.Target()
	}
	return r.released(), e
}
