package powersync

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

var (
	// ErrRunning: a round of this kind is under way in this Syncer.
	ErrRunning = errors.New("a round is under way")
	// ErrLocked: somebody else holds the node or is changing its power. Try
	// again later. Ironic answers with status 409.
	ErrLocked = errors.New("node is locked")
	// ErrNotReached: the hardware took the request and was not seen in the
	// power state that was asked for in time.
	ErrNotReached = errors.New("power state not reached")
	// ErrNotSaved: the outcome of a power request could not be stored. The
	// Syncer tries again in its next sync round, and when the node's power is to
	// be set again; until then the node is reserved.
	ErrNotSaved = errors.New("outcome not saved")

	// A call of the Driver or the Store did not return and was abandoned, or was
	// not made since an earlier one for the same node has not returned.
	errAbandoned = errors.New("the call does not return")
	errNotCalled = errors.New("not called")
	errNoPower   = errors.New("the hardware tells no power state")
	// errNothingRead: the driver returned NoPower. It equals a record without one.
	errNothingRead = fmt.Errorf("%w: it has none", errNoPower)
)

// configError says which field of a Config cannot work, and what would have been right.
func configError(field string, value any, want string) error {
	return fmt.Errorf("powersync: %s is %v: want %s", field, value, want)
}

// RefusedError says that a power request is not allowed: in the node's provision
// state, by the node's disable_power_off, or at all, where Power cannot be asked for.
type RefusedError struct {
	ID    string
	State states.State // NoState where Power cannot be asked for
	Power states.Power // what was asked for
	// PowerOffDisabled: it is the node's disable_power_off that forbids it, and
	// not its provision state. Ironic answers 409 then, otherwise 400.
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
