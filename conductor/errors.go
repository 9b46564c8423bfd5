// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Reason is the reason why a [Conductor] refuses a request. It is an error, so that callers
// can write errors.Is(err, conductor.Locked).
type Reason interface {
	error
	// HTTPStatus returns the HTTP status of Ironic's response.
	HTTPStatus() int
}

// The reasons of package admission.
const (
	// Invalid: the request or a value in it makes no sense.
	Invalid = admission.Invalid
	// Locked: the node is reserved. Try again later.
	Locked = admission.Locked
	// WrongState: the node's provision state does not allow a change to its record,
	// or its deletion.
	WrongState = admission.WrongState
	// NotAllowed: the table has no such request in the node's provision state.
	NotAllowed = admission.NotAllowed
	// InMaintenance: the node is in maintenance.
	InMaintenance = admission.InMaintenance
	// Associated: the node has an instance, or the instance a node.
	Associated = admission.Associated
	// IsProtected: the node is protected against rebuild, deletion and tear-down.
	IsProtected = admission.IsProtected
	// IsRetired: the node is retired and must not become available.
	IsRetired = admission.IsRetired
	// Unsupported: the node's hardware type does not support the request.
	Unsupported = admission.Unsupported
	// Unsuitable: validation found that the requested work cannot succeed.
	Unsuitable = admission.Unsuitable
	// PowerOffDisabled: the node has disable_power_off set.
	PowerOffDisabled = admission.PowerOffDisabled
)

// The reasons that do not depend on the node's record.
const (
	// NotFound: there is no such node or object.
	NotFound reason = iota
	// Exists: another node or object has the UUID, the name or another key.
	Exists
	// NoWorker: all workers are busy. Try again later.
	NoWorker
	// LimitReached: too many nodes are being deployed or cleaned. Try again later.
	LimitReached
)

// Source: ironic/common/exception.py.
type reason uint8

var reasons = [...]struct {
	text   string
	status int
}{
	NotFound:     {"not found", http.StatusNotFound},
	Exists:       {"already exists", http.StatusConflict},
	NoWorker:     {"no free worker", http.StatusServiceUnavailable},
	LimitReached: {"too many nodes at once", http.StatusServiceUnavailable},
}

func (r reason) Error() string { return reasons[r].text }

func (r reason) HTTPStatus() int { return reasons[r].status }

// Error reports that a request was refused and changed nothing, see [Held] for UpdatedAt. It matches its Reason.
type Error struct {
	Reason Reason
	Text   string // for the client; it holds no secret
	Err    error  // the cause, where there is one; an [*admission.Refusal] has its own status
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
	var errs []error
	if e.Reason != nil {
		errs = append(errs, e.Reason)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// HTTPStatus returns the HTTP status of Ironic's response, 500 if there is no Reason.
func (e *Error) HTTPStatus() int {
	var refusal *admission.Refusal
	switch {
	case errors.As(e.Err, &refusal):
		return refusal.HTTPStatus()
	case e.Reason == nil:
		return http.StatusInternalServerError
	default:
		return e.Reason.HTTPStatus()
	}
}

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

// HardwareError is an error of a call of a [Hardware], whose text a client may read.
type HardwareError struct{ Err error }

// Error returns the error's text.
func (e *HardwareError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *HardwareError) Unwrap() error { return e.Err }

// heldError is an error that Held has marked.
type heldError struct{ error }

func (e *heldError) Unwrap() error { return e.error }

// Held marks an error as that of a change which Ironic refuses only after it has locked the node.
// [Conductor.UpdateNode] then sets the node's UpdatedAt, as the lock does in Ironic, and returns the
// error without the mark. Held returns nil and an error that matches Locked as they are.
func Held(err error) error {
	if err == nil || errors.Is(err, Locked) {
		return err
	}
	return &heldError{err}
}
