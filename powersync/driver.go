// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"

	"github.com/ironstate/ironstate/states"
)

// Driver reads and sets the hardware of a fleet. Its methods are called from many
// goroutines at once, but one at a time per node. Their context has a deadline,
// [Config.Timeout] from the call, [Config.SetPowerTimeout] for SetPower. A call that
// panics or ends its goroutine has failed.
// A call also fails if it does not return soon after its context ended (within an
// eighth of Timeout, 2 s at most): it is abandoned in its goroutine, and until it
// returns, every call for that node fails without being made. At most one call per node
// is abandoned, so that a driver that never returns costs at most one goroutine per
// node.
//
// Errors must not contain secrets: they become the node's last error and reason for
// maintenance, and are logged.
//
// A Driver can limit the load on a network of BMCs by bounding its own calls, for
// instance with one semaphore per network.
//
// A Driver may also be a [Validator].
type Driver interface {
	// PowerState reads a node's power state: PowerOn, PowerOff, or PowerError if the
	// hardware answered without one. NoPower is for hardware that has no power state,
	// such as Ironic's fake-hardware before its power was ever set: it equals a record
	// without one. Any other value counts as PowerError.
	PowerState(ctx context.Context, id string) (states.Power, error)

	// SetPower requests a power state and returns when the hardware has accepted the
	// request; it need not have reached the power state. Rounds request PowerOn or
	// PowerOff. [Syncer.Set] may also request PowerRebooting and, if the machine is on,
	// PowerSoftRebooting and PowerSoftOff. A Syncer does not repeat a request that is
	// refused, as Ironic's conductor does not: a driver that knows such BMCs does, as
	// Ironic's Redfish driver and bmc.Driver do. An error that matches
	// [errors.ErrUnsupported] says that the driver has no such request. After another
	// error the power state is read once, see [Confirm].
	SetPower(ctx context.Context, id string, power states.Power) error
}

// Validator is an optional ability of a [Driver]: it checks whether a node's configuration is
// complete and valid, without contacting the hardware.
//
// Rounds skip a node with an invalid configuration until a power state is recorded for
// it. Such a node is not recovered, and its power requests are refused.
type Validator interface {
	Validate(ctx context.Context, id string) error
}
