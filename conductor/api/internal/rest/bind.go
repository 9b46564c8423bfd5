// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// bind distributes the segments that [Request.find] left over to an action: to its identifiers, then to its optional
// parameters, then to its arguments. One further segment becomes the body. A query parameter with the name of an
// identifier replaces a segment that the path lacks, and so does an argument in the body of a DELETE.
//
// Source: find_controller and get_args in pecan/core.py, and ironic/common/args.py.
func (r *Request) bind(a *Action, segments []string) error {
	if a.VersionFirst != states.NoSeries && r.Series >= a.VersionFirst {
		if err := r.checkVersion(a); err != nil {
			return err
		}
	}
	if err := r.checkNames(a, segments); err != nil {
		return err
	}
	if segments = append(slices.Clone(r.before), nonEmpty(segments)...); len(nonEmpty(segments)) == 0 {
		segments = nil // Ironic's web framework leaves out the segments before the action only if no other is left
	}
	for _, name := range a.Idents {
		switch {
		case len(segments) > 0:
			r.Params, segments = append(r.Params, segments[0]), segments[1:]
		case r.sent[name] != nil: // also one of the query
			ident, isText := r.sent[name].(string)
			if !isText {
				ident, r.repeated = r.Query.Get(name), fault.Invalid("Expected %s for %s: %s", identKind(name), name, fault.Repr(r.sent[name]))
			}
			r.Params = append(r.Params, ident)
			r.Query.Del(name)
			delete(r.sent, name)
		case r.Query.Has(name):
			if values := r.Query[name]; len(values) > 1 {
				r.repeated = fault.Invalid("Expected %s for %s: %v", identKind(name), name, pyrepr.List(values))
			}
			r.Params = append(r.Params, r.Query.Get(name))
			r.Query.Del(name)
		default:
			return fault.Invalid("Missing mandatory parameter: %s", name)
		}
	}
	r.action = a
	if r.repeated != nil && !r.hasNodeIdent() {
		return r.repeated
	}
	if a.NoArgs || r.Method == http.MethodDelete || r.Method == http.MethodPatch { // checkNames has accepted the arguments
		if err := r.checkNodeIdent(); err != nil {
			return err
		}
	}
	n := min(a.Optional, len(segments))
	r.Params, segments = append(r.Params, segments[:n]...), segments[n:]
	if n := len(a.Args); len(segments) > n {
		if a.Body == "" {
			return fault.UnknownPath
		}
		r.body, segments = segments[n], segments[:n]
	}
	for i, segment := range segments {
		name := a.Args[i]
		if _, sent := r.sent[name]; sent || r.Query.Has(name) {
			if args := r.QueryArgs(slices.Concat(a.Idents, a.Args)...); args.Err != nil {
				return args.Err
			}
			other := "query"
			if !r.Query.Has(name) {
				other = "body"
			}
			return fault.Invalid("The path and the %s both have the argument %s", other, name)
		}
		if r.Query == nil {
			r.Query = map[string][]string{}
		}
		r.Query.Set(name, segment)
	}
	return nil
}

// checkNodeIdent refuses an identifier of a node in the path that is neither a UUID nor a name. In Ironic it is the
// first argument of the action, so that it is checked after the names of all arguments and before the values of the
// others.
func (r *Request) checkNodeIdent() error {
	switch {
	case !r.hasNodeIdent():
		return nil
	case r.repeated != nil:
		return r.repeated
	default:
		return CheckIdent("node_ident", r.Params[0])
	}
}

// hasNodeIdent reports whether the action is bound, and has the identifier of a node.
func (r *Request) hasNodeIdent() bool {
	return r.action != nil && len(r.action.Idents) > 0 && r.action.Idents[0] == NodeIdent[0]
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

// checkNames refuses arguments that the action does not have. Only the requests named here are refused before their
// identifiers are checked; the other actions check their arguments themselves. The arguments in the body of a DELETE
// are kept for bind and its handler, since the body is read only once.
func (r *Request) checkNames(a *Action, segments []string) error {
	names := slices.Concat(a.Idents, a.Args)
	if a.Body != "" {
		names = append(names, a.Body) // the sent body replaces it
	}
	given := len(nonEmpty(r.before)) + len(nonEmpty(segments))
	switch {
	case a.NoArgs && a.Body != "" && given == 0: // CheckQuery knows the names in the body
		return nil
	case a.NoArgs && a.Body != "": // a segment replaces the sent body, whose keys still hide parameters of the query
		sent, err := r.Decode(MaxBody)
		if err != nil {
			return err
		}
		object, _ := sent.(map[string]any)
		return r.QueryArgs(slices.AppendSeq([]string{a.Body}, maps.Keys(object))...).Err
	case a.NoArgs:
		return r.QueryArgs(names[min(given, len(a.Idents)):]...).Err
	case r.Method == http.MethodDelete && !a.AnyMethod:
		args := r.BodyArgs(MaxBody, names[min(given, len(a.Idents)):]...)
		r.sent = args.Values
		return args.Err
	case r.Method == http.MethodPatch && !a.AnyMethod:
		return r.QueryArgs(names...).Err
	default:
		return nil
	}
}
