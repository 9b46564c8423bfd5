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
type Reason = admission.Reason

// The reasons of package admission, which says what each of them means.
const (
	Invalid          = admission.Invalid
	Locked           = admission.Locked
	WrongState       = admission.WrongState
	NotAllowed       = admission.NotAllowed
	InMaintenance    = admission.InMaintenance
	Associated       = admission.Associated
	IsProtected      = admission.IsProtected
	IsRetired        = admission.IsRetired
	Unsupported      = admission.Unsupported
	Unsuitable       = admission.Unsuitable
	PowerOffDisabled = admission.PowerOffDisabled
	NotFound         = admission.NotFound
	Exists           = admission.Exists
	NoWorker         = admission.NoWorker
	LimitReached     = admission.LimitReached
	NoRunbook        = admission.NoRunbook
)

// Error reports that a request was refused. It matches its Reason. Nothing is changed, except for two
// fields that Ironic stores before it refuses a request: UpdatedAt, see [Held], and the type of the image.
type Error struct {
	Reason Reason
	Text   string // for the client; it holds no secret
	Err    error  // the cause, where there is one; an [*admission.Refusal] has its own status

	status int // of Ironic's response; 0 for the status of the reason or of Err
}

// refuse returns an error with a text. As with [fmt.Errorf], the argument of %w is its cause.
func refuse(reason Reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Reason: reason, Text: err.Error(), Err: errors.Unwrap(err)}
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

// HTTPStatus returns the HTTP status of Ironic's response, 500 if there is no Reason.
func (e *Error) HTTPStatus() int {
	var refusal *admission.Refusal
	switch {
	case e.status != 0:
		return e.status
	case errors.As(e.Err, &refusal):
		return refusal.HTTPStatus()
	default:
		return e.Reason.HTTPStatus()
	}
}

// HTTPStatus returns the HTTP status of Ironic's response where a method of a [Conductor]
// returns err. The first error in the chain with an HTTPStatus method decides. Without one it is 400 for a
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
	case errors.As(err, &refused) && refused.PowerOffDisabled:
		return http.StatusConflict
	case errors.As(err, &refused), errors.As(err, &unknown), errors.Is(err, states.ErrNotAllowed):
		return http.StatusBadRequest
	default:
		return http.StatusInternalServerError
	}
}

// halfDoneError is an error of the store after the first of a request's writes. A client that repeated the request, as
// Ironic's clients do by themselves after a 503, would find its change done and take that for a failure.
type halfDoneError struct{ error }

// Unwrap returns the store's error.
func (e halfDoneError) Unwrap() error { return e.error }

// HTTPStatus returns the status of an API's response.
func (halfDoneError) HTTPStatus() int { return http.StatusGatewayTimeout }

// halfDone returns the error of a write that follows the first one of a request.
func halfDone(err error) error {
	var refusal *Error
	if err == nil || errors.As(err, &refusal) || HTTPStatus(err) != http.StatusServiceUnavailable {
		return err
	}
	return halfDoneError{err}
}

// HardwareError is an error of a call of a [Hardware], whose text a client may read.
type HardwareError struct{ Err error }

// Error returns the error's text.
func (e *HardwareError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *HardwareError) Unwrap() error { return e.Err }

// refusedUnderLock is an error that Held has marked. note changes the node although the request has been refused; nil
// for nothing.
type refusedUnderLock struct {
	error
	note func(n *Node)
}

func (e *refusedUnderLock) Unwrap() error { return e.error }

// Held marks the error of a change which Ironic refuses only after it has locked the node.
// [Conductor.UpdateNode] then sets the node's UpdatedAt, as the lock does in Ironic, stores nothing else,
// and returns the error without the mark; if the node is locked it returns that instead. Held returns nil and an error
// that matches Locked as they are.
func Held(err error) error {
	if err == nil || errors.Is(err, Locked) {
		return err
	}
	return &refusedUnderLock{error: err}
}
