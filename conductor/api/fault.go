package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// fault is an answer that refuses a request.
//
// Source: ironic/api/method.py and middleware/parsable_error.py.
type fault struct {
	status int
	text   string
	// bare is the envelope of the web framework, with code, title and description, in
	// which Ironic refuses versions, unknown paths and methods. Any other has
	// faultcode, faultstring and debuginfo.
	bare  bool
	allow string // the methods that a path has, of a 405
}

// Error returns the text.
func (f *fault) Error() string {
	return fmt.Sprintf("%d %s: %s", f.status, http.StatusText(f.status), f.text)
}

// body returns the fault as clients expect it: JSON in a text in JSON.
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

// errUnknown is the answer to a path that is not there.
var errUnknown = &fault{status: http.StatusNotFound, bare: true}

// errNotFound is the answer to a request for something newer than its version.
var errNotFound = notFound("Resource could not be found.")

var errNotAcceptable = &fault{status: http.StatusNotAcceptable, text: "Request not acceptable."}

// tooOld is the fault of a request whose version is below the one that a parameter
// needs.
func tooOld(since states.APIVersion) error {
	return &fault{
		status: http.StatusNotAcceptable,
		text:   fmt.Sprintf("Request not acceptable. The minimal required API version should be %v", since),
	}
}

// asFault returns the fault of any error. The text of an error that no client has
// caused stays here.
func asFault(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	status := conductor.HTTPStatus(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &fault{status: http.StatusServiceUnavailable, text: "The request took too long."}
	case errors.Is(err, errors.ErrUnsupported) && status == http.StatusInternalServerError:
		return &fault{status: http.StatusBadRequest, text: err.Error()}
	case status == http.StatusInternalServerError:
		return errInternal
	default:
		return &fault{status: status, text: err.Error()}
	}
}

// as400 returns an error about something that a request refers to, such as the node of a
// new port. There, not found is a bad request.
func as400(err error) error {
	if f := asFault(err); f.status == http.StatusNotFound {
		return &fault{status: http.StatusBadRequest, text: f.text}
	}
	return err
}

// provisionFault returns the fault of a request for a provision state.
func provisionFault(err error, target, nodeUUID string) error {
	var refused *states.RequestError
	switch {
	case !errors.As(err, &refused):
		return err
	case errors.Is(err, states.ErrNotAcceptable):
		return errNotAcceptable
	case errors.Is(err, states.ErrNotUnderstood):
		return invalid("The requested action %q could not be understood.", target)
	default:
		return stateFault(target, nodeUUID, refused.From.String())
	}
}

// stateFault says that a node's state does not allow an action.
func stateFault(action, node, state string) error {
	return invalid("The requested action \"%s\" can not be performed on node \"%s\" while it is in state \"%s\".", action, node, state)
}
