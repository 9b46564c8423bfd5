package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// fault is an error response.
//
// Source: ironic/api/method.py and middleware/parsable_error.py.
type fault struct {
	status int
	text   string
	// bare selects the envelope of Ironic's web framework, with code, title and
	// description, and without the headers of versions and request. Ironic uses it for bad
	// versions, unknown paths and methods. Other faults have faultcode, faultstring and
	// debuginfo.
	bare  bool
	allow *string // the Allow header of a 405; nil for none
	err   error   // the error that errors.Is and errors.As also find; may be nil
}

// Unwrap returns the underlying error, nil for none.
func (f *fault) Unwrap() error { return f.err }

// Error returns the text.
func (f *fault) Error() string {
	return fmt.Sprintf("%d %s: %s", f.status, http.StatusText(f.status), f.text)
}

// body returns the fault in the form that clients expect: JSON within a string within JSON.
func (f *fault) body() []byte {
	inner := newWriter(256)
	inner.open()
	if f.bare {
		inner.key("code").integer(f.status)
		inner.key("title").text(http.StatusText(f.status))
		inner.key("description").text(f.text)
	} else {
		code := "Client"
		if f.status >= http.StatusInternalServerError {
			code = "Server"
		}
		inner.key("faultcode").text(code)
		inner.key("faultstring").text(f.text)
		inner.key("debuginfo").null()
	}
	inner.close()
	w := newWriter(len(inner.b) + 64)
	w.open()
	w.key("error_message").text(string(inner.b))
	w.close()
	return w.b
}

var errInternal = &fault{status: http.StatusInternalServerError, text: "Internal server error."}

func invalid(format string, args ...any) error {
	return &fault{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return &fault{status: http.StatusConflict, text: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &fault{status: http.StatusNotFound, text: fmt.Sprintf(format, args...)}
}

// errUnknown is the response for an unknown path.
var errUnknown = &fault{status: http.StatusNotFound, bare: true}

// errNotFound is the response to a request for something newer than its version.
var errNotFound = notFound("Resource could not be found.")

var errNotAcceptable = &fault{status: http.StatusNotAcceptable, text: "Request not acceptable."}

var errNotPermitted = &fault{status: http.StatusForbidden, text: "Operation not permitted."}

// tooOld returns the fault of a parameter that needs a higher version.
func tooOld(since states.APIVersion) error {
	return &fault{
		status: http.StatusNotAcceptable,
		text:   fmt.Sprintf("Request not acceptable. The minimal required API version should be %v", since),
	}
}

// asFault converts any error to a fault. The text of an error that is not the client's is not
// disclosed.
func asFault(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	var refusal *admission.Refusal // its text is Ironic's
	status := conductor.HTTPStatus(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &fault{status: http.StatusServiceUnavailable, text: "The request took too long."}
	case errors.Is(err, errors.ErrUnsupported) && status == http.StatusInternalServerError:
		return &fault{status: http.StatusBadRequest, text: err.Error()}
	case status == http.StatusInternalServerError && !errors.As(err, &refusal):
		return errInternal
	default:
		return &fault{status: status, text: err.Error()}
	}
}

// as400 converts an error about a reference in a body, such as the node of a new port: if the
// referenced object is not found, the status is 400.
func as400(err error) error {
	if err == nil {
		return nil
	}
	if f := asFault(err); f.status == http.StatusNotFound {
		return &fault{status: http.StatusBadRequest, text: f.text}
	}
	return err
}

// stateFault returns the fault of an action that the node's state does not allow.
func stateFault(action, node, state string) error {
	return invalid("The requested action \"%s\" can not be performed on node \"%s\" while it is in state \"%s\".", action, node, state)
}

// schemaError returns the fault of a body that violates a schema.
func schemaError(schema, format string, args ...any) error {
	return invalid("Schema error for %s: %s", schema, fmt.Sprintf(format, args...))
}
