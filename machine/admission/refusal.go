// SPDX-License-Identifier: Apache-2.0

package admission

import "fmt"

// The HTTP statuses of refusals. The package does not import net/http for six numbers.
const (
	statusBadRequest    = 400
	statusForbidden     = 403
	statusNotFound      = 404
	statusConflict      = 409
	statusInternalError = 500
	statusUnavailable   = 503
)

// Reason is why a request is refused. It is an error, so that callers can write
// errors.Is(err, admission.Locked). The zero value is no reason.
//
// Source: ironic/common/exception.py.
type Reason uint8

// The reasons for which [Rules] refuse a request.
const (
	// Invalid says that a value in the request makes no sense.
	Invalid Reason = iota + 1
	// Locked says that the node is reserved. The client may try again later.
	Locked
	// WrongState says that the provision state does not allow the change of the record, or its
	// deletion.
	WrongState
	// NotAllowed says that the state does not allow the action.
	NotAllowed
	// InMaintenance says that the node is in maintenance.
	InMaintenance
	// Associated says that the node has an instance, or the instance a node.
	Associated
	// IsProtected says that the node is protected against rebuild, deletion and tear-down.
	IsProtected
	// IsRetired says that the node is retired and must not become available.
	IsRetired
	// Unsupported says that the node's hardware type or interface does not support the request.
	Unsupported
	// Unsuitable says that validation found that the requested work cannot succeed.
	Unsuitable
	// PowerOffDisabled says that the node has disable_power_off set.
	PowerOffDisabled
)

// The reasons that do not depend on the record of a node, but on the service and its stores.
const (
	// NotFound says that the node or other record does not exist.
	NotFound Reason = iota + PowerOffDisabled + 1
	// Exists says that another record has the UUID, the name or another key.
	Exists
	// NoWorker says that all workers are busy. The client may try again later.
	NoWorker
	// LimitReached says that too many nodes are being deployed or cleaned. The client may try again later.
	LimitReached
	// NoRunbook says that automated cleanings are to follow runbooks, and that the node has none, or one that is not meant
	// for it.
	NoRunbook
)

var reasons = [...]struct {
	text   string
	status int
}{
	0:                {"refused without a reason", statusInternalError},
	Invalid:          {"invalid request", statusBadRequest},
	Locked:           {"node is locked", statusConflict},
	WrongState:       {"not allowed in the node's state", statusConflict},
	NotAllowed:       {"requested action not allowed in the node's state", statusBadRequest},
	InMaintenance:    {"node is in maintenance", statusBadRequest},
	Associated:       {"node or instance is associated", statusConflict},
	IsProtected:      {"node is protected", statusForbidden},
	IsRetired:        {"node is retired", statusBadRequest},
	Unsupported:      {"not supported by the hardware type", statusBadRequest},
	Unsuitable:       {"validation failed", statusBadRequest},
	PowerOffDisabled: {"power off is disabled", statusConflict},
	NotFound:         {"not found", statusNotFound},
	Exists:           {"already exists", statusConflict},
	NoWorker:         {"no free worker", statusUnavailable},
	LimitReached:     {"too many nodes at once", statusUnavailable},
	NoRunbook:        {"no runbook for the node's automated cleaning", statusInternalError},
}

// Error returns the reason in words.
func (r Reason) Error() string {
	if int(r) < len(reasons) {
		return reasons[r].text
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// HTTPStatus returns the HTTP status of Ironic's response to most requests; see
// [Refusal.HTTPStatus].
func (r Reason) HTTPStatus() int {
	if int(r) < len(reasons) {
		return reasons[r].status
	}
	return statusInternalError
}

// Refusal reports that a request is not accepted. It matches its Reason and its Err.
type Refusal struct {
	Request string // an event, a power state, or a word for another request, such as "deletion" or "port update"
	Reason  Reason
	// Field is the field of the node's record that stands against the request, as the API
	// names it: "maintenance", "instance_uuid", "inspect_interface".
	Field string
	Err   error // the cause, where there is one: the failed validation if the reason is Unsuitable

	status int
}

// locked returns the refusal of a request for a node that is reserved.
func locked(request string) *Refusal {
	return &Refusal{Request: request, Reason: Locked, Field: reservationField}
}

// onHeap allocates the Refusal, and only for a refused request.
func onHeap(e Refusal) *Refusal { return &e }

// Error names the request, the reason and the field.
func (e *Refusal) Error() string {
	text := fmt.Sprintf("%s is refused: %v (%s)", e.Request, e.Reason, e.Field)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the reason and the failed validation.
func (e *Refusal) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

// HTTPStatus returns the HTTP status of Ironic's response. Some requests answer with another
// status than the reason's: a rescue whose validation fails with 500.
func (e *Refusal) HTTPStatus() int {
	if e.status != 0 {
		return e.status
	}
	return e.Reason.HTTPStatus()
}
