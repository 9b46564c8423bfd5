package conductor

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Reason is the reason why a [Conductor] refuses a request. It is an error, so that callers
// can write errors.Is(err, conductor.Locked).
//
// Source: ironic/common/exception.py.
type Reason uint8

const (
	// Invalid: the request or a value in it makes no sense.
	Invalid Reason = iota
	// NotFound: there is no such node or object.
	NotFound
	// Exists: another node or object has the UUID, the name or another key.
	Exists
	// Locked: the node is reserved. Try again later.
	Locked
	// WrongState: the node's provision state does not allow a change to its record,
	// or its deletion.
	WrongState
	// NotAllowed: the table has no such request in the node's provision state.
	NotAllowed
	// InMaintenance: the node is in maintenance.
	InMaintenance
	// Associated: the node has an instance, or the instance a node.
	Associated
	// IsProtected: the node is protected against rebuild, deletion and tear-down.
	IsProtected
	// IsRetired: the node is retired and must not become available.
	IsRetired
	// Unsupported: the node's hardware type does not support the request.
	Unsupported
	// Unsuitable: validation found that the requested work cannot succeed.
	Unsuitable
	// NoWorker: all workers are busy. Try again later.
	NoWorker
	// LimitReached: too many nodes are being deployed or cleaned. Try again later.
	LimitReached
	// PowerOffDisabled: the node has disable_power_off set.
	PowerOffDisabled
)

var reasons = [...]struct {
	text   string
	status int
}{
	Invalid:          {"invalid request", http.StatusBadRequest},
	NotFound:         {"not found", http.StatusNotFound},
	Exists:           {"already exists", http.StatusConflict},
	Locked:           {"node is locked", http.StatusConflict},
	WrongState:       {"not allowed in the node's state", http.StatusConflict},
	NotAllowed:       {"requested action not allowed in the node's state", http.StatusBadRequest},
	InMaintenance:    {"node is in maintenance", http.StatusBadRequest},
	Associated:       {"node or instance is associated", http.StatusConflict},
	IsProtected:      {"node is protected", http.StatusForbidden},
	IsRetired:        {"node is retired", http.StatusBadRequest},
	Unsupported:      {"not supported by the hardware type", http.StatusBadRequest},
	Unsuitable:       {"validation failed", http.StatusBadRequest},
	NoWorker:         {"no free worker", http.StatusServiceUnavailable},
	LimitReached:     {"too many nodes at once", http.StatusServiceUnavailable},
	PowerOffDisabled: {"power off is disabled", http.StatusConflict},
}

// Error returns the reason in words.
func (r Reason) Error() string {
	if int(r) < len(reasons) {
		return reasons[r].text
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// HTTPStatus returns the HTTP status of Ironic's response.
func (r Reason) HTTPStatus() int {
	if int(r) < len(reasons) {
		return reasons[r].status
	}
	return http.StatusInternalServerError
}

// Error reports that a request was refused and changed nothing. It matches its Reason.
type Error struct {
	Reason Reason
	Text   string // for the client; it holds no secret
	Err    error  // the cause, where there is one
}

func refuse(reason Reason, format string, args ...any) *Error {
	e := &Error{Reason: reason, Text: fmt.Sprintf(format, args...)}
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			e.Err = err
		}
	}
	return e
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the reason and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

// HTTPStatus returns the HTTP status of Ironic's response.
func (e *Error) HTTPStatus() int { return e.Reason.HTTPStatus() }

// HTTPStatus returns the HTTP status of Ironic's response where a method of a [Conductor]
// returns err. It is that of the first error in the chain with an HTTPStatus method, 400 for a
// request that the node's state does not allow and for an unknown word, and 500 for any other
// error.
func HTTPStatus(err error) int {
	var (
		status  interface{ HTTPStatus() int }
		refused *powersync.RefusedError
		unknown *states.UnknownError
	)
	switch {
	case errors.As(err, &status):
		return status.HTTPStatus()
	case errors.As(err, &refused) && refused.PowerOffDisabled, errors.Is(err, powersync.ErrLocked):
		return http.StatusConflict
	case errors.Is(err, powersync.ErrNotFound):
		return http.StatusNotFound
	case errors.As(err, &refused), errors.As(err, &unknown), errors.Is(err, states.ErrNotAllowed):
		return http.StatusBadRequest
	default:
		return http.StatusInternalServerError
	}
}
