// SPDX-License-Identifier: Apache-2.0

// Package fault makes the error responses of Ironic's API, and formats the values that their texts quote.
package fault

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// Fault is an error response.
//
// Source: ironic/api/method.py and middleware/parsable_error.py.
type Fault struct {
	Status int
	Text   string
	// Bare selects the form of Ironic's web framework, with code, title and description, and
	// without the headers of versions and request. Ironic uses it for wrong versions, unknown
	// paths and methods. The other faults have faultcode, faultstring and debuginfo.
	Bare bool
	// Page is a text that is sent in place of either form; empty for one of them.
	Page  string
	Allow *string // the Allow header of a 405; nil for none
	Err   error   // the error that errors.Is and errors.As also find; may be nil
}

// Unwrap returns the underlying error, nil for none.
func (f *Fault) Unwrap() error { return f.Err }

// Error returns the status and the text, for logs. Clients get Body.
func (f *Fault) Error() string {
	return fmt.Sprintf("%d %s: %s", f.Status, http.StatusText(f.Status), f.Text)
}

// Body returns the fault in the form that clients expect: JSON within a string within JSON.
func (f *Fault) Body() []byte {
	if f.Page != "" {
		return message(func(w *wire.Writer) { w.Text(f.Page) })
	}
	inner := wire.New(256)
	inner.Open()
	if f.Bare {
		inner.Key("code").Integer(f.Status)
		inner.Key("title").Text(http.StatusText(f.Status))
		inner.Key("description").Text(f.Text)
	} else {
		code := "Client"
		if f.Status >= http.StatusInternalServerError {
			code = "Server"
		}
		inner.Key("faultcode").Text(code)
		inner.Key("faultstring").Text(f.Text)
		inner.Key("debuginfo").Null()
	}
	inner.Close()
	return message(func(w *wire.Writer) { w.JSONText(inner.B) })
}

// message returns the body of an error response.
func message(write func(*wire.Writer)) []byte {
	w := wire.New(256)
	w.Open()
	w.Key("error_message")
	write(w)
	w.Close()
	return w.B
}

// Unacceptable returns the fault of an Accept header that does not permit JSON. It is a page of
// HTML if the header names HTML, and plain text otherwise.
//
// Source: generate_response in webob/exc.py.
func Unacceptable(accept string) *Fault {
	const status, reason = "406 Not Acceptable", "The resource could not be generated that was acceptable to your browser"
	page := status + "\n\n" + reason + " (content of type " + accept + ". \n\n "
	if strings.Contains(accept, "text/html") {
		page = "<html>\n <head>\n  <title>" + status + "</title>\n </head>\n <body>\n  <h1>" + status + "</h1>\n  " + reason +
			"\n(content of type " + html.EscapeString(accept) + ". <br /><br />\n\n </body>\n</html>"
	}
	return &Fault{Status: http.StatusNotAcceptable, Bare: true, Page: page}
}

// Internal is the fault of an error that is not the client's. It does not disclose the error.
var Internal = &Fault{Status: http.StatusInternalServerError, Text: "Internal server error."}

// The faults of a request whose context has ended. Ironic's clients repeat a request by themselves after a 503, which
// therefore says that nothing has been done. A change that may have been done gets 504 if its time or etcd's majority
// has ended, and 500 for any other error.
var (
	late     = &Fault{Status: http.StatusServiceUnavailable, Text: "The request took too long."}
	doubtful = &Fault{
		Status: http.StatusGatewayTimeout, Text: "The request took too long, and may have been done or not: read before you repeat it.",
	}
)

// OfRequest is [Of] for the response to a request with a method.
func OfRequest(method string, err error) *Fault {
	f := Of(err)
	if f == late && method != http.MethodGet && method != http.MethodHead {
		return doubtful
	}
	return f
}

// Invalid returns a fault with the status 400.
func Invalid(format string, args ...any) error {
	return &Fault{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// Conflict returns a fault with the status 409.
func Conflict(format string, args ...any) error {
	return &Fault{Status: http.StatusConflict, Text: fmt.Sprintf(format, args...)}
}

// NotFound returns a fault with the status 404.
func NotFound(format string, args ...any) error {
	return &Fault{Status: http.StatusNotFound, Text: fmt.Sprintf(format, args...)}
}

// UnknownPath is the response for an unknown path.
var UnknownPath = &Fault{Status: http.StatusNotFound, Bare: true}

// NoSuchResource is the response to a request for something newer than its version.
var NoSuchResource = NotFound("Resource could not be found.")

// NotAcceptable is the fault of a field or parameter that needs a higher version.
var NotAcceptable = &Fault{Status: http.StatusNotAcceptable, Text: "Request not acceptable."}

// NotPermitted is the fault of a request that the resource does not permit.
var NotPermitted = &Fault{Status: http.StatusForbidden, Text: "Operation not permitted."}

// TooOld returns the fault of a parameter that needs a higher version.
func TooOld(since states.APIVersion) error {
	return &Fault{
		Status: http.StatusNotAcceptable,
		Text:   fmt.Sprintf("Request not acceptable. The minimal required API version should be %v", since),
	}
}

// Of converts any error to a fault. The text of an error that is not the client's is not
// disclosed.
func Of(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	var reason conductor.Reason // an error that matches one has Ironic's text
	status := conductor.HTTPStatus(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return late
	case errors.Is(err, errors.ErrUnsupported) && status == http.StatusInternalServerError:
		return &Fault{Status: http.StatusBadRequest, Text: err.Error()}
	case status == http.StatusInternalServerError && (!errors.As(err, &reason) || reason == 0):
		return Internal
	default:
		return &Fault{Status: status, Text: err.Error()}
	}
}

// As400 converts an error about a reference in a body, such as the node of a new port: if the
// referenced object is not found, the status is 400.
func As400(err error) error {
	if err == nil {
		return nil
	}
	if f := Of(err); f.Status == http.StatusNotFound {
		return &Fault{Status: http.StatusBadRequest, Text: f.Text}
	}
	return err
}

// State returns the fault of an action that the node's state does not allow.
func State(action, node, state string) error {
	return Invalid("The requested action \"%s\" can not be performed on node \"%s\" while it is in state \"%s\".", action, node, state)
}

// OneOf refuses the first of some names that is not known, as the enumeration of a JSON Schema does.
func OneOf(known []string, names ...string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return Invalid("Schema error: %s is not one of %s", Repr(name), pyrepr.List(known))
		}
	}
	return nil
}

// Schema returns the fault of a body that violates a schema.
func Schema(schema, format string, args ...any) error {
	return Invalid("Schema error for %s: %s", schema, fmt.Sprintf(format, args...))
}
