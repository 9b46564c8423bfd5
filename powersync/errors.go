package powersync

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

var (
	// ErrConfig: a [Config] cannot work. The error is a [*ConfigError].
	ErrConfig = errors.New("bad configuration")
	// ErrRunning: a round of this kind is under way in this Syncer.
	ErrRunning = errors.New("a round is under way")
	// ErrRefused: a power request is not allowed, in the node's provision state
	// or at all. The error is a [*RefusedError]. Ironic answers with status 400.
	ErrRefused = errors.New("power request refused")
	// ErrPowerOffDisabled: the node forbids power off. The error is a
	// [*RefusedError] and matches ErrRefused too. Ironic's PowerStateFailure
	// has the status 409.
	ErrPowerOffDisabled = errors.New("power off is disabled")
	// ErrLocked: somebody else holds the node or is changing its power. Try
	// again later. Ironic answers with status 409.
	ErrLocked error = &statusError{"node is locked", statusConflict}
	// ErrRequest: the request is for no power state that can be asked for.
	// Ironic answers with status 400.
	ErrRequest error = &statusError{"not a power state that can be asked for", statusBadRequest}
	// ErrNotReached: the hardware took the request and was not seen in the
	// power state that was asked for in time.
	ErrNotReached = errors.New("power state not reached")
	// ErrNotSaved: the outcome of a power request could not be stored. The
	// Syncer tries again in its next sync round, and when the node's power is to
	// be set again; until then the node is reserved.
	ErrNotSaved = errors.New("outcome not saved")
	// ErrAbandoned: a call of the Driver or the Store did not return and was left
	// behind, or was not made since an earlier one for the same node has not
	// returned.
	ErrAbandoned = errors.New("the call does not return")

	errNotCalled = errors.New("not called")
	errNoPower   = errors.New("the hardware tells no power state")
	// errNothingRead: the driver returned NoPower. It equals a record without one.
	errNothingRead = fmt.Errorf("%w: it has none", errNoPower)
)

// Statuses as in net/http, which is too much to import for three numbers.
const (
	statusBadRequest = 400
	statusNotFound   = 404
	statusConflict   = 409
)

// ConfigError says which field of a [Config] cannot work. It matches [ErrConfig].
type ConfigError struct {
	Field string
	Value any    // its value
	Want  string // a value that would have been right
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("powersync: %s is %v: want %s", e.Field, e.Value, e.Want)
}

// Is reports whether target is [ErrConfig].
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// RefusedError says that a node does not allow a power request. It matches
// [ErrRefused], and [ErrPowerOffDisabled] where that is why.
type RefusedError struct {
	ID    string
	State states.State
	Power states.Power // what was asked for
	// PowerOffDisabled: it is the node's disable_power_off that forbids it, and
	// not its provision state.
	PowerOffDisabled bool
}

func (e *RefusedError) Error() string {
	if e.PowerOffDisabled {
		return fmt.Sprintf("node %s: request for %q refused: the node has power off disabled", e.ID, e.Power)
	}
	return fmt.Sprintf("node %s: request for %q refused in provision state %q", e.ID, e.Power, e.State)
}

// Is reports whether target is [ErrRefused] or [ErrPowerOffDisabled].
func (e *RefusedError) Is(target error) bool {
	return target == ErrRefused || e.PowerOffDisabled && target == ErrPowerOffDisabled
}

// HTTPStatus returns the status of Ironic's answer: 409 where the node has power
// off disabled, otherwise 400.
func (e *RefusedError) HTTPStatus() int {
	if e.PowerOffDisabled {
		return statusConflict
	}
	return statusBadRequest
}

// statusError is a sentinel with the status of Ironic's answer.
type statusError struct {
	text   string
	status int
}

func (e *statusError) Error() string { return e.text }

func (e *statusError) HTTPStatus() int { return e.status }
