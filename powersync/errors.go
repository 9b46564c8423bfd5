// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

var (
	// ErrRunning says that this Syncer already runs a round of this kind.
	ErrRunning = errors.New("a round is already running")
	// ErrLocked says that the node is reserved, or that its power is being changed. The
	// caller may try again later. Ironic answers with status 409. It is [admission.Locked].
	ErrLocked error = admission.Locked
	// ErrNotReached says that the hardware accepted the request and did not reach the
	// requested power state in time.
	ErrNotReached = errors.New("power state not reached")
	// ErrNotSaved says that the outcome of a power request could not be stored. The
	// Syncer tries again in its next sync round, and at the next power request for
	// the node; until then the node is reserved.
	ErrNotSaved = errors.New("outcome not saved")

	// errAbandoned says that a call of the Driver or the Store did not return and was
	// abandoned, or was not made because an earlier one for the same node has not
	// returned. In the second case the error also matches errNotCalled.
	errAbandoned = errors.New("the call does not return")
	errNotCalled = errors.New("not called")
)

// noPowerError says that the hardware answered without a power state. Its value is the
// driver's answer: NoPower stands for hardware without a power state, which agrees with a
// record without one.
type noPowerError states.Power

func (e noPowerError) Error() string {
	if states.Power(e) == states.NoPower {
		return "no power state reported: the hardware has none"
	}
	return fmt.Sprintf("no power state reported: it is %q", states.Power(e))
}

// ConfigError is the error of an invalid configuration.
type ConfigError = machine.ConfigError

// RefusedError says that a power request is not allowed: in the node's provision
// state, by the node's disable_power_off, or at all, if Power cannot be requested.
type RefusedError struct {
	ID    string
	State states.State // NoState if Power cannot be requested
	Power states.Power // the requested power state
	// PowerOffDisabled says that disable_power_off forbids the request, and not the
	// provision state. Ironic then answers 409, otherwise 400.
	PowerOffDisabled bool
}

func (e *RefusedError) Error() string {
	request := fmt.Sprintf("node %s: request for %q refused", e.ID, e.Power)
	switch {
	case e.Power.Target() == states.NoPower:
		return request + ": not a power state that can be asked for"
	case e.PowerOffDisabled:
		return request + ": the node has power off disabled"
	default:
		return fmt.Sprintf("%s in provision state %q", request, e.State)
	}
}
