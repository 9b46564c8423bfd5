// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/states"
)

// bound is an action with the arguments that it gets from the path, the query and the body of a request.
type bound struct {
	action *Action
	params []string       // the identifiers, then the optional parameters
	query  url.Values     // without identifiers, but with the arguments in the path
	sent   map[string]any // the arguments in the query and the body of a DELETE, without identifiers; nil for other methods
	inPath []string       // the names of the arguments in the path
	body   any            // the request's body if bodyKnown: a segment of the path in place of the sent one, or the sent one
	// bodyKnown says that bind has read the body, or that a segment is the body.
	bodyKnown bool
	// identFault is the fault of the identifiers of a node and of one of its parts. Ironic checks them after the names of
	// all arguments and before the values of the others, and so does [Request.args].
	identFault error
}

// bind sets what an action gets from the request. It reads the body if its keys decide about the path or the query.
func (r *Request) bind(a *Action, segments []string) (err error) {
	if a.VersionFirst != states.NoSeries && r.Series >= a.VersionFirst {
		if err := r.checkVersion(a); err != nil {
			return err
		}
	}
	segments = slices.Concat(r.before, nonEmpty(segments))
	var body any
	var object map[string]any
	bodyKnown := a.NoArgs && a.Body != "" && (len(r.Query) > 0 || len(nonEmpty(segments)) > len(a.Idents)+len(a.Args))
	switch {
	case bodyKnown:
		body, err = r.Decode(MaxBody)
		object, _ = body.(map[string]any)
	case a.bodyHasArgs(r.Method):
		object, err = r.object(MaxBody)
	}
	if err != nil {
		return err
	}
	if r.bound, err = distribute(a, r.Method, segments, r.Query, object); err != nil {
		return err
	}
	if bodyKnown && !r.bound.bodyKnown {
		r.bound.body, r.bound.bodyKnown = body, true
	}
	r.Params, r.Query = append(r.Params, r.bound.params...), r.bound.query
	return nil
}

// distribute gives the segments of a path to the identifiers of an action, then to its optional parameters, then to its
// arguments. One further segment becomes the body. A query parameter with the name of an identifier replaces a segment
// that the path lacks, and so does a key of the object in the body of a DELETE. The keys of an object that is itself an
// argument hide query parameters.
//
// Source: find_controller and get_args in pecan/core.py, ironic/common/args.py, and body in ironic/api/method.py.
func distribute(a *Action, method string, segments []string, query url.Values, object map[string]any) (bound, error) {
	b := bound{action: a, query: url.Values{}}
	maps.Copy(b.query, query)
	switch {
	case a.bodyHasArgs(method):
		b.sent = arguments(query, object)
	case a.Body != "":
		maps.DeleteFunc(b.query, func(name string, _ []string) bool { _, hidden := object[name]; return hidden })
	}
	if err := b.checkNames(method, len(nonEmpty(segments))); err != nil {
		return b, err
	}
	if len(nonEmpty(segments)) == 0 {
		segments = nil // Ironic's web framework leaves out the segments before the action only if no other is left
	}
	for _, name := range a.Idents {
		if len(segments) > 0 {
			b.addIdent(name, segments[0])
			segments = segments[1:]
		} else if value := b.takeIdent(name); value != nil {
			b.addIdent(name, value)
		} else {
			return b, fault.Invalid("Missing mandatory parameter: %s", name)
		}
	}
	namesChecked := a.NoArgs || method == http.MethodDelete || method == http.MethodPatch
	if b.identFault != nil && (namesChecked || a.Idents[0] != NodeIdent[0]) {
		return b, b.identFault
	}
	n := min(a.Optional, len(segments))
	b.params, segments = append(b.params, segments[:n]...), segments[n:]
	if n := len(a.Args); len(segments) > n {
		if a.Body == "" {
			return b, cmp.Or[error](unexpected(b.query, a.names()), b.identFault, fault.UnknownPath)
		}
		b.body, b.bodyKnown, segments = segments[n], true, segments[:n]
	}
	b.inPath = a.Args[:len(segments)]
	for i, name := range b.inPath {
		if _, sent := b.sent[name]; sent || b.query.Has(name) {
			other := "query"
			if !b.query.Has(name) {
				other = "body"
			}
			twice := fault.Invalid("The path and the %s both have the argument %s", other, name)
			return b, cmp.Or(unexpected(b.query, a.names()), b.identFault, twice)
		}
		b.query.Set(name, segments[i])
	}
	return b, nil
}

// takeIdent removes an identifier from the arguments and returns it, or nil if they lack it.
func (b *bound) takeIdent(name string) any {
	value := b.sent[name] // also one of the query
	if value == nil && b.query.Has(name) {
		value = argument(b.query[name])
	}
	delete(b.query, name)
	delete(b.sent, name)
	return value
}

// addIdent adds an identifier to the parameters, and keeps its fault if it is the first.
func (b *bound) addIdent(name string, value any) {
	ident, isText := value.(string)
	b.params = append(b.params, ident)
	switch {
	case b.identFault != nil:
	case !isText:
		b.identFault = fault.Invalid("Expected %s for %s: %s", identKind(name), name, fault.Repr(value))
	case name == NodeIdent[0]:
		b.identFault = CheckIdent(name, ident)
	}
}

// checkNames refuses arguments that the action does not have. Only the requests named here are refused before their
// identifiers are checked; the other actions check their arguments themselves.
func (b *bound) checkNames(method string, given int) error {
	a, names := b.action, b.action.names()
	lacking := names[min(given, len(a.Idents)):]
	switch {
	case a.NoArgs && a.Body != "": // the handler refuses an identifier that both the path and the query have
		return unexpected(b.query, names)
	case a.NoArgs:
		return unexpected(b.query, lacking)
	case a.bodyHasArgs(method):
		return unexpected(b.sent, lacking)
	case method == http.MethodPatch && !a.AnyMethod:
		return unexpected(b.query, names)
	default:
		return nil
	}
}

// bodyHasArgs reports whether the router reads arguments in the body of a request with a method, which is a DELETE.
func (a *Action) bodyHasArgs(method string) bool {
	return method == http.MethodDelete && !a.NoArgs && !a.AnyMethod
}

// names returns the names of the action's arguments. One is the body's, which the sent body replaces.
func (a *Action) names() []string {
	names := slices.Concat(a.Idents, a.Args)
	if a.Body != "" {
		names = append(names, a.Body)
	}
	return names
}

// identKind returns what the identifier with a name is, in the words of a fault.
//
// Source: the validators of the actions in ironic/api/controllers/v1.
func identKind(name string) string {
	switch {
	case strings.HasSuffix(name, "_uuid"):
		return "UUID"
	case name == "driver_name":
		return "string"
	default:
		return "UUID or name"
	}
}
