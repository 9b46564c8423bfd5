package powersync

import (
	"context"

	"github.com/ironstate/ironstate/states"
)

// Driver asks the hardware of a fleet. Its methods are called from many
// goroutines at once, for one node one after the other. Their context has a
// deadline, [Config.Timeout] from the call. A call that panics or ends its
// goroutine has failed. So has one that does not return soon after its context
// ended (within an eighth of Timeout, 2 s at most): it is abandoned in its
// goroutine, and until it returns every call for that node fails without being
// made. At most one call a node is abandoned, so
// that a driver that never returns costs as many goroutines as it has nodes.
//
// Errors must hold no secret: they become the node's last error and reason for
// maintenance, and are logged.
//
// A Driver that is to spare a network of BMCs can bound its own calls, with a
// semaphore a network.
//
// A Driver may also be a [Validator].
type Driver interface {
	// PowerState reads a node's power state: PowerOn, PowerOff, or PowerError
	// where the hardware answered without one. NoPower is for hardware that has no
	// power state, such as Ironic's fake-hardware before its power was ever set: it
	// equals a record without one. Anything else counts as PowerError.
	PowerState(ctx context.Context, id string) (states.Power, error)

	// SetPower asks the hardware for a power state and returns when the hardware
	// has taken the request; it need not be there yet. In rounds the request
	// is PowerOn or PowerOff. [Syncer.Set] may also ask for PowerRebooting,
	// and for PowerSoftRebooting and PowerSoftOff, of a machine that is on.
	// An error that matches [errors.ErrUnsupported] says that the driver has no
	// such request.
	SetPower(ctx context.Context, id string, power states.Power) error
}

// Validator is a [Driver] that can tell whether a node's configuration is complete
// and valid, without asking the hardware.
//
// A node with an invalid one is left alone by rounds until a power state is
// recorded for it, is not recovered, and has its power requests refused.
type Validator interface {
	Validate(ctx context.Context, id string) error
}
